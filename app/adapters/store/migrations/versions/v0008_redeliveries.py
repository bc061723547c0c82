"""What GitHub was asked to deliver again."""

import sqlalchemy as sa
from alembic import op

revision = "0008"
down_revision = "0007"

INSTANT = sa.DateTime(timezone=True)


def upgrade() -> None:
    """Make the tables; nothing was asked for yet."""
    op.create_table(
        "sq_redeliveries",
        sa.Column("guid", sa.Text(), primary_key=True),
        sa.Column("times", sa.Integer(), nullable=False),
        sa.Column("at", INSTANT, nullable=False),
    )
    op.create_table(
        "sq_marks",
        sa.Column("name", sa.Text(), primary_key=True),
        sa.Column("at", INSTANT, nullable=False),
    )
