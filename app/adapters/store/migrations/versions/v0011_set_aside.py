"""Commands of which nothing was done, because one of them was wrong."""

import sqlalchemy as sa
from alembic import op

revision = "0011"
down_revision = "0010"


def upgrade() -> None:
    """Add the column; nobody knows it of what was heard before."""
    op.add_column("sq_heard_commands", sa.Column("is_set_aside", sa.Integer()))
