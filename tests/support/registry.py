"""The service's database, read beside it."""

import asyncio
from collections.abc import Coroutine, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from datetime import timedelta
from typing import Any, Final, Protocol, TypeVar

import sqlalchemy as sa

from app.adapters.store.codec import encode_event
from app.adapters.store.database import make_engine
from app.adapters.store.store import SqlStore
from app.adapters.store.tables import AGENTS, DELIVERIES, EVENTS, LOOKS, REDELIVERIES
from app.adapters.store.writer import GroupWriter
from app.core.agents.agent import Agent, AgentId, Effect, EffectName
from app.core.agents.counters import Counters, fold
from app.core.agents.events import AgentEvent, SegmentStarted
from app.core.github.comment_kinds import CommentKind
from app.core.github.redelivery import AskedAgain
from app.ports import HeardCommands, Written

Found = TypeVar("Found")

OBSERVER: Final = "squadron-test"
"""What PostgreSQL calls the connections of who only looks."""


class Run(Protocol):
    """Says what a coroutine comes to."""

    def __call__(self, work: Coroutine[Any, Any, Found], /) -> Found: ...


class Registry:
    """What the registry and the logs say."""

    def __init__(self, store: SqlStore, engine: sa.Engine, run: Run = asyncio.run) -> None:
        self._run = run
        self._store = store
        self._engine = engine

    def agents(self, repository: str, issue: int | None = None) -> Sequence[Agent]:
        """Agents of a repository or of an issue, oldest first."""
        return self._run(self._store.agents(repository=repository, issue=issue))

    def agent(self, agent: AgentId) -> Agent:
        """One agent, which has to be there."""
        found = self._run(self._store.agent(agent))
        assert found is not None, f"there is no agent {agent}"
        return found

    def log(self, agent: AgentId) -> Sequence[AgentEvent]:
        """Everything that happened to an agent."""
        return self._run(self._store.log(agent))

    def written_to(self, agent: AgentId) -> Sequence[Written]:
        """What people wrote to it while it worked or waited for its turn."""
        return self._run(self._store.written_to(agent))

    def counters(self, agent: AgentId) -> Counters:
        """What an agent has used."""
        return fold(self.log(agent))

    def began_earlier(self, agent: AgentId, by: timedelta) -> None:
        """While the service is dead: all that happened up to the first start is so much older."""
        log = self.log(agent)
        began = next(n for n, event in enumerate(log, 1) if isinstance(event, SegmentStarted))
        with self._engine.begin() as connection:
            for seq, event in enumerate(log[:began], 1):
                older = replace(event, at=event.at - by)
                where = (EVENTS.c.agent_id == str(agent)) & (EVENTS.c.seq == seq)
                values = {"at": older.at, "body": encode_event(older)}
                connection.execute(sa.update(EVENTS).where(where).values(values))

    @contextmanager
    def impossible_parent(self, agent: AgentId) -> Iterator[None]:
        """For as long as the block lasts, the registry says what cannot be of whose sub-agent it
        is."""
        row = sa.update(AGENTS).where(AGENTS.c.id == str(agent))
        with self._engine.begin() as connection:
            connection.execute(row.values(parent="nobody"))
        try:
            yield
        finally:
            with self._engine.begin() as connection:
                connection.execute(row.values(parent=None))

    @contextmanager
    def unreadable(self, agent: AgentId) -> Iterator[None]:
        """For as long as the block lasts, what happened to an agent last cannot be read."""
        where = (EVENTS.c.agent_id == str(agent)) & (EVENTS.c.seq == len(self.log(agent)))
        with self._engine.begin() as connection:
            body = connection.execute(sa.select(EVENTS.c.body).where(where)).scalar_one()
            connection.execute(sa.update(EVENTS).where(where).values(body="{"))
        try:
            yield
        finally:
            with self._engine.begin() as connection:
                connection.execute(sa.update(EVENTS).where(where).values(body=body))

    def effects(self, agent: AgentId) -> Mapping[EffectName, Effect]:
        """What was written on GitHub about an agent."""
        return self._run(self._store.effects(agent))

    def heard(
        self, repository: str, comment: int, kind: CommentKind = "comment"
    ) -> Sequence[HeardCommands]:
        """What a comment has told Squadron, oldest first."""
        return self._run(self._store.heard_commands(repository, comment, kind))

    def deliveries(self) -> set[str]:
        """Ids of all deliveries that the inbox knows."""
        with self._engine.connect() as connection:
            return set(connection.scalars(sa.select(DELIVERIES.c.id)))

    def asked_again(self) -> Sequence[AskedAgain]:
        """Failed deliveries that GitHub was asked for."""
        return [*self._run(self._store.asked_again()).values()]

    def saw_further(self, by: timedelta) -> None:
        """While the service is dead: reconciliation has seen changes of so much later, so what
        happened until now is no news any more."""
        with self._engine.begin() as connection:
            for name, look in self._run(self._store.looks()).items():
                values = {"threads_until": look.threads_until + by}
                where = LOOKS.c.repository == name
                connection.execute(sa.update(LOOKS).where(where).values(values))

    def asked_earlier(self, by: timedelta) -> None:
        """While the service is dead: GitHub was asked for failed deliveries so much earlier."""
        with self._engine.begin() as connection:
            for asked in self.asked_again():
                where = REDELIVERIES.c.guid == asked.guid
                earlier = sa.update(REDELIVERIES).where(where).values(at=asked.at - by)
                connection.execute(earlier)

    def is_drained(self) -> bool:
        """Whether every delivery was looked at, and all that followed from them was done."""
        return not self._run(self._store.undispatched(1)) and not self._deliveries_in_work()

    def _deliveries_in_work(self) -> int:
        schema = "dbos." if self._engine.dialect.name == "postgresql" else ""
        with self._engine.connect() as connection:
            count: int = connection.scalar(
                sa.text(
                    f"SELECT count(*) FROM {schema}workflow_status WHERE queue_name = 'delivery'"
                    " AND status IN ('PENDING', 'ENQUEUED', 'DELAYED')"
                )
            )
            return count


@contextmanager
def open_registry(database_url: str) -> Iterator[Registry]:
    """The registry of a service that has started there."""
    engine = make_engine(database_url, OBSERVER)
    writer = GroupWriter(engine)

    def refuse(*_: object) -> None:
        raise AssertionError("a test only reads the registry")

    try:
        yield Registry(SqlStore(engine, writer, refuse), engine)
    finally:
        writer.close()
        engine.dispose()
