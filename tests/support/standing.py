"""Agents that wait, written into the registry while the service is stopped: as after a long day."""

import asyncio
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from typing import Final

from app.adapters.store.database import make_engine
from app.adapters.store.store import SqlStore
from app.adapters.store.writer import GroupWriter
from app.core.agents.agent import Agent, Assignment, Effect, EffectName, EffectState, Task
from app.core.agents.events import HandedOver, Slept, Tripped, Waits
from app.core.agents.lifecycle import Signal
from app.core.agents.stops import Layer, Trip
from app.core.limits import LimitName, Limits
from app.core.rules.plan import EscalationRules
from app.ports import NewAgent, Repository
from app.testruns import SuiteRules
from tests.support.github import GitHub
from tests.support.moves import Changes, begin, move
from tests.support.squad import Squad

MOST_SLEEP_SECONDS: Final = 604_800


class Standing:
    """Writes agents as the service writes them; a label has started each of them."""

    def __init__(self, store: SqlStore, github: GitHub, since: datetime) -> None:
        self._store = store
        self._github = github
        self._since = since
        self._installation_id: int = github.about["installation_id"]
        self._ids: dict[str, int] = {}

    def _id_of(self, repository: str) -> int:
        if repository not in self._ids:
            self._ids[repository] = self._github.sees(f"/repos/{repository}")["id"]
        return self._ids[repository]

    def asleep(
        self,
        repository: str,
        issue: int,
        role: str,
        waits_for: Waits = Waits.ANSWER,
        *,
        blocked_by: tuple[int, ...] = (),
        pull_request: int | None = None,
    ) -> None:
        """One that has worked and waits."""
        asyncio.run(self._asleep(repository, issue, role, waits_for, blocked_by, pull_request))

    def stopped(self, repository: str, issue: int, role: str, escalation: int) -> None:
        """One that a limit has stopped, and the needs-human issue that tells of it."""
        asyncio.run(self._stopped(repository, issue, role, escalation))

    async def _asleep(
        self,
        repository: str,
        issue: int,
        role: str,
        waits_for: Waits,
        blocked_by: tuple[int, ...],
        pull_request: int | None,
    ) -> None:
        now = self._since
        created = await self._created(repository, issue, role, now)
        active = await begin(self._store, created.id, 0, "somebody", now)
        assert active is not None
        slept = Slept(at=now, waits_for=waits_for, blocked_by=blocked_by, reason="Which?")
        changes = Changes(waits_for=waits_for, blocked_by=blocked_by)
        assert await move(self._store, active, Signal.WAITS, [slept], changes) is not None
        if pull_request is not None:
            asleep = await self._store.agent(created.id)
            assert asleep is not None
            told = HandedOver(at=now, pull_request=pull_request)
            await self._store.note_handed_over(asleep, told)
            opened = Effect(EffectName.PULL_REQUEST, EffectState.DONE, number=pull_request)
            await self._store.save_effect(created.id, opened)

    async def _stopped(self, repository: str, issue: int, role: str, escalation: int) -> None:
        now = self._since
        created = await self._created(repository, issue, role, now)
        trip = Trip(
            limit=LimitName.MAX_TOOL_CALLS,
            observed=200,
            maximum=200,
            layer=Layer.HOOK,
            at=now,
            reason="Enough.",
        )
        tripped, changes = Tripped(at=now, trip=trip), Changes(stop=trip)
        assert await move(self._store, created, Signal.TRIPPED, [tripped], changes) is not None
        detail = {"at": (now - timedelta(hours=1)).isoformat()}
        told = Effect(EffectName.ISSUE, EffectState.DONE, number=escalation, detail=detail)
        await self._store.save_effect(created.id, told)

    async def _created(self, repository: str, issue: int, role: str, now: datetime) -> Agent:
        new = NewAgent(
            repository=Repository(repository, self._installation_id),
            repository_id=self._id_of(repository),
            issue=issue,
            role=role,
            assignment=Assignment(
                limits=Limits(max_sleep_duration=MOST_SLEEP_SECONDS),
                prompt="Do it.",
                model="openai:scripted",
                planning_model=None,
                tools=None,
                setup=(),
                escalation=EscalationRules(),
                suites=SuiteRules(),
                task=Task(f"Task {issue}", ""),
            ),
            branch=f"squadron/{role}/issue-{issue}",
            default_branch="main",
            started_by="maria",
            trigger=f"label squadron:{role}",
        )
        created = await self._store.create(new, now)
        assert created is not None
        return created


@contextmanager
def standing(team: Squad, since: datetime | None = None) -> Iterator[Standing]:
    """For a service that has run once and is stopped; its database is the default one.

    `since`: when they began to wait; None is now.
    """
    engine = make_engine(f"sqlite:///{team.directory / 'data' / 'squadron.sqlite'}")
    writer = GroupWriter(engine)
    try:
        store = SqlStore(engine, writer, lambda *_: None)
        yield Standing(store, team.github, since or datetime.now(UTC))
    finally:
        writer.close()
        engine.dispose()
