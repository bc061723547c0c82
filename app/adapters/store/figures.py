"""The registry in figures, and the stops of the past with what became of them."""

from collections.abc import Sequence
from datetime import datetime
from typing import Final

import sqlalchemy as sa

from app.adapters.store.codec import decode_agent, decode_event
from app.adapters.store.tables import AGENTS, EFFECTS, EVENTS
from app.core.agents.agent import EffectName, EffectState
from app.core.agents.events import AgentEvent, Held, Tripped
from app.core.agents.lifecycle import State
from app.core.history.agent_history import History
from app.core.history.precision import TOLD_BY
from app.ports import RegistryFigures

_STOPS: Final = (Tripped.__name__, Held.__name__)
_TOLD_BY: Final = tuple(each.__name__ for each in TOLD_BY)


def of_registry(connection: sa.Connection) -> RegistryFigures:
    """As of now."""
    count = sa.func.count().label("times")
    of_agents = connection.execute(
        sa.select(AGENTS.c.state, AGENTS.c.role, count)
        .where(AGENTS.c.parent.is_(None))
        .group_by(AGENTS.c.state, AGENTS.c.role)
    )
    queued_since = connection.scalar(
        sa.select(sa.func.min(AGENTS.c.updated_at, type_=AGENTS.c.updated_at.type)).where(
            AGENTS.c.state == State.QUEUED.value,
            AGENTS.c.waits_for.is_(None),
            AGENTS.c.parent.is_(None),
        )
    )
    of_effects = connection.execute(
        sa.select(EFFECTS.c.name, EFFECTS.c.state, count)
        .where(EFFECTS.c.state != EffectState.DONE.value)
        .group_by(EFFECTS.c.name, EFFECTS.c.state)
    )
    of_providers = connection.execute(
        sa.select(AGENTS.c.missing_provider, count)
        .where(AGENTS.c.missing_provider.is_not(None), AGENTS.c.state == State.QUEUED.value)
        .group_by(AGENTS.c.missing_provider)
    )
    return RegistryFigures(
        agents={(State(row.state), row.role): row.times for row in of_agents},
        queued_since=queued_since,
        unwritten={(EffectName(row.name), EffectState(row.state)): row.times for row in of_effects},
        waiting_for_provider={row.missing_provider: row.times for row in of_providers},
    )


def stopped_since(connection: sa.Connection, since: datetime) -> Sequence[History]:
    """Agents that a limit has stopped or paused since then, and all others of their posts, oldest
    first: each with the events of its log that say what became of that."""
    stopped = sa.select(EVENTS.c.agent_id).where(EVENTS.c.type.in_(_STOPS), EVENTS.c.at >= since)
    posts = sa.select(AGENTS.c.post).where(AGENTS.c.id.in_(stopped))
    rows = connection.execute(
        sa.select(AGENTS)
        .where(AGENTS.c.post.in_(posts))
        .order_by(AGENTS.c.created_at, AGENTS.c.post, AGENTS.c.attempt)
    )
    agents = [decode_agent(row) for row in rows.mappings()]
    told: dict[str, list[AgentEvent]] = {str(agent.id): [] for agent in agents}
    events = connection.execute(
        sa.select(EVENTS.c.agent_id, EVENTS.c.body)
        .join_from(EVENTS, AGENTS, EVENTS.c.agent_id == AGENTS.c.id)
        .where(AGENTS.c.post.in_(posts), EVENTS.c.type.in_(_TOLD_BY))
        .order_by(EVENTS.c.agent_id, EVENTS.c.seq)
    )
    for row in events:
        told[row.agent_id].append(decode_event(row.body))
    return [History(agent, told[str(agent.id)]) for agent in agents]
