"""The same store on both databases; `conftest.py` offers the fixtures to the tests."""

import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
import sqlalchemy as sa
from sqlalchemy.dialects import postgresql, sqlite

from app.adapters.clock import new_name
from app.adapters.store.database import make_engine
from app.adapters.store.schema import migrate
from app.adapters.store.store import SqlStore
from app.adapters.store.tables import METADATA
from app.adapters.store.writer import GroupWriter
from app.core.agents.agent import Agent, AgentId, Assignment, Task
from app.core.limits import Limits
from app.core.rules.plan import EscalationRules
from app.ports import NewAgent, Publish, Repository, RunSegment, Work
from app.testruns import SuiteRules
from tests.support.moves import begin

NOON = datetime(2026, 5, 4, 12, 0, 0, 123_456, tzinfo=UTC)
DATABASES = ("sqlite", "postgresql")

QUEUED_WORK = sa.Table("queued_work", sa.MetaData(), sa.Column("id", sa.Text, primary_key=True))
"""Stands for the durable engine's tables: commits with us, and is not ours."""


def later(seconds: float) -> datetime:
    """So long after `NOON`."""
    return NOON + timedelta(seconds=seconds)


def a_new_agent(issue: int = 12, role: str = "bug-fix", branch: str = "squadron/x") -> NewAgent:
    """An order for an agent in octo/demo."""
    assignment = Assignment(
        limits=Limits(max_iterations=3, max_turns=None),
        prompt="Fix it.",
        model="openai:x",
        planning_model=None,
        tools=("bash",),
        setup=("make deps",),
        escalation=EscalationRules(mention=("@octo/leads",)),
        suites=SuiteRules(),
        task=Task("It breaks", "When\0ever \N{SNOWMAN}"),
    )
    return NewAgent(
        repository=Repository("octo/demo", 77),
        repository_id=1296269,
        issue=issue,
        role=role,
        assignment=assignment,
        branch=branch,
        default_branch="main",
        started_by="ada",
        trigger="label squadron:bug-fix",
    )


def of_a_start(agent: AgentId) -> list[str]:
    """Ids of the work that a new agent comes with."""
    return [Publish.new_in_queue(agent).id, RunSegment(agent, 0).id]


class OutOfOrder(Exception):
    """The queue refuses."""


@dataclass
class World:
    """A store with its writer and a queue that commits with it."""

    engine: sa.Engine
    writer: GroupWriter
    other_writer: GroupWriter
    """As a second process has it."""
    queue_is_broken: bool = False

    @property
    def store(self) -> SqlStore:
        return SqlStore(self.engine, self.writer, self.enqueue)

    @property
    def stores(self) -> tuple[SqlStore, SqlStore]:
        """This process's, and another's."""
        return self.store, SqlStore(self.engine, self.other_writer, self.enqueue)

    def enqueue(self, connection: sa.Connection, work: Work) -> None:
        dialect = sqlite if connection.dialect.name == "sqlite" else postgresql
        statement = dialect.insert(QUEUED_WORK).on_conflict_do_nothing()
        connection.execute(statement, {"id": work.id})
        if self.queue_is_broken:
            raise OutOfOrder

    def queued(self) -> Sequence[str]:
        """Ids of all work that was committed."""
        with self.engine.connect() as connection:
            return connection.scalars(sa.select(QUEUED_WORK).order_by(QUEUED_WORK.c.id)).all()

    async def an_active(self, issue: int = 12) -> Agent:
        """A new agent whose segment 0 has begun; its log has two events."""
        created = await self.store.create(a_new_agent(issue), NOON)
        assert created is not None
        active = await begin(self.store, created.id, 0, "worker-1", later(1))
        assert active is not None
        return active


@contextmanager
def heard(engine: sa.Engine, event: str, listen: Callable[..., None]) -> Iterator[None]:
    """`listen` hears of this event of every connection, and may fail in its place."""
    sa.event.listen(engine, event, listen)
    try:
        yield
    finally:
        sa.event.remove(engine, event, listen)


@contextmanager
def own_postgresql_database() -> Iterator[str]:
    """The URL of a new database on the server for tests; dropped at the end."""
    server = os.environ.get("SQUADRON_TEST_POSTGRES_URL")
    if not server:
        pytest.skip("SQUADRON_TEST_POSTGRES_URL is not set")
    name = f"squadron_test_{new_name()}"
    admin = make_engine(server).execution_options(isolation_level="AUTOCOMMIT")
    try:
        with admin.connect() as connection:
            connection.exec_driver_sql(f"CREATE DATABASE {name}")
        yield sa.make_url(server).set(database=name).render_as_string(hide_password=False)
    finally:
        with admin.connect() as connection:
            connection.exec_driver_sql(f"DROP DATABASE IF EXISTS {name} WITH (FORCE)")
        admin.dispose()


@contextmanager
def an_empty_database(kind: str, directory: Path) -> Iterator[sa.Engine]:
    """An engine on a database without any table."""
    if kind == "sqlite":
        engine = make_engine(f"sqlite:///{directory / 'squadron.sqlite'}")
        try:
            yield engine
        finally:
            engine.dispose()
        return
    with own_postgresql_database() as url:
        engine = make_engine(url)
        try:
            yield engine
        finally:
            engine.dispose()


@pytest.fixture(scope="session", params=DATABASES)
def migrated(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[sa.Engine]:
    """One database of each kind for all tests, with our tables and the queue's."""
    with an_empty_database(request.param, tmp_path_factory.mktemp("store")) as engine:
        migrate(engine)
        QUEUED_WORK.create(engine)
        yield engine


@pytest.fixture
def world(migrated: sa.Engine) -> Iterator[World]:
    """A store on empty tables."""
    with migrated.begin() as connection:
        for table in (QUEUED_WORK, *reversed(METADATA.sorted_tables)):
            connection.execute(sa.delete(table))
    writer, other_writer = GroupWriter(migrated), GroupWriter(migrated)
    yield World(migrated, writer, other_writer)
    writer.close()
    other_writer.close()
