"""What the last pass of reconciliation has cost."""

import json
from dataclasses import asdict
from typing import Final

import sqlalchemy as sa

from app.adapters.store.dialects import insert
from app.adapters.store.tables import LAST_PASS
from app.ports import Pass

_THE_ROW: Final = 1
_OBJECTS: Final = ("put_off", "failed")


def last(connection: sa.Connection) -> Pass | None:
    """None before the first."""
    row = connection.execute(sa.select(LAST_PASS)).mappings().first()
    if row is None:
        return None
    fields = {name: value for name, value in row.items() if name != "id"}
    return Pass(**{**fields, **{name: json.loads(row[name]) for name in _OBJECTS}})


def save(connection: sa.Connection, done: Pass) -> None:
    """It takes the place of the one before it."""
    fields = asdict(done)
    row = {**fields, **{name: json.dumps(fields[name]) for name in _OBJECTS}}
    connection.execute(
        insert(connection, LAST_PASS)
        .values(id=_THE_ROW, **row)
        .on_conflict_do_update(index_elements=["id"], set_=row)
    )
