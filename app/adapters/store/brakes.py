"""Brakes, on and lifted. A row is never deleted while its brake is on."""

from collections.abc import Sequence
from datetime import datetime
from typing import Final

import sqlalchemy as sa

from app.adapters.store.dialects import insert
from app.adapters.store.tables import BRAKES
from app.core.rules.brakes import Brake, Place, Scope

MOST_LIFTED: Final = 1_000
"""How many brakes that were lifted are remembered, the newest."""
_COLUMNS: Final = BRAKES.c
_IS_ON: Final = _COLUMNS.lifted_at.is_(None)


def put_on(connection: sa.Connection, brake: Brake) -> bool:
    """Put a brake on; False if one is on there already."""
    inserted = connection.scalar(
        insert(connection, BRAKES)
        .values(
            scope=brake.place.scope.value,
            name=brake.place.name,
            since=brake.since,
            put_on_by=brake.by,
            reason=brake.reason,
            lifted_at=None,
            lifted_by="",
        )
        .on_conflict_do_nothing()
        .returning(_COLUMNS.scope)
    )
    return inserted is not None


def lift(connection: sa.Connection, place: Place, by: str, at: datetime) -> Brake | None:
    """Lift the brake that is on there, and forget the oldest that were lifted before."""
    rows = connection.execute(
        sa.update(BRAKES)
        .where(_COLUMNS.scope == place.scope.value, _COLUMNS.name == place.name, _IS_ON)
        .values(lifted_at=at, lifted_by=by)
        .returning(BRAKES)
    )
    lifted = [_brake(row) for row in rows.mappings()]
    oldest_kept = connection.scalar(
        sa.select(_COLUMNS.lifted_at)
        .where(~_IS_ON)
        .order_by(_COLUMNS.lifted_at.desc())
        .offset(MOST_LIFTED - 1)
        .limit(1)
    )
    if oldest_kept is not None:
        connection.execute(sa.delete(BRAKES).where(_COLUMNS.lifted_at < oldest_kept))
    return lifted[0] if lifted else None


def brakes(connection: sa.Connection, lifted_since: datetime | None) -> Sequence[Brake]:
    """Those that are on, and those that were lifted at an instant or later, oldest first."""
    wanted = _IS_ON if lifted_since is None else sa.or_(_IS_ON, _COLUMNS.lifted_at >= lifted_since)
    rows = connection.execute(
        sa.select(BRAKES).where(wanted).order_by(_COLUMNS.since, _COLUMNS.scope, _COLUMNS.name)
    )
    return [_brake(row) for row in rows.mappings()]


def _brake(row: sa.RowMapping) -> Brake:
    return Brake(
        place=Place(Scope(row["scope"]), row["name"]),
        by=row["put_on_by"],
        since=row["since"],
        reason=row["reason"],
        lifted_at=row["lifted_at"],
        lifted_by=row["lifted_by"],
    )
