"""What the last pass of reconciliation has cost."""

import sqlalchemy as sa
from alembic import op

revision = "0009"
down_revision = "0008"


def upgrade() -> None:
    """Make the table; no pass has ended yet."""
    op.create_table(
        "sq_last_pass",
        sa.Column("id", sa.Integer(), primary_key=True, autoincrement=False),
        sa.Column("why", sa.Text(), nullable=False),
        sa.Column("ended_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("seconds", sa.Double(), nullable=False),
        sa.Column("agents", sa.Integer(), nullable=False),
        sa.Column("repositories", sa.Integer(), nullable=False),
        sa.Column("looked_at_fully", sa.Integer(), nullable=False),
        sa.Column("repairs", sa.Integer(), nullable=False),
        sa.Column("requests", sa.Integer(), nullable=False),
        sa.Column("unchanged", sa.Integer(), nullable=False),
        sa.Column("token_requests", sa.Integer(), nullable=False),
        sa.Column("put_off", sa.Text(), nullable=False),
    )
