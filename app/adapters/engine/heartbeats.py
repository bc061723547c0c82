"""Which workers were heard of lately: rows of `sq_workers`, by the database's clock.

A process that stands still keeps its advisory lock, and so does one whose machine is gone, for as
long as its server waits for the network. The row tells both from a process that lives.
"""

from enum import Enum, auto
from typing import Final

import psycopg

from app.ports import FRESH_SECONDS

Connection = psycopg.Connection[tuple[object, ...]]

BEAT_SECONDS: Final = 5.0
"""Between two beats of a worker."""
SETTLED_SECONDS: Final = 60.0
"""After a worker has stood still: by then the logs of its agents say so."""


class Heard(Enum):
    """What a worker learns when it beats."""

    WELL = auto()
    IS_TO_DRAIN = auto()
    """It is to take no further agents."""
    BY_NOBODY = auto()
    """Another one has taken its work over."""


_LOCK: Final = "hashtextextended(%s, 77)"
_BACKENDS: Final = (
    "SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity"
    " WHERE application_name = %s AND datname = current_database() AND pid <> pg_backend_pid()"
)


def application_name(worker: str) -> str:
    """Of all connections of a worker: as much of its name as PostgreSQL keeps. Its end differs
    from process to process."""
    return worker[-63:]


def hold(connection: Connection, worker: str) -> None:
    """The worker lives for as long as this connection does."""
    connection.execute(f"SELECT pg_advisory_lock({_LOCK})", (worker,))


def may_hold(connection: Connection, worker: str) -> bool:
    """Whether nobody holds that worker's lock; this connection does now."""
    row = connection.execute(f"SELECT pg_try_advisory_lock({_LOCK})", (worker,)).fetchone()
    return bool(row and row[0])


def join(connection: Connection, worker: str, version: str, places: int) -> None:
    """From now on the worker is to be heard of. `places`: how many agents it runs at once."""
    connection.execute(
        "INSERT INTO sq_workers (name, version, places, started_at, beat_at, settled_at)"
        " VALUES (%s, %s, %s, now(), now(), now())",
        (worker, version, places),
    )


def leave(connection: Connection, worker: str) -> None:
    """Nobody waits to hear of it any more."""
    connection.execute("DELETE FROM sq_workers WHERE name = %s", (worker,))


def beat(connection: Connection, worker: str, *, stood_still: bool) -> Heard:
    """The worker is there."""
    settled_at = "now() + make_interval(secs => %s)" if stood_still else "settled_at"
    values = (SETTLED_SECONDS, worker) if stood_still else (worker,)
    row = connection.execute(
        f"UPDATE sq_workers SET beat_at = now(), settled_at = {settled_at} WHERE name = %s"
        " RETURNING drain_asked_at IS NOT NULL",
        values,
    ).fetchone()
    if row is None:
        return Heard.BY_NOBODY
    return Heard.IS_TO_DRAIN if row[0] else Heard.WELL


def is_fresh(connection: Connection, worker: str) -> bool:
    """Whether the worker works as far as its row tells; one without a row is not judged by it."""
    row = connection.execute(
        "SELECT beat_at >= now() - make_interval(secs => %s) AND settled_at <= now()"
        " FROM sq_workers WHERE name = %s",
        (FRESH_SECONDS, worker),
    ).fetchone()
    return row is None or bool(row[0])


def evict(connection: Connection, timeout_seconds: float) -> dict[str, float]:
    """Take the rows and the connections of those that were not heard of for so long: how long, by
    their names. Whoever stands still finds both gone."""
    with connection.transaction():
        late = connection.execute(
            "DELETE FROM sq_workers WHERE beat_at < now() - make_interval(secs => %s)"
            " RETURNING name, extract(epoch FROM now() - beat_at)::float8",
            (timeout_seconds,),
        ).fetchall()
        for worker, _ in late:
            connection.execute(_BACKENDS, (application_name(str(worker)),))
    return {str(worker): float(str(seconds)) for worker, seconds in late}
