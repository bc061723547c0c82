"""How far reconciliation has seen each repository."""

from collections.abc import Mapping

import sqlalchemy as sa

from app.adapters.store.codec import decode_look, encode_look
from app.adapters.store.dialects import insert
from app.adapters.store.tables import LOOKS
from app.ports import Look


def all_of_them(connection: sa.Connection) -> Mapping[str, Look]:
    """By repository."""
    rows = connection.execute(sa.select(LOOKS)).mappings()
    return {row["repository"]: decode_look(row) for row in rows}


def of(connection: sa.Connection, repository: str) -> Look | None:
    """None: it was not seen yet."""
    asked = sa.select(LOOKS).where(LOOKS.c.repository == repository)
    row = connection.execute(asked).mappings().one_or_none()
    return None if row is None else decode_look(row)


def save(connection: sa.Connection, repository: str, look: Look) -> None:
    """The latest look takes the place of the one before it."""
    seen = encode_look(look)
    connection.execute(
        insert(connection, LOOKS)
        .values(repository=repository, **seen)
        .on_conflict_do_update(index_elements=["repository"], set_=seen)
    )
