"""An engine as whoever starts and stops it sees it."""

from datetime import datetime
from typing import Protocol

import sqlalchemy as sa

from app.ports import Engine, Handler, Work


class RunningEngine(Engine, Protocol):
    """Performs work of some kinds in this process: each piece at least once, by its id, so many
    at once of a kind."""

    @property
    def worker(self) -> str:
        """This process's name, unique per start."""
        ...

    async def start(self, perform: Handler) -> None:
        """Take up what was interrupted, and take from the queues; `perform` does each piece."""
        ...

    async def stop(self, within_seconds: int) -> None:
        """Take nothing new, let running work end for at most so long."""
        ...

    def enqueue_with(self, connection: sa.Connection, work: Work) -> None:
        """Enqueue inside the caller's transaction: the work exists if and only if it commits."""
        ...

    async def forget_finished(self, before: datetime) -> int:
        """Delete the records of work that ended before an instant; how many."""
        ...

    async def sweep(self) -> None:
        """Queue work again that nobody performs."""
        ...
