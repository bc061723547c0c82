"""The statements that SQLAlchemy writes differently for our two databases."""

from functools import cache

import sqlalchemy as sa
from sqlalchemy.dialects import postgresql, sqlite


def insert(connection: sa.Connection, table: sa.Table) -> sqlite.Insert | postgresql.Insert:
    """An INSERT that knows ON CONFLICT."""
    return _insert(connection.dialect.name, table)


@cache  # to build the statement costs more than to execute it
def upsert(dialect: str, table: sa.Table) -> sqlite.Insert | postgresql.Insert:
    """An INSERT that overwrites the row of the same primary key."""
    statement = _insert(dialect, table)
    key = {column.name for column in table.primary_key}
    rest = {column.name: column for column in statement.excluded if column.name not in key}
    return statement.on_conflict_do_update(index_elements=sorted(key), set_=rest)


def _insert(dialect: str, table: sa.Table) -> sqlite.Insert | postgresql.Insert:
    return sqlite.insert(table) if dialect == "sqlite" else postgresql.insert(table)
