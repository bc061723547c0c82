"""Starts that were asked for and not made: the last refusal of each post, the newest of all."""

from collections.abc import Sequence
from datetime import datetime
from typing import Final

import sqlalchemy as sa

from app.adapters.store.dialects import insert
from app.adapters.store.tables import REFUSED_STARTS
from app.core.text.unicode import whole
from app.ports import StartRefused

MOST_KEPT: Final = 1_000
_COLUMNS: Final = REFUSED_STARTS.c


def note(connection: sa.Connection, refused: StartRefused, *, is_asked: bool) -> bool:
    """Whether it is news. `is_asked`: somebody has just asked; else it was found, and counts only
    where there is another reason than before."""
    where = _is_of(refused.repository, refused.issue, refused.role)
    found = connection.execute(sa.select(REFUSED_STARTS).where(where)).mappings().one_or_none()
    said = {
        "reason": refused.reason,
        "asked_by": refused.by,
        "at": refused.at,
        "is_final": refused.is_final,
    }
    if found is None:
        key = {"repository": refused.repository, "issue": refused.issue, "role": refused.role}
        connection.execute(
            insert(connection, REFUSED_STARTS)
            .values(**key, **said, first_at=refused.at, times=1)
            .on_conflict_do_nothing()
        )
        _forget_the_oldest(connection)
        return True
    is_same = (found["reason"], found["asked_by"]) == (
        whole(refused.reason),
        whole(refused.by),
    )
    if is_same and (not is_asked or refused.at <= found["at"]):  # told of twice, or found before
        return False
    times = found["times"] + (1 if is_asked else 0)
    connection.execute(sa.update(REFUSED_STARTS).where(where).values(**said, times=times))
    return True


def newest_first(connection: sa.Connection, since: datetime) -> Sequence[StartRefused]:
    """Those that were asked for since then."""
    rows = connection.execute(
        sa.select(REFUSED_STARTS)
        .where(_COLUMNS.at >= since)
        .order_by(_COLUMNS.at.desc(), _COLUMNS.repository, _COLUMNS.issue, _COLUMNS.role)
    )
    return [
        StartRefused(
            repository=row["repository"],
            issue=row["issue"],
            role=row["role"],
            reason=row["reason"],
            by=row["asked_by"],
            at=row["at"],
            first_at=row["first_at"],
            times=row["times"],
            is_final=row["is_final"],
        )
        for row in rows.mappings()
    ]


def forget(connection: sa.Connection, repository: str, issue: int, role: str) -> None:
    """An agent has started there."""
    connection.execute(sa.delete(REFUSED_STARTS).where(_is_of(repository, issue, role)))


def forget_before(connection: sa.Connection, before: datetime) -> None:
    """Nobody has asked for them since then."""
    connection.execute(sa.delete(REFUSED_STARTS).where(_COLUMNS.at < before))


def _forget_the_oldest(connection: sa.Connection) -> None:
    oldest_kept = connection.scalar(
        sa.select(_COLUMNS.at).order_by(_COLUMNS.at.desc()).offset(MOST_KEPT - 1).limit(1)
    )
    if oldest_kept is not None:
        forget_before(connection, oldest_kept)


def _is_of(repository: str, issue: int, role: str) -> sa.ColumnElement[bool]:
    return sa.and_(
        _COLUMNS.repository == repository, _COLUMNS.issue == issue, _COLUMNS.role == role
    )
