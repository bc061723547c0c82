"""Starts that wait and that somebody took back before they began."""

import sqlalchemy as sa
from alembic import op

revision = "0014"
down_revision = "0013"


def upgrade() -> None:
    """Add the columns; nobody could take back what waited before."""
    op.add_column("sq_waiting_starts", sa.Column("taken_back_at", sa.DateTime(timezone=True)))
    op.add_column("sq_waiting_starts", sa.Column("taken_back_said", sa.Text()))
