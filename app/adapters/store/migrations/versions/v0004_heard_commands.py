"""What people told Squadron, and starts that wait with raised limits."""

import sqlalchemy as sa
from alembic import op

revision = "0004"
down_revision = "0003"


def upgrade() -> None:
    """Make the table and the columns."""
    op.create_table(
        "sq_heard_commands",
        sa.Column("repository", sa.Text(), primary_key=True),
        sa.Column("name", sa.Text(), primary_key=True),
        sa.Column("comment", sa.BigInteger()),
        sa.Column("thread", sa.BigInteger(), nullable=False),
        sa.Column("login", sa.Text(), nullable=False),
        sa.Column("lines", sa.Text(), nullable=False),
        sa.Column("is_refused", sa.Integer(), nullable=False),
        sa.Column("at", sa.DateTime(timezone=True), nullable=False),
    )
    op.create_index("sq_heard_commands_comment", "sq_heard_commands", ["repository", "comment"])
    op.create_index("sq_heard_commands_at", "sq_heard_commands", ["at"])
    for name in ("raises", "said"):
        op.add_column("sq_waiting_starts", sa.Column(name, sa.Text()))
