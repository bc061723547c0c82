"""Where the files of each agent are."""

import sqlalchemy as sa

from app.adapters.store import log, registry
from app.adapters.store.dialects import insert
from app.adapters.store.tables import WHEREABOUTS
from app.core.agents.agent import Agent, AgentId
from app.core.agents.events import FilesMoved
from app.ports import Whereabouts


def of(connection: sa.Connection, agent: AgentId) -> Whereabouts | None:
    """None: nobody has noted it."""
    asked = sa.select(WHEREABOUTS).where(WHEREABOUTS.c.agent_id == str(agent))
    row = connection.execute(asked).mappings().one_or_none()
    return None if row is None else Whereabouts(row["directory"], row["generation"])


def note(
    connection: sa.Connection, seen: Agent, now: Whereabouts, moved: FilesMoved | None
) -> bool:
    """Together with what is to be told of it. False if the agent has gone on since it was seen:
    then its files may be elsewhere."""
    if not registry.is_as_seen(connection, seen):
        return False
    if moved is not None:
        log.add(connection, seen.id, seen.segment, [moved])
    values = {"directory": now.directory, "generation": now.generation}
    connection.execute(
        insert(connection, WHEREABOUTS)
        .values(agent_id=str(seen.id), **values)
        .on_conflict_do_update(index_elements=[WHEREABOUTS.c.agent_id], set_=values)
    )
    return True
