"""It is known in which data directory the files of each agent are, and as of when; what they hold
is kept for other directories."""

import sqlalchemy as sa
from alembic import op

revision = "0030"
down_revision = "0029"


def upgrade() -> None:
    """Filled where an agent begins for the next time; its files count as they are until then."""
    op.create_table(
        "sq_whereabouts",
        sa.Column("agent_id", sa.Text(), sa.ForeignKey("sq_agents.id"), primary_key=True),
        sa.Column("directory", sa.Text(), nullable=False),
        sa.Column("generation", sa.Integer(), nullable=False),
    )
    op.create_table(
        "sq_artifacts",
        sa.Column("agent_id", sa.Text(), sa.ForeignKey("sq_agents.id"), primary_key=True),
        sa.Column("kind", sa.Text(), primary_key=True),
        sa.Column("content", sa.LargeBinary(), nullable=False),
        sa.Column("model_calls", sa.Integer(), nullable=False),
    )
