"""Where it is tried whether the database takes what a delivery takes."""

import sqlalchemy as sa
from alembic import op

revision = "0020"
down_revision = "0019"


def upgrade() -> None:
    """Add the table."""
    op.create_table(
        "sq_room",
        sa.Column("id", sa.Integer(), primary_key=True, autoincrement=False),
        sa.Column("filling", sa.LargeBinary(), nullable=False),
    )
