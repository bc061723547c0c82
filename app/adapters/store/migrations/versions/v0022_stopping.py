"""Agents whose work was taken away, and is still being kept, have a state of their own."""

from alembic import op

revision = "0022"
down_revision = "0021"


def upgrade() -> None:
    """Give it to those that are being stopped now."""
    op.execute(
        "UPDATE sq_agents SET state = 'STOPPING' WHERE taken_away_at IS NOT NULL"
        " AND state IN ('QUEUED', 'ACTIVE', 'SLEEPING', 'PAUSED')"
    )
