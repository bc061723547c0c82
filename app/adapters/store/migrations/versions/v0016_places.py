"""Where each repository was last, also one that never had an agent."""

import sqlalchemy as sa
from alembic import op

revision = "0016"
down_revision = "0015"


def upgrade() -> None:
    """Make the table; repositories are noted as soon as GitHub lists them."""
    op.create_table(
        "sq_places",
        sa.Column("repository_id", sa.BigInteger(), primary_key=True, autoincrement=False),
        sa.Column("repository", sa.Text(), nullable=False),
        sa.Column("installation_id", sa.BigInteger(), nullable=False),
    )
