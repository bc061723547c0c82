"""How those that take work hear that some was queued: as soon as the transaction commits.

On PostgreSQL each process hears it by NOTIFY. On SQLite there is one process, and it hears of its
own transactions when their connection comes back to the pool.
"""

from collections.abc import Callable
from functools import partial
from typing import Any, Final

import sqlalchemy as sa

CHANNEL: Final = "squadron_work"
LATER: Final = "later"
"""What is called of work whose time has not come; of other work it is the name of its queue."""
_QUEUES: Final = "squadron queues"
_NOTIFY: Final = sa.text("SELECT pg_notify(:channel, :queue)")


def call(connection: sa.Connection, queue: str) -> None:
    """The transaction of `connection` queues work."""
    if connection.dialect.name == "postgresql":
        connection.execute(_NOTIFY, {"channel": CHANNEL, "queue": queue})
    else:
        connection.info.setdefault(_QUEUES, set()).add(queue)


def hear_own(engine: sa.Engine, heard: Callable[[str], None]) -> Callable[[], None]:
    """`heard` gets what is called in transactions of this process, when they have ended; in those
    that were rolled back, too: whoever looks then finds nothing. The answer stops it."""

    def end(_connection: Any, record: sa.PoolProxiedConnection) -> None:
        for queue in record.info.pop(_QUEUES, ()):
            heard(queue)

    sa.event.listen(engine, "checkin", end)
    return partial(sa.event.remove, engine, "checkin", end)
