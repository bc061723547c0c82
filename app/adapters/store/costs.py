"""What model calls have cost, and whom that is put down to.

A call's row is written with its `ModelCalled` event, in one transaction, so the figures are those
of the logs whatever crashed or was repeated.
"""

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime, time, timedelta
from typing import Any, Final

import sqlalchemy as sa

from app.adapters.store.tables import AGENTS, EVENTS, SPEND, SPENT_DAYS
from app.core.agents.agent import AgentId
from app.core.agents.events import AgentEvent, Finished, ModelCalled
from app.core.agents.lifecycle import State
from app.core.money import CostsBy
from app.ports import Cost, SpentUntil

_INSERT: Final = sa.insert(SPEND)
_ISSUE: Final = AGENTS.c.repository + "#" + sa.cast(AGENTS.c.issue, sa.Text)
_OF_AGENTS: Final[Mapping[CostsBy, sa.ColumnElement[str]]] = {
    CostsBy.ISSUE: _ISSUE,
    CostsBy.ROLE: AGENTS.c.role,
    CostsBy.USER: sa.func.lower(AGENTS.c.started_by),
    CostsBy.REPOSITORY: AGENTS.c.repository,
    CostsBy.AGENT: AGENTS.c.id,
}
"""Whom something is put down to, but for models and days."""
_COUNTED: Final = ("unknown_calls", "estimated_calls", "input_tokens", "output_tokens")
_SPENT: Final = ("agent_id", "day", "model", "nanousd", *_COUNTED)
_INSTANT: Final = timedelta(microseconds=1)
"""The shortest time between two instants."""
_PULL_REQUEST: Final = AGENTS.c.repository + "#" + sa.cast(AGENTS.c.pull_request, sa.Text)
_IS_MERGED: Final = sa.and_(
    EVENTS.c.type == Finished.__name__,
    ~EVENTS.c.body.contains('"since":null'),
    AGENTS.c.state == State.COMPLETED.value,
    AGENTS.c.pull_request.is_not(None),
)
"""It ended by something that happened on GitHub (`Report.is_merged`)."""


def rows(agent: str, first_seq: int, events: Sequence[AgentEvent]) -> list[Mapping[str, Any]]:
    """A row for each model call among `events`, which follow each other in the agent's log."""
    return [
        {
            "agent_id": agent,
            "seq": seq,
            "at": event.at,
            "model": event.model,
            "nanousd": event.cost_nanousd,
            "input_tokens": event.input_tokens,
            "output_tokens": event.output_tokens,
            "is_estimate": int(event.is_estimate),
        }
        for seq, event in enumerate(events, first_seq)
        if isinstance(event, ModelCalled)
    ]


def record(connection: sa.Connection, spent: Sequence[Mapping[str, Any]]) -> None:
    """Write rows of events that are written in the same transaction."""
    if spent:
        connection.execute(_INSERT, spent)


def in_time(connection: sa.Connection, agent: AgentId, points: int) -> Sequence[SpentUntil]:
    """What an agent's calls had cost after each part of them: so many parts, or one for each."""
    calls = (
        sa.select(
            SPEND.c.at,
            SPEND.c.seq,
            SPEND.c.nanousd,
            (sa.func.row_number().over(order_by=SPEND.c.seq) - 1).label("place"),
            sa.func.count().over().label("calls"),
        )
        .where(SPEND.c.agent_id == str(agent))
        .subquery()
    )
    part = calls.c.place * points // calls.c.calls
    nanousd = sa.func.coalesce(sa.func.sum(calls.c.nanousd), 0)
    asked = sa.select(sa.func.max(calls.c.at), nanousd).group_by(part).order_by(part)
    found, total = list[SpentUntil](), 0
    for at, spent in connection.execute(asked):
        total += int(spent)
        found.append(SpentUntil(at, total))
    return found


