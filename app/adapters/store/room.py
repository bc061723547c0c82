"""Whether there is room for what a delivery takes, found out by taking it."""

import secrets
from typing import Final

import sqlalchemy as sa

from app.adapters.store.dialects import insert
from app.adapters.store.tables import ROOM

DELIVERY_BYTES: Final = 64 * 1024
"""More than all but the longest take."""
_THE_ROW: Final = 1


def fill(connection: sa.Connection) -> None:
    """Take the room. Raises the driver's error if there is none."""
    _set(connection, secrets.token_bytes(DELIVERY_BYTES))  # which nothing packs


def clear(connection: sa.Connection) -> None:
    """Give it back."""
    _set(connection, b"")


def _set(connection: sa.Connection, filling: bytes) -> None:
    row = {"filling": filling}
    connection.execute(
        insert(connection, ROOM)
        .values(id=_THE_ROW, **row)
        .on_conflict_do_update(index_elements=["id"], set_=row)
    )
