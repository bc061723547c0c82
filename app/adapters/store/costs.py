"""What model calls have cost, and whom that is put down to.

A call's row is written with its `ModelCalled` event, in one transaction, so the figures are those
of the logs whatever crashed or was repeated.
"""

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any, Final

import sqlalchemy as sa

from app.adapters.store.tables import AGENTS, SPEND
from app.core.agents.agent import AgentId
from app.core.agents.events import AgentEvent, ModelCalled
from app.core.money import CostsBy
from app.ports import Cost, SpentUntil

_INSERT: Final = sa.insert(SPEND)
_ISSUE: Final = AGENTS.c.repository + "#" + sa.cast(AGENTS.c.issue, sa.Text)
_KEYS: Final[Mapping[CostsBy, sa.ColumnElement[str]]] = {
    CostsBy.ISSUE: _ISSUE,
    CostsBy.ROLE: AGENTS.c.role,
    CostsBy.USER: sa.func.lower(AGENTS.c.started_by),
    CostsBy.MODEL: SPEND.c.model,
    CostsBy.REPOSITORY: AGENTS.c.repository,
    CostsBy.AGENT: AGENTS.c.id,
}


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
    """The calls from `since` up to `until`, itself excluded, added up; dearest first."""
    key = _KEYS[by].label("key")
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
        .order_by(nanousd.desc(), key)
    )
    if since is not None:
        wanted = wanted.where(SPEND.c.at >= since)
    if until is not None:
        wanted = wanted.where(SPEND.c.at < until)
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
