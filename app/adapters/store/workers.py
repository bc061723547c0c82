"""The processes that work on this database: the engine writes their rows."""

from collections.abc import Mapping, Sequence
from datetime import datetime

import sqlalchemy as sa

from app.adapters.store.tables import AGENTS, WORKERS
from app.core.agents.agent import AgentId
from app.core.agents.lifecycle import State
from app.ports import Worker


def all_of(connection: sa.Connection, now: datetime) -> Sequence[Worker]:
    """The one that has worked for the longest first."""
    if connection.dialect.name == "postgresql":  # workers of several machines beat by its clock
        now = connection.execute(sa.select(sa.func.now())).scalar_one()
    rows = connection.execute(sa.select(WORKERS).order_by(WORKERS.c.started_at, WORKERS.c.name))
    agents = _agents(connection)
    return [
        Worker(
            name=row.name,
            version=row.version,
            places=row.places,
            started_at=row.started_at,
            heard_at=row.beat_at,
            quiet_seconds=max((now - row.beat_at).total_seconds(), 0.0),
            drain_asked_at=row.drain_asked_at,
            agents=tuple(agents.get(row.name, ())),
        )
        for row in rows
    ]


def ask_drain(connection: sa.Connection, name: str, at: datetime) -> bool:
    """Whether there is such a worker; who was asked before is not asked again."""
    asked = sa.func.coalesce(WORKERS.c.drain_asked_at, at)
    its = sa.update(WORKERS).where(WORKERS.c.name == name).values(drain_asked_at=asked)
    return connection.execute(its).rowcount == 1


def _agents(connection: sa.Connection) -> Mapping[str, list[AgentId]]:
    """Those at work, by worker."""
    at_work = sa.select(AGENTS.c.worker, AGENTS.c.id).where(
        AGENTS.c.state.in_((State.ACTIVE, State.STOPPING)),
        AGENTS.c.parent.is_(None),
    )
    found: dict[str, list[AgentId]] = {}
    for row in connection.execute(at_work.order_by(AGENTS.c.created_at, AGENTS.c.id)):
        found.setdefault(row.worker, []).append(AgentId.parse(row.id))
    return found
