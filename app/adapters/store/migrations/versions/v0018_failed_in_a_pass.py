"""What has failed in the last pass of reconciliation."""

import sqlalchemy as sa
from alembic import op

revision = "0018"
down_revision = "0017"


def upgrade() -> None:
    """Add the column; the passes until now listed nothing."""
    op.add_column("sq_last_pass", sa.Column("failed", sa.Text(), server_default="{}"))
    with op.batch_alter_table("sq_last_pass") as table:
        table.alter_column("failed", nullable=False, server_default=None)
