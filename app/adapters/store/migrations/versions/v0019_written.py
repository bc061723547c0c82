"""What people write to agents while they work or wait for their turn."""

import sqlalchemy as sa
from alembic import op

revision = "0019"
down_revision = "0018"


def upgrade() -> None:
    """Add the table."""
    op.create_table(
        "sq_written",
        sa.Column("agent_id", sa.Text(), primary_key=True),
        sa.Column("said", sa.Text(), primary_key=True),
        sa.Column("written_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("comment", sa.BigInteger(), nullable=False),
        sa.Column("login", sa.Text(), nullable=False),
        sa.Column("body", sa.Text(), nullable=False),
        sa.Column("link", sa.Text(), nullable=False),
    )
    op.create_index("sq_written_written_at", "sq_written", ["written_at"])
