"""Engines for both databases.

The one engine is shared with the durable engine, whose tables live in the same database.
"""

import sqlite3
from typing import Any, Final

import psycopg
import sqlalchemy as sa

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
