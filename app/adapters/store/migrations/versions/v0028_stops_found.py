"""Stops and pauses are found without reading all logs: monitoring asks for them each minute."""

import sqlalchemy as sa
from alembic import op

revision = "0028"
down_revision = "0027"


def upgrade() -> None:
    """An index of a few rows beside the logs."""
    is_stop = sa.text("type IN ('Tripped', 'Held')")
    op.create_index(
        "sq_events_stops",
        "sq_events",
        ["type", "at"],
        sqlite_where=is_stop,
        postgresql_where=is_stop,
    )
