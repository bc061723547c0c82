"""Needs-human issues after the trip: they close by themselves when nobody has to decide any more.

Closing one starts nothing; what starts a successor is a person's label or `/squadron retry`.
"""

from datetime import datetime

from app.core.agents.agent import Agent, EffectName
from app.core.words.needs_human import (
    CLOSED_MARKER,
    closed_by_marker,
    closed_on_page,
    closed_with_original,
)
from app.ports import Repository
from app.services.effects.needs_human_issues import escalation_issues
from app.services.world import World, repository_of


class NeedsHuman:
    """Looks after the needs-human issues of an original issue."""

    def __init__(self, world: World) -> None:
        self._world = world

    async def look_at_original(
        self, repository: Repository, repository_id: int, original: int
    ) -> bool:
        """Close what is still open about an issue that is closed, or was closed and opened again;
        whether there was any. May raise `GitHubFailed`."""
        issue = await self._world.github.issue(repository, original)
        if issue is None or not issue.is_open:
            return await self.original_closed(repository, repository_id, original)
        if not issue.was_reopened:
            return False
        marks = await self._world.github.marks(repository, original)
        closed_at = max((mark.at for mark in marks if mark.what == "closed"), default=None)
        return closed_at is not None and await self.original_closed(
            repository, repository_id, original, closed_at
        )

    async def original_closed(
        self,
        repository: Repository,
        repository_id: int,
        original: int,
        closed_at: datetime | None = None,
    ) -> bool:
        """Close what is still open about an issue that is closed, or gone; whether there was
        any. Repeatable. `closed_at`: it is open again, and what was told of it since stays open.
        Nobody is waited for about whoever was stopped there. May raise `GitHubFailed`."""
        github, now = self._world.github, self._world.clock.now()
        async with self._world.exclusive(f"effects:{repository.full_name}#{original}"):
            issues = await escalation_issues(
                self._world, github, repository, repository_id, original
            )
            still_open = [
                issue
                for issue in issues
                if issue.is_open
                and (closed_at is None or issue.at is None or issue.at <= closed_at)
            ]
            for issue in still_open:
                if not await github.comments(repository, issue.number, CLOSED_MARKER):
                    words = closed_with_original(original)
                    await github.comment(repository, issue.number, words)
                await github.edit_issue(repository, issue.number, close=True)
        await self._world.store.dismiss(repository_id, original, now, stopped_before=closed_at)
        return bool(still_open)

    async def close(self, agent: Agent, by: str) -> None:
        """Nobody is called for a stopped agent any more, since somebody wants it so. Repeatable.
        May raise `GitHubFailed`."""
        github, here = self._world.github, repository_of(agent)
        told = (await self._world.store.effects(agent.id)).get(EffectName.ISSUE)
        async with self._world.exclusive(f"effects:{here.full_name}#{agent.id.issue}"):
            issue = None
            if told is not None and told.number is not None:
                issue = await github.issue(here, told.number)
            if issue is not None and issue.is_open:
                if not await github.comments(here, issue.number, closed_by_marker(by)):
                    await github.comment(here, issue.number, closed_on_page(by))
                await github.edit_issue(here, issue.number, close=True)
        await self.seen(agent, is_open=False)

    async def look_at_own(self, repository: Repository, number: int) -> None:
        """If this is a needs-human issue: closed, it calls for nobody. May raise `GitHubFailed`."""
        store = self._world.store
        told = await store.needs_human_issues(repository.full_name)
        called_for = [agent for agent, its_issue in told.items() if its_issue == number]
        if not called_for:
            return
        issue = await self._world.github.issue(repository, number)
        for agent in filter(None, [await store.agent(each) for each in called_for]):
            await self.seen(agent, is_open=issue is not None and issue.is_open)

    async def seen(self, agent: Agent, *, is_open: bool) -> None:
        """How the needs-human issue of a stopped agent is now."""
        if is_open == (agent.dismissed_at is not None):
            dismissed_at = None if is_open else self._world.clock.now()
            await self._world.store.note_dismissed(agent.id, dismissed_at)
