"""What each repository's configuration in force comes from."""

import base64
import hashlib
import json
from collections.abc import Mapping, Sequence
from typing import Final

import sqlalchemy as sa

from app.adapters.store.dialects import insert
from app.adapters.store.tables import CONFIGURATIONS
from app.ports import Configuration

_COLUMNS: Final = CONFIGURATIONS.c
_NONE: Final = Configuration("", ())


def digest(connection: sa.Connection, repository: str) -> str:
    """Changes with the configuration; empty before the first."""
    asked = sa.select(_COLUMNS.digest).where(_COLUMNS.repository == repository)
    return connection.execute(asked).scalar_one_or_none() or _NONE.digest


def of(connection: sa.Connection, repository: str) -> Configuration:
    """That of one repository."""
    asked = sa.select(CONFIGURATIONS).where(_COLUMNS.repository == repository)
    row = connection.execute(asked).mappings().first()
    if row is None:
        return _NONE
    steps = tuple(
        {path: base64.b64decode(content) for path, content in files.items()}
        for files in json.loads(row["steps"])
    )
    return Configuration(row["digest"], steps)


def put(
    connection: sa.Connection,
    repository: str,
    steps: Sequence[Mapping[str, bytes]],
    instead_of: str,
) -> str | None:
    """The new digest; None if by now another one is there than `instead_of`."""
    listed = [
        {path: base64.b64encode(content).decode() for path, content in files.items()}
        for files in steps
    ]
    text = json.dumps(listed, sort_keys=True)
    row = {"digest": hashlib.sha256(text.encode()).hexdigest(), "steps": text}
    if instead_of == _NONE.digest:
        new = insert(connection, CONFIGURATIONS).values(repository=repository, **row)
        done = connection.execute(new.on_conflict_do_nothing().returning(_COLUMNS.digest))
    else:
        there = (_COLUMNS.repository == repository) & (_COLUMNS.digest == instead_of)
        change = sa.update(CONFIGURATIONS).where(there).values(row)
        done = connection.execute(change.returning(_COLUMNS.digest))
    return done.scalar_one_or_none()
