"""Agents end when people close their issue, take its label off or assign somebody else."""

from collections.abc import Sequence
from datetime import datetime

from app.core.agents.agent import Agent
from app.core.agents.events import Waits
from app.core.agents.lifecycle import LIVE, State
from app.core.agents.steps import TakeAway
from app.core.steering.ownership import Taken
from app.ports import Issue, Repository
from app.services.effects.needs_human import NeedsHuman
from app.services.moves.moves import MOST_LOOKS, Moves
from app.services.steering.blockers import Blockers
from app.services.steering.ownership import Overriding
from app.services.steering.pull_request_ended import PullRequestEnds
from app.services.world import World


class EndsByPeople:
    """Ends the agents of an issue whose state on GitHub says that people want it so."""

    def __init__(
        self,
        world: World,
        moves: Moves,
        overriding: Overriding,
        pull_request_ends: PullRequestEnds,
        blockers: Blockers,
        needs_human: NeedsHuman,
    ) -> None:
        self._world = world
        self._moves = moves
        self._overriding = overriding
        self._pull_request_ends = pull_request_ends
        self._blockers = blockers
        self._needs_human = needs_human

    async def issue_closed(self, repository: Repository, number: int) -> None:
        """Nobody works on a closed issue, waits for it, or has to decide about it any longer."""
        here = await self._world.store.agents(repository=repository.full_name)
        if not any(agent.id.issue == number or number in agent.blocked_by for agent in here):
            return
        issue = await self._world.github.issue(repository, number)
        if issue is not None and issue.is_open:  # opened again meanwhile
            await self.changed_hands(repository, number)
            repository_id = here[0].repository_id
            await self._needs_human.look_at_original(repository, repository_id, number)
        else:
            await self._take_away(repository, number, issue)
            await self._close_escalations(repository, number)
        sleepers = await self._world.store.agents(
            repository=repository.full_name, states=frozenset({State.SLEEPING})
        )
        for agent in sleepers:
            if agent.waits_for is Waits.BLOCKER and number in agent.blocked_by:
                await self._blockers.wake_if_free(agent)

    async def _close_escalations(self, repository: Repository, number: int) -> bool:
        """Nobody has to decide about an issue that is closed; whether somebody still had to. May
        raise `GitHubFailed`."""
        agents = await self._world.store.agents(repository=repository.full_name, issue=number)
        if not agents:
            return False
        repository_id = agents[0].repository_id
        return await self._needs_human.original_closed(repository, repository_id, number)

    async def changed_hands(self, repository: Repository, number: int) -> None:
        """A label was removed or somebody assigned: does the work still belong to its agents?"""
        if not await self._at_work(repository, number):
            return
        issue = await self._world.github.issue(repository, number)
        if issue is not None and issue.is_open:
            await self._take_away(repository, number, issue)

    async def _take_away(self, repository: Repository, number: int, issue: Issue | None) -> None:
        """An agent that moves on just then is looked at again; a pass finds what is left."""
        for _ in range(MOST_LOOKS):
            agents = await self._at_work(repository, number)
            lost = [
                (one, taken)
                for one in agents
                if (taken := await self._overriding.taken_away(one, issue))
            ]
            for agent, taken in lost:
                if not await self._pull_request_ends.settle(agent, _before(taken, issue)):
                    await self._moves.apply(agent, TakeAway(taken.why, since=taken.at))
            if not lost:
                return

    async def _at_work(self, repository: Repository, number: int) -> Sequence[Agent]:
        """The agents on an issue that people can take away; others end with theirs."""
        live = await self._world.store.agents(
            repository=repository.full_name, issue=number, states=LIVE
        )
        return [agent for agent in live if agent.parent is None and not agent.has_ended]


def _before(taken: Taken, issue: Issue | None) -> datetime | None:
    """By when a pull request must have ended to be what ended its agent. A merge closes the
    issue, too: while that is closed, the merge was first."""
    return taken.at if issue is not None and issue.is_open else None
