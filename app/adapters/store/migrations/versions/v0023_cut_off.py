"""Processes that ended themselves since they had lost the database."""

import sqlalchemy as sa
from alembic import op

revision = "0023"
down_revision = "0022"


def upgrade() -> None:
    """Add the table."""
    op.create_table(
        "sq_cut_off",
        sa.Column("worker", sa.Text(), primary_key=True),
        sa.Column("at", sa.DateTime(timezone=True), nullable=False),
    )
