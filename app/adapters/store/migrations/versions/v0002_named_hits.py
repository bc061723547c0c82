"""What counts once in a user's hour, whoever hears of it."""

import sqlalchemy as sa
from alembic import op

revision = "0002"
down_revision = "0001"


def upgrade() -> None:
    """Make the table; what was counted before has no names."""
    op.create_table(
        "sq_named_hits",
        sa.Column("login", sa.Text(), primary_key=True),
        sa.Column("what", sa.Text(), primary_key=True),
        sa.Column("is_counted", sa.Integer(), nullable=False),
    )
