"""What is to be written on GitHub for each agent, and how far it has come."""

from collections.abc import Mapping, Sequence
from datetime import datetime

import sqlalchemy as sa

from app.adapters.store.codec import decode_effect, encode_effect
from app.adapters.store.dialects import insert
from app.adapters.store.tables import AGENTS, EFFECTS
from app.core.agents.agent import (
    MADE_AT,
    SETTLED,
    AgentId,
    Effect,
    EffectName,
    EffectState,
)


def save(connection: sa.Connection, agent: AgentId, effect: Effect) -> None:
    """Remember an effect as it is now."""
    columns = encode_effect(effect)
    connection.execute(
        insert(connection, EFFECTS)
        .values(agent_id=str(agent), **columns)
        .on_conflict_do_update(index_elements=["agent_id", "name"], set_=columns)
    )


def forget(connection: sa.Connection, agent: AgentId, name: EffectName) -> None:
    """From now on it is as if it had never been tried."""
    here = sa.and_(EFFECTS.c.agent_id == str(agent), EFFECTS.c.name == name.value)
    connection.execute(sa.delete(EFFECTS).where(here))


def of_agent(connection: sa.Connection, agent: AgentId) -> Mapping[EffectName, Effect]:
    """All effects of an agent, in the order of an escalation."""
    rows = connection.execute(sa.select(EFFECTS).where(EFFECTS.c.agent_id == str(agent))).mappings()
    found = {effect.name: effect for effect in map(decode_effect, rows)}
    return {name: found[name] for name in EffectName if name in found}


def ask_again(connection: sa.Connection, at: datetime, repository: str | None) -> None:
    """What waits for its time, or is refused, is due at once; `repository`: of its agents alone."""
    waits = sa.and_(EFFECTS.c.state != EffectState.DONE.value, EFFECTS.c.attempts > 0)
    if repository is not None:
        there = sa.select(AGENTS.c.id).where(AGENTS.c.repository == repository)
        waits = sa.and_(waits, EFFECTS.c.agent_id.in_(there))
    connection.execute(sa.update(EFFECTS).where(waits).values(due_at=at))


def failing(connection: sa.Connection) -> Sequence[tuple[AgentId, Effect]]:
    """What was tried in vain, and is wanted still."""
    waits = sa.and_(EFFECTS.c.state != EffectState.DONE.value, EFFECTS.c.attempts > 0)
    rows = connection.execute(sa.select(EFFECTS).where(waits).order_by(EFFECTS.c.agent_id))
    return [(AgentId.parse(row["agent_id"]), decode_effect(row)) for row in rows.mappings()]


def agents_with_new(connection: sa.Connection, changed_since: datetime) -> Sequence[AgentId]:
    """Agents that were moved since then, with an effect whose item was made and is not known to
    be there once only."""
    agents = connection.scalars(
        sa.select(EFFECTS.c.agent_id)
        .distinct()
        .join_from(EFFECTS, AGENTS, EFFECTS.c.agent_id == AGENTS.c.id)
        .where(
            AGENTS.c.updated_at >= changed_since,
            EFFECTS.c.state == EffectState.DONE.value,
            _has_detail(MADE_AT),
            sa.not_(_has_detail(SETTLED)),
        )
        .order_by(EFFECTS.c.agent_id)
    )
    return [AgentId.parse(agent) for agent in agents]


def _has_detail(name: str) -> sa.ColumnElement[bool]:
    """A quote within a JSON text is escaped, so that this is no text of people."""
    return EFFECTS.c.detail.contains(f'"{name}":', autoescape=True)


def agents_with_due(connection: sa.Connection, at: datetime) -> Sequence[AgentId]:
    """Agents with an effect that is due: wanted, or refused and to be asked for once more."""
    agents = connection.scalars(
        sa.select(EFFECTS.c.agent_id)
        .distinct()
        .where(
            sa.or_(
                sa.and_(EFFECTS.c.state == EffectState.WANTED.value, EFFECTS.c.due_at.is_(None)),
                sa.and_(EFFECTS.c.state != EffectState.DONE.value, EFFECTS.c.due_at <= at),
            )
        )
        .order_by(EFFECTS.c.agent_id)
    )
    return [AgentId.parse(agent) for agent in agents]
