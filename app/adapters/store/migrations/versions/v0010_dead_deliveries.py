"""Deliveries that were given up, and why."""

import sqlalchemy as sa
from alembic import op

revision = "0010"
down_revision = "0009"


def upgrade() -> None:
    """Add the columns; nothing was given up yet."""
    op.add_column("sq_deliveries", sa.Column("problem", sa.Text()))
    op.add_column("sq_deliveries", sa.Column("given_up_at", sa.DateTime(timezone=True)))
    op.create_index(
        "sq_deliveries_dead",
        "sq_deliveries",
        ["given_up_at"],
        sqlite_where=sa.text("given_up_at IS NOT NULL"),
        postgresql_where=sa.text("given_up_at IS NOT NULL"),
    )
