"""Starts that are put off, and those that were taken back before they began."""

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Final

import sqlalchemy as sa

from app.adapters.store.codec import decode_waiting_start, encode_task, encode_waiting_start
from app.adapters.store.dialects import insert
from app.adapters.store.tables import WAITING_STARTS
from app.ports import TakenBack, WaitingStart

_COLUMNS: Final = WAITING_STARTS.c
_WAITS: Final = _COLUMNS.taken_back_at.is_(None)


def wait(connection: sa.Connection, start: WaitingStart) -> bool:
    """Let the start wait; if it waits already, only the budget and when it is due are news, and
    its text where nobody has told that before. Who asks after it was taken back asks anew."""
    row = encode_waiting_start(start)
    here = _is_of(start.order.repository.full_name, start.order.issue, start.order.role)
    is_old = _COLUMNS.taken_back_at < start.asked_at
    connection.execute(sa.delete(WAITING_STARTS).where(here, is_old))
    inserted = connection.scalar(
        insert(connection, WAITING_STARTS)
        .values(row)
        .on_conflict_do_nothing()
        .returning(_COLUMNS.repository)
    )
    if inserted is None:
        is_untold = _COLUMNS.task == encode_task(None)
        task = sa.case((is_untold, row["task"]), else_=_COLUMNS.task)
        connection.execute(
            sa.update(WAITING_STARTS)
            .where(here, _WAITS)
            .values(due_at=start.due_at, budget=start.budget, task=task)
        )
    return inserted is not None


def due(connection: sa.Connection, before: datetime) -> Sequence[WaitingStart]:
    """Those to be tried again at `before` or earlier, in the order in which they were asked for."""
    rows = connection.execute(
        sa.select(WAITING_STARTS)
        .where(_COLUMNS.due_at <= before, _WAITS)
        .order_by(_COLUMNS.asked_at, _COLUMNS.repository, _COLUMNS.issue, _COLUMNS.role)
    )
    return [decode_waiting_start(row) for row in rows.mappings()]


def forget(connection: sa.Connection, repository: str, issue: int, role: str) -> None:
    """The start was made, or nobody wants it any more. That it was taken back stays."""
    connection.execute(sa.delete(WAITING_STARTS).where(_is_of(repository, issue, role), _WAITS))


def take_back(
    connection: sa.Connection, repository: str, issue: int, role: str, told: TakenBack
) -> bool:
    """Whether it waited."""
    taken = connection.execute(
        sa.update(WAITING_STARTS)
        .where(_is_of(repository, issue, role), _WAITS)
        .values(taken_back_at=told.at, taken_back_said=told.said)
        .returning(_COLUMNS.role)
    )
    return taken.first() is not None


def taken_back(connection: sa.Connection, repository: str, issue: int) -> Mapping[str, TakenBack]:
    """Those of one issue, by role."""
    rows = connection.execute(
        sa.select(WAITING_STARTS).where(
            _COLUMNS.repository == repository, _COLUMNS.issue == issue, ~_WAITS
        )
    )
    return {
        row["role"]: TakenBack(row["taken_back_said"], row["taken_back_at"])
        for row in rows.mappings()
    }


def forget_taken_back(connection: sa.Connection, before: datetime) -> None:
    """Nothing that asked for them can be heard of any more."""
    connection.execute(sa.delete(WAITING_STARTS).where(_COLUMNS.taken_back_at < before))


def _is_of(repository: str, issue: int, role: str) -> sa.ColumnElement[bool]:
    return sa.and_(
        _COLUMNS.repository == repository, _COLUMNS.issue == issue, _COLUMNS.role == role
    )
