"""What lists show of an agent is kept beside its log, and lists are read by page."""

import sqlalchemy as sa
from alembic import op

revision = "0035"
down_revision = "0034"


def upgrade() -> None:
    """The version before keeps none: what is missing is made from the logs."""
    op.create_table(
        "sq_glances",
        sa.Column("agent_id", sa.Text(), sa.ForeignKey("sq_agents.id"), primary_key=True),
        sa.Column("seq", sa.Integer(), nullable=False),
        sa.Column("body", sa.Text(), nullable=False),
    )
    op.create_index("sq_agents_created", "sq_agents", ["created_at", "id"])
