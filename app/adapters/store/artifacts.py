"""What is kept of agents where every worker reaches it: here, in the database."""

from collections.abc import Sequence
from datetime import datetime

import sqlalchemy as sa

from app.adapters.store import registry
from app.adapters.store.dialects import insert
from app.adapters.store.tables import AGENTS, ARTIFACTS
from app.core.agents.agent import Agent, AgentId
from app.core.agents.lifecycle import FINAL
from app.ports import Artifact, ArtifactKind


def find(connection: sa.Connection, agent: AgentId, kind: ArtifactKind) -> Artifact | None:
    """None: nothing was kept."""
    asked = sa.select(ARTIFACTS.c.content, ARTIFACTS.c.model_calls).where(
        ARTIFACTS.c.agent_id == str(agent), ARTIFACTS.c.kind == kind.value
    )
    row = connection.execute(asked).one_or_none()
    return None if row is None else Artifact(row.content, row.model_calls)


def keep(connection: sa.Connection, seen: Agent, kind: ArtifactKind, artifact: Artifact) -> bool:
    """In the place of what was kept before. False if the agent has gone on since it was seen."""
    if not registry.is_as_seen(connection, seen):
        return False
    values = {"content": artifact.content, "model_calls": artifact.model_calls}
    connection.execute(
        insert(connection, ARTIFACTS)
        .values(agent_id=str(seen.id), kind=kind.value, **values)
        .on_conflict_do_update(index_elements=[ARTIFACTS.c.agent_id, ARTIFACTS.c.kind], set_=values)
    )
    return True


def of_ended(connection: sa.Connection, before: datetime) -> Sequence[AgentId]:
    """Of whom something is kept although they ended before an instant."""
    found = connection.scalars(
        sa.select(AGENTS.c.id)
        .where(AGENTS.c.state.in_([state.value for state in FINAL]), AGENTS.c.updated_at < before)
        .where(sa.exists().where(ARTIFACTS.c.agent_id == AGENTS.c.id))
        .order_by(AGENTS.c.id)
    )
    return [AgentId.parse(each) for each in found]


def forget(connection: sa.Connection, agent: AgentId) -> None:
    """Keep nothing of it any longer."""
    connection.execute(sa.delete(ARTIFACTS).where(ARTIFACTS.c.agent_id == str(agent)))
