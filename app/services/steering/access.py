"""Agents of repositories that the App is not let into, and those that it is let into again."""

import logging

from app.core.agents.agent import Agent
from app.core.agents.events import Waits
from app.core.agents.lifecycle import LIVE, State
from app.core.agents.steps import TakeAway, WakeUp
from app.ports import GitHubFailed, Listed, NoAccess, Repository
from app.services.guard import Guard
from app.services.moves.moves import Moves
from app.services.moves.stopping import Stopping
from app.services.world import World, repository_of

ACCESS_AGAIN = "Squadron has access to the repository again."

log = logging.getLogger("squadron.reconcile")


class Access:
    """Stops and wakes them."""

    def __init__(self, world: World, moves: Moves, stopping: Stopping, guard: Guard) -> None:
        self._world = world
        self._guard = guard
        self._moves = moves
        self._stopping = stopping

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
        agents = await self._world.store.agents(repository=here.full_name, states=LIVE)
        own = [each for each in agents if each.parent is None]  # others end with theirs
        return [each for each in own if await self._moves.apply(each, TakeAway(why))]

    async def stop(self, repository: Repository, why: NoAccess) -> list[Agent]:
        """Let those at work wait until the App is let in; sub-agents end with theirs."""
        log.warning("not reconciled: %s", why, extra={"what": repository.full_name})
        at_work = await self._world.store.agents(
            repository=repository.full_name, states=frozenset({State.ACTIVE})
        )
        own = [one for one in at_work if one.parent is None]
        return [one for one in own if await self._stopping.wait_for_access(one, str(why))]

    async def again(self, agent: Agent) -> bool:
        """Wake one that waits to be let in. GitHub has just answered for its repository."""
        if agent.waits_for is not Waits.ACCESS:
            return False
        return await self._moves.apply(agent, WakeUp(ACCESS_AGAIN)) is not None
