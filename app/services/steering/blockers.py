"""Agents that sleep for other issues wake once all of these are closed, or were meanwhile."""

import logging
from collections.abc import Mapping

from app.core.agents.agent import Agent
from app.core.agents.steps import WakeUp
from app.core.steering.blockers import was_free
from app.ports import GitHubFailed, Issue
from app.services.moves.moves import Moves
from app.services.world import World, repository_of

log = logging.getLogger("squadron.agents")


class Blockers:
    """Asks GitHub about the issues that an agent waits for."""

    def __init__(self, world: World, moves: Moves) -> None:
        self._world = world
        self._moves = moves

    async def wake_if_free(self, agent: Agent) -> bool:
        """Wake an agent none of whose blockers is open any more, or was since it fell asleep."""
        if not await self._is_free(agent):
            return False
        names = ", ".join(f"#{number}" for number in agent.blocked_by)
        await self._moves.apply(agent, WakeUp(f"Closed meanwhile: {names}."))
        return True

    async def fell_asleep(self, agent: Agent) -> None:
        """Wake an agent whose blockers were closed before it fell asleep. What GitHub does not
        tell now reconciliation asks for again."""
        try:
            if await self._is_free(agent):
                await self._moves.apply(agent, WakeUp("All blockers were closed already."))
        except GitHubFailed as error:
            log.info("not looked for blockers: %s", error, extra={"agent": str(agent.id)})

    async def _is_free(self, agent: Agent) -> bool:
        here, blockers = repository_of(agent), dict[int, Issue | None]()
        for number in agent.blocked_by:
            blockers[number] = await self._world.github.issue(here, number)
        still_open = [each for each in blockers.values() if each is not None and each.is_open]
        return not still_open or await self._was_free(agent, blockers)

    async def _was_free(self, agent: Agent, blockers: Mapping[int, Issue | None]) -> bool:
        """Whether the blockers, some of which are open, were all closed at one time. Nobody tells
        since when one is gone."""
        if not all(each is not None and may_have_been_closed(each) for each in blockers.values()):
            return False
        here = repository_of(agent)
        marks = [await self._world.github.marks(here, number) for number in blockers]
        return was_free(marks, agent.updated_at)


def may_have_been_closed(issue: Issue) -> bool:
    """Whether it is closed, or may have been: of pull requests GitHub does not say."""
    return not issue.is_open or issue.was_reopened or issue.is_pull_request
