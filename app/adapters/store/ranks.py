"""The queue (`core/agents/queueing.py`): the rank of who joins it, and where each agent stands.

A rank is worked out where an agent joins. Two processes that queue at the same instant do not see
each other's agents: both may give the same rank. That puts one agent of a repository beside its
other instead of behind it, and no more.
"""

from collections.abc import Collection, Mapping

import sqlalchemy as sa

from app.adapters.store.tables import AGENTS
from app.core.agents.agent import AgentId
from app.core.agents.lifecycle import State
from app.core.agents.queueing import QueuePlace, next_rank


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


def places(
    connection: sa.Connection, of: Collection[AgentId] | None = None
) -> Mapping[AgentId, QueuePlace]:
    """Where those stand that wait for a worker, or these of them, in the order in which they are
    run: by rank, and of the same rank first come, first served. Sub-agents are run by their
    parents, and who is held back, or waits for something else, as for a model's provider, is ahead
    of nobody: none of these has a rank."""
    order = (AGENTS.c.rank, AGENTS.c.updated_at, AGENTS.c.id)
    of_all = sa.func.row_number().over(order_by=order)
    of_repository = sa.func.row_number().over(partition_by=AGENTS.c.repository, order_by=order)
    line = (
        sa.select(AGENTS.c.id, of_all.label("place"), of_repository.label("of_repository"))
        .where(AGENTS.c.state == State.QUEUED.value, AGENTS.c.parent.is_(None), AGENTS.c.rank > 0)
        .subquery()
    )
    asked = sa.select(line).order_by(line.c.place)
    if of is not None:
        asked = asked.where(line.c.id.in_([*map(str, of)]))
    rows = connection.execute(asked)
    return {AgentId.parse(row.id): QueuePlace(row.place, row.of_repository - 1) for row in rows}
