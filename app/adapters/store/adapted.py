"""Limits that were moved without a human."""

from collections.abc import Sequence
from typing import Final

import sqlalchemy as sa

from app.adapters.store.dialects import insert
from app.adapters.store.tables import ADAPTED_LIMITS
from app.core.history.adapting import Adapted
from app.core.limits import LimitName

_COLUMNS: Final = ADAPTED_LIMITS.c


def of(connection: sa.Connection, repository: str) -> Sequence[Adapted]:
    """Those of one repository, by role and limit."""
    rows = connection.execute(
        sa.select(ADAPTED_LIMITS)
        .where(_COLUMNS.repository == repository)
        .order_by(_COLUMNS.role, _COLUMNS.name)
    )
    return [
        Adapted(row["role"], LimitName(row["name"]), row["base"], row["value"], row["at"])
        for row in rows.mappings()
    ]


def save(connection: sa.Connection, repository: str, adapted: Adapted) -> None:
    """The latest step of one limit takes the place of the one before it."""
    said = {"base": adapted.base, "value": adapted.value, "at": adapted.at}
    key = {"repository": repository, "role": adapted.role, "name": adapted.name.value}
    connection.execute(
        insert(connection, ADAPTED_LIMITS)
        .values(**key, **said)
        .on_conflict_do_update(index_elements=[*key], set_=said)
    )
