"""Logs of agents that have ended long ago are packed."""

import sqlalchemy as sa
from alembic import op

revision = "0034"
down_revision = "0033"


def upgrade() -> None:
    """The version before does not read packed logs: none is packed while it works."""
    op.create_table(
        "sq_packed_logs",
        sa.Column("agent_id", sa.Text(), sa.ForeignKey("sq_agents.id"), primary_key=True),
        sa.Column("until_seq", sa.Integer(), nullable=False),
        sa.Column("body", sa.LargeBinary(), nullable=False),
    )
