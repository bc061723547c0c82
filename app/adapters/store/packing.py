"""Logs of agents that have ended long ago are packed: one compressed row takes the place of many.

Nobody notices: `log.read` answers as before. Those events keep rows of their own that are asked
for across agents (`figures.stopped_since`); `log.warned` asks for the last hour alone.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Final

import sqlalchemy as sa

from app.adapters.store import log
from app.adapters.store.codec import encode_log
from app.adapters.store.dialects import upsert
from app.adapters.store.tables import AGENTS, EVENTS, PACKED_LOGS
from app.core.agents.lifecycle import FINAL
from app.core.history.precision import TOLD_BY

MOST_AT_ONCE: Final = 200
"""Logs that one call packs: a large one takes 20 ms of the writer."""

_KEPT: Final = tuple(kind.__name__ for kind in TOLD_BY)


@dataclass(frozen=True, slots=True)
class Packed:
    """A log as it was when it was read."""

    agent: str
    until_seq: int
    body: bytes


def due(connection: sa.Connection, before: datetime) -> Sequence[str]:
    """Agents that ended before an instant, and whose log is not packed, or has grown after it was:
    those that ended first, at most `MOST_AT_ONCE`."""
    has_grown = sa.exists().where(
        EVENTS.c.agent_id == AGENTS.c.id, EVENTS.c.seq > PACKED_LOGS.c.until_seq
    )
    return connection.scalars(
        sa.select(AGENTS.c.id)
        .outerjoin(PACKED_LOGS, PACKED_LOGS.c.agent_id == AGENTS.c.id)
        .where(AGENTS.c.state.in_([state.value for state in FINAL]), AGENTS.c.updated_at < before)
        .where(sa.or_(PACKED_LOGS.c.agent_id.is_(None), has_grown))
        .order_by(AGENTS.c.updated_at, AGENTS.c.id)
        .limit(MOST_AT_ONCE)
    ).all()


def pack(connection: sa.Connection, agent: str) -> Packed:
    """Its log as it is now; nothing is changed."""
    events = log.read_encoded(connection, agent)
    return Packed(agent, len(events), encode_log(events))


def keep(connection: sa.Connection, packed: Packed) -> bool:
    """In the place of the events. False if the agent was given further ones meanwhile."""
    agent = packed.agent
    its = sa.select(AGENTS.c.id).where(AGENTS.c.id == agent)
    connection.execute(its.with_for_update(key_share=True)).one()
    if log.following(connection, [agent])[agent] != packed.until_seq + 1:
        return False
    connection.execute(
        upsert(connection.dialect.name, PACKED_LOGS),
        {"agent_id": agent, "until_seq": packed.until_seq, "body": packed.body},
    )
    connection.execute(
        sa.delete(EVENTS).where(
            EVENTS.c.agent_id == agent,
            EVENTS.c.seq <= packed.until_seq,
            EVENTS.c.type.not_in(_KEPT),
        )
    )
    return True
