"""Of stopped agents it is known when people closed the issue that called for them."""

import sqlalchemy as sa
from alembic import op

revision = "0036"
down_revision = "0035"


def upgrade() -> None:
    """Of those that were stopped before, passes find out."""
    op.add_column("sq_agents", sa.Column("dismissed_at", sa.DateTime(timezone=True), nullable=True))
