"""Providers of models that are away, and who waits for which until when."""

import sqlalchemy as sa
from alembic import op

revision = "0021"
down_revision = "0020"


def upgrade() -> None:
    """Add the table and the columns."""
    op.create_table(
        "sq_outages",
        sa.Column("provider", sa.Text(), primary_key=True),
        sa.Column("reason", sa.Text(), nullable=False),
        sa.Column("is_refused", sa.Boolean(), nullable=False),
        sa.Column("since", sa.DateTime(timezone=True), nullable=False),
        sa.Column("tries", sa.Integer(), nullable=False),
        sa.Column("retry_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("probe", sa.Text(), nullable=False),
        sa.Column("probe_until", sa.DateTime(timezone=True), nullable=True),
    )
    op.add_column("sq_agents", sa.Column("retry_at", sa.DateTime(timezone=True), nullable=True))
    op.add_column("sq_agents", sa.Column("missing_provider", sa.Text(), nullable=True))
