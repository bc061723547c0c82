"""Which model calls were estimated, because nobody reported what they used."""

import sqlalchemy as sa
from alembic import op

revision = "0017"
down_revision = "0016"


def upgrade() -> None:
    """Add the column; of what was booked before nobody knows."""
    op.add_column("sq_spend", sa.Column("is_estimate", sa.Integer()))
