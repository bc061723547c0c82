"""Repositories share the queue: each agent in it has a rank, and the lowest is run first."""

import sqlalchemy as sa
from alembic import op

revision = "0032"
down_revision = "0031"


def upgrade() -> None:
    """Who is in line keeps to its place: it is ahead of all who come, by when it came. An agent
    that the version before queues has no rank, and is run at once."""
    op.add_column(
        "sq_agents", sa.Column("rank", sa.Integer(), nullable=False, server_default=sa.text("0"))
    )
    op.execute(
        "UPDATE sq_agents SET rank = 1"
        " WHERE state = 'QUEUED' AND waits_for IS NULL AND parent IS NULL"
    )
    op.create_index("sq_agents_rank", "sq_agents", ["state", "repository", "rank"])
