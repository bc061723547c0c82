"""How fast each installation is written to."""

import sqlalchemy as sa
from alembic import op

revision = "0003"
down_revision = "0002"


def upgrade() -> None:
    """Make the table; nobody has written yet."""
    instants = (
        "writes_full_at",
        "creations_full_at",
        "stopped_until",
        "urgent_line",
        "routine_line",
    )
    op.create_table(
        "sq_paces",
        sa.Column("installation_id", sa.BigInteger(), primary_key=True, autoincrement=False),
        *(sa.Column(name, sa.DateTime(timezone=True), nullable=False) for name in instants),
    )
