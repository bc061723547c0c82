"""How far reconciliation has seen each repository."""

import sqlalchemy as sa
from alembic import op

revision = "0007"
down_revision = "0006"

INSTANT = sa.DateTime(timezone=True)


def upgrade() -> None:
    """Make the table; nothing was seen yet."""
    op.create_table(
        "sq_looks",
        sa.Column("repository", sa.Text(), primary_key=True),
        sa.Column("threads_until", INSTANT, nullable=False),
        sa.Column("comments_until", INSTANT, nullable=False),
        sa.Column("looked_at", INSTANT, nullable=False),
        sa.Column("fully_at", INSTANT, nullable=False),
        sa.Column("triggers", sa.Text(), nullable=False),
        sa.Column("heads", sa.Text(), nullable=False),
    )
