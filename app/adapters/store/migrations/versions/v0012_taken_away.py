"""Agents whose work was taken away, and that are being stopped."""

import sqlalchemy as sa
from alembic import op

revision = "0012"
down_revision = "0011"


def upgrade() -> None:
    """Add the column; whoever was cancelled before has ended."""
    op.add_column("sq_agents", sa.Column("taken_away_at", sa.DateTime(timezone=True)))
