"""Whether anything was committed, told without reading what."""

import sqlite3

import sqlalchemy as sa


def mark(connection: sa.Connection) -> str:
    """Differs from an earlier one if a transaction was committed in between.

    PostgreSQL: whose transactions are over. SQLite: a connection counts its own changes, and
    whether others have committed; so there is another mark for another connection, too.
    """
    if connection.dialect.name == "postgresql":
        return str(connection.exec_driver_sql("SELECT pg_current_snapshot()::text").scalar_one())
    version = connection.exec_driver_sql("PRAGMA data_version").scalar_one()
    own = connection.connection.driver_connection
    assert isinstance(own, sqlite3.Connection)
    return f"{id(own)}:{version}:{own.total_changes}"
