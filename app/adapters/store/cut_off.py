"""Processes that ended themselves since they had lost the database, by their names."""

from datetime import datetime

import sqlalchemy as sa

from app.adapters.store.dialects import insert
from app.adapters.store.tables import CUT_OFF


def note(connection: sa.Connection, worker: str, at: datetime) -> None:
    """Once; what is known stays."""
    row = insert(connection, CUT_OFF).values(worker=worker, at=at)
    connection.execute(row.on_conflict_do_nothing())


def workers(connection: sa.Connection) -> frozenset[str]:
    """All that are known."""
    return frozenset(connection.execute(sa.select(CUT_OFF.c.worker)).scalars())


def forget(connection: sa.Connection, before: datetime) -> None:
    """Those of long ago: no stretch of work is so old."""
    connection.execute(sa.delete(CUT_OFF).where(CUT_OFF.c.at < before))
