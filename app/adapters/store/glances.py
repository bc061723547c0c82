"""What lists show of each agent, kept so that nobody reads a log for a list."""

from collections.abc import Sequence

import sqlalchemy as sa

from app.adapters.store.codec import decode_agent, encode_glance
from app.adapters.store.dialects import upsert
from app.adapters.store.tables import AGENTS, EVENTS, GLANCES
from app.core.agents.agent import Agent, AgentId
from app.core.agents.lifecycle import State
from app.core.words.glance import NotedGlance


def note(connection: sa.Connection, agent: AgentId, now: NotedGlance) -> None:
    """What was taken of more of the log stays."""
    values = {"agent_id": str(agent), "seq": now.seq, "body": encode_glance(now.seen)}
    connection.execute(upsert(connection.dialect.name, GLANCES, latest_by="seq"), values)


def behind(connection: sa.Connection, most: int) -> Sequence[Agent]:
    """Agents whose log has events of which no glance was taken, those that were moved last first.
    Who is at work is left out: its segment takes them as it goes on."""
    has_more = sa.exists().where(EVENTS.c.agent_id == AGENTS.c.id, EVENTS.c.seq > GLANCES.c.seq)
    wanted = (
        sa.select(AGENTS)
        .outerjoin(GLANCES, GLANCES.c.agent_id == AGENTS.c.id)
        .where(AGENTS.c.state != State.ACTIVE.value)
        .where(sa.or_(GLANCES.c.agent_id.is_(None), has_more))
        .order_by(AGENTS.c.updated_at.desc(), AGENTS.c.id)
        .limit(most)
    )
    return [decode_agent(row) for row in connection.execute(wanted).mappings()]
