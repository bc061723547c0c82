"""The statements that SQLAlchemy writes differently for our two databases."""

from functools import cache

import sqlalchemy as sa
from sqlalchemy.dialects import postgresql, sqlite


def insert(connection: sa.Connection, table: sa.Table) -> sqlite.Insert | postgresql.Insert:
    """An INSERT that knows ON CONFLICT."""
    return _insert(connection.dialect.name, table)


@cache  # to build the statement costs more than to execute it
def upsert(
    dialect: str, table: sa.Table, *, latest_by: str = ""
) -> sqlite.Insert | postgresql.Insert:
    """An INSERT that overwrites the row of the same primary key. `latest_by`: the name of a column;
    a row with more in it stays."""
    statement = _insert(dialect, table)
    key = {column.name for column in table.primary_key}
    rest = {column.name: column for column in statement.excluded if column.name not in key}
    is_later = statement.excluded[latest_by] >= table.c[latest_by] if latest_by else None
    return statement.on_conflict_do_update(index_elements=sorted(key), set_=rest, where=is_later)


def _insert(dialect: str, table: sa.Table) -> sqlite.Insert | postgresql.Insert:
    return sqlite.insert(table) if dialect == "sqlite" else postgresql.insert(table)
