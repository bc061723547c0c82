"""What became of agents is asked for across all of them, not only which of them were stopped."""

import sqlalchemy as sa
from alembic import op

revision = "0037"
down_revision = "0036"


def upgrade() -> None:
    """Such rows stay when a log is packed."""
    is_end = sa.text("type = 'Finished'")
    op.create_index(
        "sq_events_ends", "sq_events", ["at"], sqlite_where=is_end, postgresql_where=is_end
    )
