"""Agents whose pull request people have merged, or closed."""

from datetime import datetime

from app.core.agents.agent import Agent
from app.core.agents.events import Waits
from app.core.agents.steps import Finish, TakeAway
from app.ports import PullRequest
from app.services.moves.moves import Moves
from app.services.world import World, repository_of


class PullRequestEnds:
    """Asks GitHub about the pull request of an agent."""

    def __init__(self, world: World, moves: Moves) -> None:
        self._world = world
        self._moves = moves

    async def settle(self, agent: Agent, before: datetime | None = None) -> bool:
        """Settle an agent whose pull request was merged or closed; False while there is none,
        it is open, or that came only after `before`."""
        pull = await self._pull_request_of(agent)
        if pull is None or pull.is_open:
            return False
        if before is not None and pull.closed_at is not None and pull.closed_at > before:
            return False
        number, at = pull.number, pull.closed_at
        if pull.is_merged:
            await self._moves.apply(agent, Finish(f"#{number} was merged.", since=at))
        else:
            step = TakeAway(f"#{number} was closed without merging.", since=at)
            await self._moves.apply(agent, step)
        return True

    async def _pull_request_of(self, agent: Agent) -> PullRequest | None:
        """Also one that was merged before its number could be noted."""
        github, repository = self._world.github, repository_of(agent)
        if agent.pull_request is not None:
            return await github.pull_request(repository, agent.pull_request)
        if agent.waits_for is not Waits.REVIEW:
            return None
        pulls = await github.pull_requests(repository, agent.branch)
        merged = (pull for pull in pulls if pull.is_merged and pull.head_sha == agent.sha)
        pull = next(merged, None)
        if pull is not None:
            await self._world.store.note_pull_request(agent.id, pull.number)
        return pull