def costs(
    connection: sa.Connection, by: CostsBy, since: datetime | None, until: datetime | None
) -> Sequence[Cost]:
    """The calls from `since` up to `until`, itself excluded, added up; dearest first, or the last
    day first."""
    spent = _spent(connection, since, until)
    key = {CostsBy.DAY: spent.c.day, CostsBy.MODEL: spent.c.model, **_OF_AGENTS}[by].label("key")
    nanousd = sa.func.sum(spent.c.nanousd).label("nanousd")
    wanted = (
        sa.select(
            key,
            nanousd,
            *(sa.func.sum(spent.c[name]).label(name) for name in _COUNTED),
            sa.func.count(spent.c.agent_id.distinct()).label("agents"),
        )
        .join_from(spent, AGENTS, spent.c.agent_id == AGENTS.c.id)
        .group_by(key)
        .order_by(*([key.desc()] if by is CostsBy.DAY else [nanousd.desc(), key]))
    )
    return [
        Cost(
            key=row.key,
            nanousd=int(row.nanousd),
            agents=row.agents,
            **{name: int(row._mapping[name]) for name in _COUNTED},
        )
        for row in connection.execute(wanted)
    ]


def _spent(
    connection: sa.Connection, since: datetime | None, until: datetime | None
) -> sa.Subquery:
    """Whole days from their sums, the rest of the time from the calls in it."""
    first = None if since is None else _midnight(since + timedelta(days=1) - _INSTANT)
    last = None if until is None else _midnight(until)
    if first is not None and last is not None and first >= last:
        return _calls(connection, since, until).subquery()
    days = sa.select(*(SPENT_DAYS.c[name] for name in _SPENT))
    if first is not None:
        days = days.where(SPENT_DAYS.c.day >= first.date().isoformat())
    if last is not None:
        days = days.where(SPENT_DAYS.c.day < last.date().isoformat())
    parts = [days]
    if since != first:
        parts.append(_calls(connection, since, first))
    if until != last:
        parts.append(_calls(connection, last, until))
    return sa.union_all(*parts).subquery()


def _calls(
    connection: sa.Connection, since: datetime | None, until: datetime | None
) -> sa.Select[Any]:
    """One by one, as sums have them."""
    nanousd = SPEND.c.nanousd
    return sa.select(
        SPEND.c.agent_id,
        _day(connection, SPEND.c.at).label("day"),
        SPEND.c.model,
        sa.func.coalesce(nanousd, 0).label("nanousd"),
        sa.case((nanousd.is_(None), 1), else_=0).label("unknown_calls"),
        sa.func.coalesce(SPEND.c.is_estimate, 0).label("estimated_calls"),
        SPEND.c.input_tokens,
        SPEND.c.output_tokens,
    ).where(*_within(SPEND.c.at, since, until))


def _midnight(at: datetime) -> datetime:
    """With which the day begins, in UTC."""
    return datetime.combine(at.astimezone(UTC).date(), time(), UTC)


def merged(
    connection: sa.Connection, by: CostsBy, since: datetime | None, until: datetime | None
) -> Mapping[str, int]:
    """How many pull requests of agents were merged in that time, by the key of their cost."""
    if by is CostsBy.MODEL:
        return {}
    day = _day(connection, EVENTS.c.at)
    key = (day if by is CostsBy.DAY else _OF_AGENTS[by]).label("key")
    wanted = (
        sa.select(key, sa.func.count(_PULL_REQUEST.distinct()).label("merged"))
        .join_from(EVENTS, AGENTS, EVENTS.c.agent_id == AGENTS.c.id)
        .where(_IS_MERGED, *_within(EVENTS.c.at, since, until))
        .group_by(key)
    )
    return {row.key: row.merged for row in connection.execute(wanted)}


def _day(connection: sa.Connection, at: sa.ColumnElement[datetime]) -> sa.ColumnElement[str]:
    if connection.dialect.name == "sqlite":
        return sa.func.strftime("%Y-%m-%d", at, type_=sa.Text)
    return sa.func.to_char(sa.func.timezone("UTC", at), "YYYY-MM-DD", type_=sa.Text)


def _within(
    at: sa.ColumnElement[datetime], since: datetime | None, until: datetime | None
) -> Sequence[sa.ColumnElement[bool]]:
    begins = [] if since is None else [at >= since]
    return begins if until is None else [*begins, at < until]
