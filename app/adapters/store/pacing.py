"""`ports.Pacing` on a database: one row for each installation, locked while it is counted.

So all processes of one database keep one pace together.
"""

from collections.abc import Callable
from datetime import datetime

import sqlalchemy as sa

from app.adapters.store.dialects import insert, upsert
from app.adapters.store.tables import PACES
from app.adapters.store.writer import GroupWriter
from app.core.effects.pacing import Pace, take


class SqlPacing:
    """Implements `ports.Pacing` on SQLite and PostgreSQL."""

    def __init__(self, writer: GroupWriter, *, limited: bool) -> None:
        """`limited`: GitHub's limits on content hold."""
        self._writer = writer
        self._limited = limited

    async def take(
        self, installation_id: int, at: datetime, *, creates: bool, urgent: bool
    ) -> datetime | None:
        """Room for one write, or when to ask again."""

        def step(pace: Pace) -> tuple[Pace, datetime | None]:
            return take(pace, at, creates=creates, urgent=urgent, limited=self._limited)

        return await self._writer.run(lambda here: _change(here, installation_id, step))

    async def stop(self, installation_id: int, until: datetime, at: datetime) -> None:
        """GitHub limits the installation."""

        def step(pace: Pace) -> tuple[Pace, None]:
            return pace.stopped(until, at), None

        await self._writer.run(lambda here: _change(here, installation_id, step))


def _change(
    connection: sa.Connection,
    installation_id: int,
    step: Callable[[Pace], tuple[Pace, datetime | None]],
) -> datetime | None:
    key = {"installation_id": installation_id}
    connection.execute(
        insert(connection, PACES).values({**key, **_columns(Pace())}).on_conflict_do_nothing()
    )
    locked = sa.select(PACES).where(PACES.c.installation_id == installation_id).with_for_update()
    row = connection.execute(locked).mappings().one()
    before = Pace(**{name: row[name] for name in _columns(Pace())})
    after, answer = step(before)
    if after != before:
        connection.execute(upsert(connection.dialect.name, PACES), {**key, **_columns(after)})
    return answer


def _columns(pace: Pace) -> dict[str, datetime]:
    return {
        "writes_full_at": pace.writes_full_at,
        "creations_full_at": pace.creations_full_at,
        "stopped_until": pace.stopped_until,
        "urgent_line": pace.urgent_line,
        "routine_line": pace.routine_line,
    }
