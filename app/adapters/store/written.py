"""What people write to agents while these work or wait for their turn."""

from collections.abc import Sequence
from datetime import datetime
from typing import Final

import sqlalchemy as sa

from app.adapters.store.dialects import insert
from app.adapters.store.tables import WRITTEN
from app.core.agents.agent import AgentId
from app.ports import Written

_COLUMNS: Final = WRITTEN.c


def save(connection: sa.Connection, agent: AgentId, words: Written) -> bool:
    """Keep it for the agent; False if it was kept before."""
    row = {
        "agent_id": str(agent),
        "said": words.said,
        "written_at": words.at,
        "comment": words.comment,
        "login": words.by,
        "body": words.text,
        "link": words.link,
    }
    kept = insert(connection, WRITTEN).values(row).on_conflict_do_nothing()
    return connection.execute(kept.returning(_COLUMNS.said)).first() is not None


def to(connection: sa.Connection, agent: AgentId) -> Sequence[Written]:
    """Oldest first."""
    wanted = (
        sa.select(WRITTEN)
        .where(_COLUMNS.agent_id == str(agent))
        .order_by(_COLUMNS.written_at, _COLUMNS.comment)
    )
    return [
        Written(
            said=row["said"],
            at=row["written_at"],
            comment=row["comment"],
            by=row["login"],
            text=row["body"],
            link=row["link"],
        )
        for row in connection.execute(wanted).mappings()
    ]


def forget(connection: sa.Connection, before: datetime) -> None:
    """Forget what was written before that instant."""
    connection.execute(sa.delete(WRITTEN).where(_COLUMNS.written_at < before))
