"""Needs-human issues whose original was closed unseen: repositories and originals take turns."""

from collections.abc import Sequence

from app.core.agents.agent import Agent
from app.core.agents.lifecycle import State
from app.core.effects.wanted import NEEDS_HUMAN, escalation_sign, original_of
from app.ports import Posted, Repository
from app.services.effects.needs_human import NeedsHuman
from app.services.guard import Guard
from app.services.reconciling.request_budget import Purse, Share
from app.services.world import World, repository_of


class NeedsHumanTurns:
    """Remembers, within this process, who had a turn in which pass."""

    def __init__(self, world: World, needs_human: NeedsHuman, guard: Guard) -> None:
        self._world = world
        self._guard = guard
        self._needs_human = needs_human
        self._looked_at: dict[int, int] = {}
        """In which pass a repository had its turn."""
        self._asked_about: dict[tuple[int, int], int] = {}
        """The same of an original issue."""
        self._pass = 0

    async def look(self, purse: Purse) -> int:
        """Close those whose original was closed and no webhook said so; how many. As many
        repositories have their turn in a pass as the purse has room for, those first that waited
        for longest. May raise `GitHubFailed`."""
        self._pass += 1
        stopped = await self._world.store.agents(states=frozenset({State.ESCALATED}))
        stopped = [agent for agent in stopped if not agent.parent]
        here = {agent.repository_id: repository_of(agent) for agent in stopped}
        turns = sorted(here, key=lambda one: (self._looked_at.get(one, 0), here[one].full_name))
        closed = 0
        for repository_id in turns:
            if not purse.holds(Share.ESCALATIONS):
                purse.leave(Share.ESCALATIONS)
                continue
            self._looked_at[repository_id] = self._pass
            agents = [agent for agent in stopped if agent.repository_id == repository_id]
            with self._guard.over(f"needs-human issues of {here[repository_id].full_name}"):
                closed += await self._look_at(here[repository_id], repository_id, agents, purse)
        return closed

    async def _look_at(
        self, repository: Repository, repository_id: int, stopped: Sequence[Agent], purse: Purse
    ) -> int:
        closed, sign = 0, escalation_sign(repository_id)
        listed = await self._world.github.marked_issues(repository, NEEDS_HUMAN, sign)
        asked = [
            original
            for issue in listed
            if issue.is_open and (original := original_of(issue.body, repository_id)) is not None
        ]
        asked += await self._changed_by_people(repository, repository_id, stopped, listed, purse)
        turns = {original: (repository_id, original) for original in asked}
        for original in sorted(turns, key=lambda one: self._asked_about.get(turns[one], 0)):
            if not purse.holds(Share.ESCALATIONS):
                purse.leave(Share.ESCALATIONS)
                continue
            self._asked_about[turns[original]] = self._pass
            with self._guard.over(f"needs-human issue of {repository.full_name}#{original}"):
                closed += await self._needs_human.look_at_original(
                    repository, repository_id, original
                )
        return closed

    async def _changed_by_people(
        self,
        repository: Repository,
        repository_id: int,
        stopped: Sequence[Agent],
        listed: Sequence[Posted],
        purse: Purse,
    ) -> list[int]:
        """Originals whose needs-human issue is open, but has lost its label or its mark: these the
        registry knows by number. Each is asked for until it is seen closed. Of the others it is
        noted if they are open."""
        is_open = {
            issue.number: issue.is_open
            for issue in listed
            if original_of(issue.body, repository_id) is not None
        }
        originals: list[int] = []
        numbers = await self._world.store.needs_human_issues(repository.full_name)
        for agent in stopped:
            number = numbers.get(agent.id)
            if number is None:
                continue
            if number not in is_open:
                if agent.dismissed_at is not None:
                    continue
                if not purse.holds(Share.ESCALATIONS):
                    purse.leave(Share.ESCALATIONS)
                    continue
                issue = await self._world.github.issue(repository, number)
                is_open[number] = issue is not None and issue.is_open
                if is_open[number]:
                    originals.append(agent.id.issue)
            await self._needs_human.seen(agent, is_open=is_open[number])
        return originals
