"""Engines: commits are durable, and nothing waits without a bound."""

import asyncio

import pytest
import sqlalchemy as sa

from app.adapters.clock import new_name
from app.adapters.store.database import make_engine
from app.adapters.store.failures import translated
from app.adapters.store.reading import read
from app.adapters.store.schema import migrate
from app.ports import StoreUnavailable
from tests.contract.store_support import NOON, World, a_new_agent, own_postgresql_database


def _setting(connection: sa.Connection, name: str) -> str:
    command = "PRAGMA" if connection.dialect.name == "sqlite" else "SHOW"
    return str(connection.exec_driver_sql(f"{command} {name}").scalar_one())


def test_every_connection_is_durable_and_bounded(world: World) -> None:
    wanted = {
        "sqlite": {
            "journal_mode": "wal",
            "synchronous": "2",
            "foreign_keys": "1",
            "busy_timeout": "10000",
        },
        "postgresql": {
            "synchronous_commit": "on",
            "statement_timeout": "30s",
            "idle_in_transaction_session_timeout": "1min",
        },
    }[world.engine.dialect.name]
    with world.engine.connect() as one, world.engine.connect() as another:
        for connection in (one, another):
            assert {name: _setting(connection, name) for name in wanted} == wanted


async def test_connections_that_died_while_idle_are_not_noticed(world: World) -> None:
    if world.engine.dialect.name == "sqlite":
        pytest.skip("a file has no connection to lose")
    await asyncio.gather(*(world.store.agents() for _ in range(5)))
    with world.engine.connect() as connection:
        connection.execute(
            sa.text(
                "SELECT pg_terminate_backend(pid) FROM pg_stat_activity"
                " WHERE datname = current_database() AND pid <> pg_backend_pid()"
            )
        )
    assert await world.store.agents() == []
    assert await world.store.create(a_new_agent(), NOON) is not None


def test_a_server_that_is_not_there_is_unavailable() -> None:
    engine = make_engine("postgresql://nobody@127.0.0.1:1/nothing")
    with pytest.raises(StoreUnavailable, match="cannot be used"):
        migrate(engine)
    engine.dispose()


def test_a_server_that_takes_no_more_connections_says_what_to_do() -> None:
    with own_postgresql_database() as url:
        few = f"few_{new_name()}"
        server = make_engine(url).execution_options(isolation_level="AUTOCOMMIT")
        with server.connect() as connection:
            connection.exec_driver_sql(f"CREATE ROLE {few} LOGIN CONNECTION LIMIT 2")
        as_few = sa.make_url(url).set(username=few).render_as_string(hide_password=False)
        engine = make_engine(as_few)
        try:
            with engine.connect(), engine.connect(), pytest.raises(StoreUnavailable) as refused:
                migrate(engine)
        finally:
            engine.dispose()
            with server.connect() as connection:
                connection.exec_driver_sql(f"DROP ROLE {few}")
            server.dispose()
    assert "too many connections" in str(refused.value)
    assert "Lower that, or raise `max_connections`" in str(refused.value)
    assert "SQUADRON_DATABASE_POOL for its queries, and 3 besides" in str(refused.value)


@pytest.mark.parametrize("migrated", ["postgresql"], indirect=True)
async def test_a_process_has_so_many_connections_as_it_is_told(world: World) -> None:
    url = world.engine.url.render_as_string(hide_password=False)
    engine = make_engine(url, "squadron-counted", most_connections=3)
    counted = sa.text(
        "SELECT count(*) FROM pg_stat_activity WHERE application_name = 'squadron-counted'"
    )

    def reads(connection: sa.Connection) -> int:
        connection.execute(sa.text("SELECT pg_sleep(0.05)"))
        return int(connection.scalar(counted) or 0)

    seen = await asyncio.gather(*(read(engine, reads) for _ in range(12)))
    engine.dispose()
    assert max(seen) == 3


def test_who_waits_too_long_for_a_connection_of_its_own_process_is_told_so() -> None:
    busy = translated(sa.exc.TimeoutError("QueuePool limit of size 3 overflow 0 reached"))
    assert str(busy) == (
        "the database cannot be used: all connections of this process are busy"
        " (SQUADRON_DATABASE_POOL)"
    )
