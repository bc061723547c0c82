"""The rank of who joins the queue, worked out where it joins (`core/agents/queueing.py`).

Two processes that queue at the same instant do not see each other's agents: both may give the same
rank. That puts one agent of a repository beside its other instead of behind it, and no more.
"""

import sqlalchemy as sa

from app.adapters.store.tables import AGENTS
from app.core.agents.lifecycle import State
from app.core.agents.queueing import next_rank


def of_the_next(connection: sa.Connection, repository: str) -> int:
    """The rank of an agent of a repository that is queued now."""
    highest = sa.func.coalesce(sa.func.max(AGENTS.c.rank), 0)
    at_work = AGENTS.c.state == State.ACTIVE.value
    in_line = AGENTS.c.state == State.QUEUED.value
    row = connection.execute(
        sa.select(
            sa.select(highest).where(at_work).scalar_subquery().label("at_work"),
            sa.select(highest)
            .where(at_work | in_line, AGENTS.c.repository == repository)
            .scalar_subquery()
            .label("of_repository"),
        )
    ).one()
    return next_rank(row.at_work, row.of_repository)
