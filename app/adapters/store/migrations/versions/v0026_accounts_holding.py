"""What is held in windows that are over is found at once."""

import sqlalchemy as sa
from alembic import op

revision = "0026"
down_revision = "0025"


def upgrade() -> None:
    """An index of the accounts in which somebody holds what is not spent yet."""
    holds = sa.text("held_nanousd > actual_nanousd")
    op.create_index(
        "sq_accounts_holding", "sq_accounts", ["key"], sqlite_where=holds, postgresql_where=holds
    )
