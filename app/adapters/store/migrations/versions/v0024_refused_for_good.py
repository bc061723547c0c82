"""Starts that were refused for good: what asked for them is not asked about again."""

import sqlalchemy as sa
from alembic import op

revision = "0024"
down_revision = "0023"


def upgrade() -> None:
    """What was refused before may be asked about once more."""
    op.add_column(
        "sq_refused_starts",
        sa.Column("is_final", sa.Boolean(), nullable=False, server_default=sa.false()),
    )
