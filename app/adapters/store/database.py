"""Engines for both databases, and the migrations that bring a database up to date.

The one engine is shared with the durable engine, whose tables live in the same database.
"""

import sqlite3
from functools import cache
from pathlib import Path
from typing import Any, Final

import alembic.command
import alembic.config
import psycopg
import sqlalchemy as sa
from alembic.runtime.migration import MigrationContext
from alembic.script import ScriptDirectory

from app.adapters.store.failures import translated
from app.adapters.store.migrations import VERSION_TABLE

POOL_SIZE: Final = 20
MOST_POOL_WAIT_SECONDS: Final = 10
MOST_LOCK_WAIT_SECONDS: Final = 10
"""How long SQLite waits for another writer."""
MOST_STATEMENT_SECONDS: Final = 30
MOST_IDLE_IN_TRANSACTION_SECONDS: Final = 60
_BOUNDS: Final = {
    "statement_timeout": MOST_STATEMENT_SECONDS,
    "idle_in_transaction_session_timeout": MOST_IDLE_IN_TRANSACTION_SECONDS,
}
MOST_MIGRATION_SECONDS: Final = 600
MOST_MIGRATION_WAIT_SECONDS: Final = 120
"""How long a process waits until another one has migrated."""

_MIGRATION_LOCK: Final = 0x5371_7561_6472_6F6E
"""Ours among PostgreSQL's advisory locks."""


def make_engine(
    url: str, application: str = "squadron", most_connections: int = POOL_SIZE
) -> sa.Engine:
    """An engine for `sqlite:///path` or `postgresql://…`, with durable commits and bounds.
    `application`: what PostgreSQL calls its connections; `most_connections`: to PostgreSQL.

    Raises `sqlalchemy.exc.ArgumentError` for a text that is no database URL.
    """
    parsed = sa.make_url(url)
    if parsed.get_backend_name() == "sqlite":
        return _sqlite(parsed)
    return _postgresql(parsed.set(drivername="postgresql+psycopg"), application, most_connections)


def why_away(url: str) -> str:
    """Why the database of that address cannot be written now, in the words of its driver; empty:
    it can."""
    engine = make_engine(url)
    try:
        with engine.connect() as connection:
            if connection.dialect.name == "postgresql":
                said = connection.exec_driver_sql("SELECT pg_is_in_recovery()").scalar()
                return "it is a standby, which takes no writes" if said else ""
            return ""
    except sa.exc.SQLAlchemyError as error:
        return " ".join(str(error.__cause__ or error).split())
    finally:
        engine.dispose()


def migrate(engine: sa.Engine, revision: str = "head") -> None:
    """Bring our tables up to `revision`, in one transaction. One process at a time does it.

    Raises `StoreUnavailable` when the database cannot be reached, or is migrated for too long.
    """
    config = migration_config()
    try:
        with engine.connect() as connection:
            _take_migration_lock(connection)
            if revision != "head" or _revision(connection) != _newest_revision():
                config.attributes["connection"] = connection
                alembic.command.upgrade(config, revision)
            connection.commit()
    except sa.exc.SQLAlchemyError as error:
        raise translated(error) from error.__cause__


def migration_config() -> alembic.config.Config:
    """What Alembic needs to know to find the migrations."""
    config = alembic.config.Config()
    folder = Path(__file__).with_name("migrations")
    config.set_main_option("script_location", str(folder).replace("%", "%%"))
    return config


@cache
def _newest_revision() -> str | None:
    return ScriptDirectory.from_config(migration_config()).get_current_head()


def _revision(connection: sa.Connection) -> str | None:
    """What our tables were brought up to; None: there are none."""
    options = {"version_table": VERSION_TABLE}
    return MigrationContext.configure(connection, opts=options).get_current_revision()


def _take_migration_lock(connection: sa.Connection) -> None:
    """Held until the transaction ends."""
    if connection.dialect.name == "sqlite":
        connection.exec_driver_sql("BEGIN IMMEDIATE")
        return
    connection.execute(
        sa.text("SELECT set_config('lock_timeout', :wait, true)"),
        {"wait": f"{MOST_MIGRATION_WAIT_SECONDS}s"},
    )
    connection.execute(
        sa.text("SELECT set_config('statement_timeout', :most, true)"),
        {"most": f"{MOST_MIGRATION_SECONDS}s"},
    )
    connection.execute(sa.text("SELECT pg_advisory_xact_lock(:lock)"), {"lock": _MIGRATION_LOCK})


def _sqlite(url: sa.URL) -> sa.Engine:
    engine = sa.create_engine(
        url,
        pool_size=POOL_SIZE,
        pool_timeout=MOST_POOL_WAIT_SECONDS,
        pool_use_lifo=True,
        connect_args={"timeout": MOST_LOCK_WAIT_SECONDS, "check_same_thread": False},
    )

    @sa.event.listens_for(engine, "connect")
    def _(connection: sqlite3.Connection, _record: Any) -> None:
        # Writers queue up at their first write instead of deadlocking on an upgrade of the lock.
        connection.isolation_level = "IMMEDIATE"
        for pragma in (
            "journal_mode=WAL",
            "synchronous=FULL",
            f"busy_timeout={MOST_LOCK_WAIT_SECONDS * 1000}",
            "foreign_keys=ON",
        ):
            connection.execute(f"PRAGMA {pragma}")

    return engine


def _postgresql(url: sa.URL, application: str, most_connections: int) -> sa.Engine:
    engine = sa.create_engine(
        url,
        pool_size=most_connections,
        max_overflow=0,
        pool_timeout=MOST_POOL_WAIT_SECONDS,
        pool_use_lifo=True,
        pool_pre_ping=True,
        connect_args={
            "connect_timeout": 10,
            "application_name": application,
            "keepalives_idle": 5,
            "keepalives_interval": 2,
            "keepalives_count": 3,
        },
    )

    @sa.event.listens_for(engine, "connect")
    def _(connection: psycopg.Connection[Any], _record: Any) -> None:
        # Not among the options of the connection: PgBouncer takes none.
        for name, most in _BOUNDS.items():
            connection.execute(f"SET {name} = '{most}s'")
        connection.commit()

    return engine
