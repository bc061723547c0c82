"""What model calls have cost, and whom that is put down to.

A call's row is written with its `ModelCalled` event, in one transaction, so the figures are those
of the logs whatever crashed or was repeated.
"""

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any, Final

import sqlalchemy as sa

from app.adapters.store.tables import AGENTS, EVENTS, SPEND
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
    if by is CostsBy.MODEL:
        key = SPEND.c.model.label("key")
    else:
        key = _key(connection, by, SPEND.c.at).label("key")
    nanousd = sa.func.coalesce(sa.func.sum(SPEND.c.nanousd), 0).label("nanousd")
    wanted = (
        sa.select(
            key,
            nanousd,
            (sa.func.count() - sa.func.count(SPEND.c.nanousd)).label("unknown_calls"),
            sa.func.coalesce(sa.func.sum(SPEND.c.is_estimate), 0).label("estimated_calls"),
            sa.func.sum(SPEND.c.input_tokens).label("input_tokens"),
            sa.func.sum(SPEND.c.output_tokens).label("output_tokens"),
            sa.func.count(SPEND.c.agent_id.distinct()).label("agents"),
        )
        .join_from(SPEND, AGENTS, SPEND.c.agent_id == AGENTS.c.id)
        .group_by(key)
        .order_by(*([key.desc()] if by is CostsBy.DAY else [nanousd.desc(), key]))
    )
    wanted = wanted.where(*_within(SPEND.c.at, since, until))
    return [
        Cost(
            key=row.key,
            nanousd=int(row.nanousd),
            unknown_calls=row.unknown_calls,
            estimated_calls=int(row.estimated_calls),
            input_tokens=int(row.input_tokens),
            output_tokens=int(row.output_tokens),
            agents=row.agents,
        )
        for row in connection.execute(wanted)
    ]


def merged(
    connection: sa.Connection, by: CostsBy, since: datetime | None, until: datetime | None
) -> Mapping[str, int]:
    """How many pull requests of agents were merged in that time, by the key of their cost."""
    if by is CostsBy.MODEL:
        return {}
    key = _key(connection, by, EVENTS.c.at).label("key")
    wanted = (
        sa.select(key, sa.func.count(_PULL_REQUEST.distinct()).label("merged"))
        .join_from(EVENTS, AGENTS, EVENTS.c.agent_id == AGENTS.c.id)
        .where(_IS_MERGED, *_within(EVENTS.c.at, since, until))
        .group_by(key)
    )
    return {row.key: row.merged for row in connection.execute(wanted)}


def _key(
    connection: sa.Connection, by: CostsBy, at: sa.ColumnElement[datetime]
) -> sa.ColumnElement[str]:
    if by is not CostsBy.DAY:
        return _OF_AGENTS[by]
    if connection.dialect.name == "sqlite":
        return sa.func.strftime("%Y-%m-%d", at, type_=sa.Text)
    return sa.func.to_char(sa.func.timezone("UTC", at), "YYYY-MM-DD", type_=sa.Text)


def _within(
    at: sa.ColumnElement[datetime], since: datetime | None, until: datetime | None
) -> Sequence[sa.ColumnElement[bool]]:
    begins = [] if since is None else [at >= since]
    return begins if until is None else [*begins, at < until]
