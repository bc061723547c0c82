"""Commands in reviews and on lines of pull requests."""

import sqlalchemy as sa
from alembic import op

revision = "0015"
down_revision = "0014"


def upgrade() -> None:
    """Add the column; all that was heard before was a comment, or a button."""
    op.add_column("sq_heard_commands", sa.Column("kind", sa.Text()))
