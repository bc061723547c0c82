"""Agents of repositories that the App is not let into, and those that it is let into again."""

import logging
from dataclasses import replace

from app.core.agents.agent import Agent
from app.core.agents.lifecycle import LIVE
from app.core.steering.ownership import Taken
from app.core.steering.seen import AS_IT_WAS, Facts
from app.ports import GitHubFailed, Listed, NoAccess, Repository
from app.services.guard import Guard
from app.services.steering.look import Looking
from app.services.world import World, repository_of

log = logging.getLogger("squadron.reconcile")


class Access:
    """Finds them, and looks at them."""

    def __init__(self, world: World, looking: Looking, guard: Guard) -> None:
        self._world = world
        self._guard = guard
        self._looking = looking

    async def lost(self, listed: Listed) -> list[Agent]:
        """Stop those in repositories that GitHub does not list any more, if it says so itself
        when it is asked; a few requests for each repository."""
        live = await self._world.store.agents(states=LIVE)
        stopped = list[Agent]()
        for agent in {one.repository_id: one for one in live}.values():
            if agent.repository_id in listed.repositories:
                continue
            if agent.installation_id in listed.unlisted:
                continue
            here = repository_of(agent)
            try:
                with self._guard.over(f"access to {here.full_name}"):
                    stopped += await self._left_out(here, agent)
            except NoAccess as why:
                with self._guard.over(f"access to {here.full_name}"):
                    stopped += await self.stop(here, why)
            except GitHubFailed as error:
                log.warning("not reconciled: %s", error, extra={"what": here.full_name})
        return stopped

    async def _left_out(self, here: Repository, agent: Agent) -> list[Agent]:
        """Who was cancelled, for the repository belongs to somebody else now. May raise
        `GitHubFailed`, and `NoAccess` if it was taken out."""
        found = await self._world.github.whereabouts(here)
        if found is None or found[0] != agent.repository_id or found[1] == here.full_name:
            return []
        why = f"{here.full_name} was transferred to {found[1]}, where the App is not installed."
        log.warning(why, extra={"repository": here.full_name})
        return await self._look_at_all(here, replace(AS_IT_WAS, taken=Taken(why, None)))

    async def stop(self, repository: Repository, why: NoAccess) -> list[Agent]:
        """Let those at work wait until the App is let in; the clock goes on for all others."""
        log.warning("not reconciled: %s", why, extra={"what": repository.full_name})
        seen = replace(AS_IT_WAS, lost_access=str(why), is_current=True)
        return await self._look_at_all(repository, seen)

    async def _look_at_all(self, here: Repository, seen: Facts) -> list[Agent]:
        """Those for whom something had to be done; sub-agents end with theirs."""
        agents = await self._world.store.agents(repository=here.full_name, states=LIVE)
        return [each for each in agents if await self._looking.look(each.id, seen)]
