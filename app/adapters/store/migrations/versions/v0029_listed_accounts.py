"""Who is listed by `trust` is known by id: a login that was given up can pass to somebody else."""

import sqlalchemy as sa
from alembic import op

revision = "0029"
down_revision = "0028"


def upgrade() -> None:
    """Filled where somebody asks for the first time."""
    op.create_table(
        "sq_listed_accounts",
        sa.Column("repository", sa.Text(), primary_key=True),
        sa.Column("login", sa.Text(), primary_key=True),
        sa.Column("account_id", sa.BigInteger(), nullable=True),
    )
