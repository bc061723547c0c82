"""What each repository's configuration in force comes from."""

import sqlalchemy as sa
from alembic import op

revision = "0013"
down_revision = "0012"


def upgrade() -> None:
    """Make the table; each configuration is kept as soon as it is read."""
    op.create_table(
        "sq_configurations",
        sa.Column("repository", sa.Text(), primary_key=True),
        sa.Column("digest", sa.Text(), nullable=False),
        sa.Column("steps", sa.Text(), nullable=False),
    )
