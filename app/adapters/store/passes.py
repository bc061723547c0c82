"""What the last pass of reconciliation has cost."""

import json
from dataclasses import asdict
from typing import Final

import sqlalchemy as sa

from app.adapters.store.dialects import insert
from app.adapters.store.tables import LAST_PASS
from app.ports import Pass

_THE_ROW: Final = 1


def last(connection: sa.Connection) -> Pass | None:
    """None before the first."""
    row = connection.execute(sa.select(LAST_PASS)).mappings().first()
    if row is None:
        return None
    fields = {name: value for name, value in row.items() if name != "id"}
    return Pass(**{**fields, "put_off": json.loads(row["put_off"])})


def save(connection: sa.Connection, done: Pass) -> None:
    """It takes the place of the one before it."""
    row = {**asdict(done), "put_off": json.dumps(dict(done.put_off))}
    connection.execute(
        insert(connection, LAST_PASS)
        .values(id=_THE_ROW, **row)
        .on_conflict_do_update(index_elements=["id"], set_=row)
    )
