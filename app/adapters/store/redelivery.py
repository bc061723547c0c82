"""Failed deliveries that GitHub was asked for again, and how far its list of them was read."""

from collections.abc import Mapping
from datetime import datetime
from typing import Final

import sqlalchemy as sa

from app.adapters.store.dialects import upsert
from app.adapters.store.tables import MARKS, REDELIVERIES
from app.core.github.redelivery import AskedAgain

_FAILURES: Final = "failed deliveries"


def asked(connection: sa.Connection) -> Mapping[str, AskedAgain]:
    """By guid."""
    rows = connection.execute(sa.select(REDELIVERIES)).mappings()
    return {row["guid"]: AskedAgain(row["guid"], row["times"], row["at"]) for row in rows}


def note(connection: sa.Connection, asked: AskedAgain) -> None:
    """The latest ask takes the place of the one before it."""
    row = {"guid": asked.guid, "times": asked.times, "at": asked.at}
    connection.execute(upsert(connection.dialect.name, REDELIVERIES), row)


def read_from(connection: sa.Connection) -> datetime | None:
    """From when on failures are to be read; None: they never were."""
    found: datetime | None = connection.scalar(
        sa.select(MARKS.c.at).where(MARKS.c.name == _FAILURES)
    )
    return found


def save_read(connection: sa.Connection, read_from: datetime, forget_before: datetime) -> None:
    """Keep how far was read, and forget asks of longer ago."""
    connection.execute(upsert(connection.dialect.name, MARKS), {"name": _FAILURES, "at": read_from})
    connection.execute(sa.delete(REDELIVERIES).where(REDELIVERIES.c.at < forget_before))
