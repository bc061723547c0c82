"""Workers say how many agents they run, and can be told to take no further ones."""

import sqlalchemy as sa
from alembic import op

revision = "0033"
down_revision = "0032"


def upgrade() -> None:
    """A worker of the version before does not say how many it runs, and drains when it ends."""
    op.add_column(
        "sq_workers", sa.Column("places", sa.Integer(), nullable=False, server_default=sa.text("0"))
    )
    op.add_column("sq_workers", sa.Column("drain_asked_at", sa.DateTime(timezone=True)))
