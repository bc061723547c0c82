"""The service's database, read beside it."""

import asyncio
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager

import sqlalchemy as sa

from app.adapters.store.database import make_engine
from app.adapters.store.store import SqlStore
from app.adapters.store.tables import DELIVERIES
from app.adapters.store.writer import GroupWriter
from app.core.agent import Agent, AgentId, Effect, EffectName
from app.core.counters import Counters, fold
from app.core.events import AgentEvent


class Registry:
    """What the registry and the logs say."""

    def __init__(self, store: SqlStore, engine: sa.Engine) -> None:
        self._store = store
        self._engine = engine

    def agents(self, repository: str, issue: int | None = None) -> Sequence[Agent]:
        """Agents of a repository or of an issue, oldest first."""
        return asyncio.run(self._store.agents(repository=repository, issue=issue))

    def agent(self, agent: AgentId) -> Agent:
        """One agent, which has to be there."""
        found = asyncio.run(self._store.agent(agent))
        assert found is not None, f"there is no agent {agent}"
        return found

    def log(self, agent: AgentId) -> Sequence[AgentEvent]:
        """Everything that happened to an agent."""
        return asyncio.run(self._store.log(agent))

    def counters(self, agent: AgentId) -> Counters:
        """What an agent has used."""
        return fold(self.log(agent))

    def effects(self, agent: AgentId) -> Mapping[EffectName, Effect]:
        """What was written on GitHub about an agent."""
        return asyncio.run(self._store.effects(agent))

    def deliveries(self) -> set[str]:
        """Ids of all deliveries that the inbox knows."""
        with self._engine.connect() as connection:
            return set(connection.scalars(sa.select(DELIVERIES.c.id)))

    def is_drained(self) -> bool:
        """Whether every delivery was looked at, and all that followed from them was done."""
        return not asyncio.run(self._store.undispatched(1)) and not self._deliveries_in_work()

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
    engine = make_engine(database_url)
    writer = GroupWriter(engine)

    def refuse(*_: object) -> None:
        raise AssertionError("a test only reads the registry")

    try:
        yield Registry(SqlStore(engine, writer, refuse), engine)
    finally:
        writer.close()
        engine.dispose()
