"""Engines: commits are durable, and nothing waits without a bound."""

import asyncio

import pytest
import sqlalchemy as sa

from app.adapters.store.database import make_engine, migrate
from app.ports import StoreUnavailable
from tests.contract.store_support import NOON, World, a_new_agent


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
