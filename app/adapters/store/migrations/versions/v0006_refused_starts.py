"""Starts that were asked for and not made."""

import sqlalchemy as sa
from alembic import op

revision = "0006"
down_revision = "0005"


def upgrade() -> None:
    """Make the table."""
    op.create_table(
        "sq_refused_starts",
        sa.Column("repository", sa.Text(), primary_key=True),
        sa.Column("issue", sa.BigInteger(), primary_key=True, autoincrement=False),
        sa.Column("role", sa.Text(), primary_key=True),
        sa.Column("reason", sa.Text(), nullable=False),
        sa.Column("asked_by", sa.Text(), nullable=False),
        sa.Column("at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("first_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("times", sa.Integer(), nullable=False),
    )
    op.create_index("sq_refused_starts_at", "sq_refused_starts", ["at"])
