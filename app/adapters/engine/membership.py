"""Which processes are alive: locks on files (SQLite), advisory locks (PostgreSQL).

A dead process is recovered by nobody unless we do it, and a live one that lost its lock must give
up before somebody else runs its work: tried without this self-fence, two workers took the same
runs from each other again and again, and none finished.
"""

import fcntl
import logging
import os
import socket
import threading
import time
from collections.abc import Callable
from contextlib import ExitStack, suppress
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path
from typing import Final, Protocol

import psycopg
import sqlalchemy as sa

from app.adapters.engine import heartbeats
from app.adapters.engine.calls import CHANNEL
from app.adapters.engine.heartbeats import Heard
from app.ports import FRESH_SECONDS

FENCE_SECONDS: Final = 0.5
"""For so long at most the fence listens before it sees whether a beat is due, or it is over."""
MOST_STATEMENT_SECONDS: Final = 10
"""Less than a beat may be late; a fence must not wait for what blocks it."""
_NOW: Final = "strftime('%Y-%m-%d %H:%M:%f', 'now') || '000'"
"""SQLite's, with the microseconds that it does not have."""

log = logging.getLogger("squadron.engine")


def worker_name(unique: str) -> str:
    """Of a process of this machine."""
    return f"{socket.gethostname()}-{os.getpid()}-{unique}"


class AlreadyRunning(Exception):
    """Another process works in this data directory, or with this database."""


@dataclass(frozen=True, slots=True)
class Listener:
    """What a worker does about what it hears of the others."""

    take_over: Callable[[str], None]
    """Gets a dead worker's name."""
    called: Callable[[str], None]
    """Gets what was called (`calls`) in another process."""
    drain: Callable[[], None]
    """It is to take no further agents; it may be told so again and again."""


class Membership(Protocol):
    """This process among the workers of one database."""

    worker: str
    """Unique per process start."""

    def watch(self, places: int, listener: Listener) -> None:
        """From now on this process counts as a worker, which runs so many agents at once."""
        ...

    def is_at_work(self, worker: str) -> bool:
        """Whether the worker lives, and was heard of lately: time passes for its agents."""
        ...

    def look(self) -> None:
        """Every few seconds: whoever was not heard of for too long loses what it holds."""
        ...

    def take_over(self, worker: str) -> None:
        """If `worker` is dead, tell the listener, in at most one process at a time."""
        ...

    def leave(self) -> None: ...


class SingleProcess:
    """SQLite: one process a data directory, and a database. The second start is refused: two that
    take work from one SQLite file do some of it twice (dbos-inc/dbos-transact-py#541).
    """

    def __init__(self, data_directory: Path, database: sa.Engine, worker: str) -> None:
        """Takes the locks. Raises `AlreadyRunning`."""
        self.worker = worker
        self._database = database
        self._listener: Listener | None = None
        data_directory.mkdir(mode=0o700, parents=True, exist_ok=True)
        file = Path(database.url.database or "")
        file_of_database = file.resolve()
        with ExitStack() as taken:
            for path, where in (
                (data_directory / "squadron.lock", f"works in {data_directory}"),
                (file_of_database.with_name(f"{file_of_database.name}.lock"), f"uses {file}"),
            ):
                lock = taken.enter_context(path.open("a"))
                try:
                    fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
                except OSError as error:
                    raise AlreadyRunning(
                        f"another Squadron {where} (lock {path}); stop it first,"
                        " or use PostgreSQL for more than one process"
                    ) from error
            self._locks = taken.pop_all()

    def watch(self, places: int, listener: Listener) -> None:
        """There is nobody else to hear of: whoever has a row here is dead."""
        self._listener = listener
        row = {"name": self.worker, "version": version("squadron"), "places": places}
        with self._database.begin() as connection:
            connection.execute(sa.text("DELETE FROM sq_workers"))
            connection.execute(
                sa.text(
                    "INSERT INTO sq_workers"
                    " (name, version, places, started_at, beat_at, settled_at)"
                    f" VALUES (:name, :version, :places, {_NOW}, {_NOW}, {_NOW})"
                ),
                row,
            )

    def is_at_work(self, worker: str) -> bool:
        """Only this process holds the lock, so every other name is dead."""
        return worker == self.worker

    def look(self) -> None:
        """It is there, for people who ask; a disk that is full keeps that from them alone."""
        beat = sa.text(
            f"UPDATE sq_workers SET beat_at = {_NOW} WHERE name = :name"
            " RETURNING drain_asked_at"  # not IS NOT NULL: SQLite 3.40 takes that for true
        )
        try:
            with self._database.begin() as connection:
                drain_asked_at = connection.execute(beat, {"name": self.worker}).scalar()
        except sa.exc.OperationalError as error:
            log.warning("`squadron workers` does not hear of this process: %s", error.orig)
            return
        if drain_asked_at is not None:
            assert self._listener is not None  # `watch` has written the row
            self._listener.drain()

    def take_over(self, worker: str) -> None:
        """It was here before, and is dead."""
        assert self._listener is not None
        self._listener.take_over(worker)

    def leave(self) -> None:
        """Give the data directory and the database up."""
        if self._listener is not None:
            mine = sa.text("DELETE FROM sq_workers WHERE name = :name")
            with suppress(sa.exc.OperationalError), self._database.begin() as connection:
                connection.execute(mine, {"name": self.worker})
        self._locks.close()


class ClusterMembership:
    """PostgreSQL: each worker holds an advisory lock on a connection of its own, and is heard of
    again and again (`heartbeats`)."""

    def __init__(
        self,
        dsn: str,
        worker: str,
        timeout_seconds: float,
        stood_seconds: Callable[[], float],
        give_up: Callable[[str], None],
    ) -> None:
        """`timeout_seconds`: after which others are taken over that were not heard of;
        `stood_seconds`: for how long this process has stood still in all. `give_up` is called
        once, from a thread, with this worker's name: from then on this process must do nothing of
        what it held."""
        self.worker = worker
        self._dsn = dsn
        self._timeout_seconds = timeout_seconds
        self._stood_seconds = stood_seconds
        self._give_up = give_up
        self._left = threading.Event()
        self._listener: Listener | None = None
        self._regular_since = self._beaten_at = time.monotonic()
        """Since when this worker has beaten without a break, and when it did last."""
        self._member = self._connect()
        heartbeats.hold(self._member, worker)

    def watch(self, places: int, listener: Listener) -> None:
        """Start the fence: this process gives up once its lock connection or its row is gone."""
        self._listener = listener
        self._member.execute(f"LISTEN {CHANNEL}")
        heartbeats.join(self._member, self.worker, version("squadron"), places)
        self._regular_since = self._beaten_at = time.monotonic()
        fence = threading.Thread(
            target=self._fence, args=(listener,), name="squadron-fence", daemon=True
        )
        fence.start()

    def is_at_work(self, worker: str) -> bool:
        """Whether some connection holds the worker's lock, and its beats are regular."""
        if worker == self.worker:
            return True
        with self._connect() as other:
            return not heartbeats.may_hold(other, worker) and heartbeats.is_fresh(other, worker)

    def look(self) -> None:
        """Not by whoever was late itself: then it may have been the database that stood still, and
        the others have had no time to be heard of."""
        if time.monotonic() - self._regular_since < self._timeout_seconds:
            return
        with self._connect() as other:
            late = heartbeats.evict(other, self._timeout_seconds)
        for worker, seconds in late.items():
            log.warning("%s was not heard of for %.0f s: others take its work", worker, seconds)

    def take_over(self, worker: str) -> None:
        """Tell the listener a dead worker's name, under that worker's lock."""
        assert self._listener is not None
        with self._connect() as other:
            if heartbeats.may_hold(other, worker):
                self._listener.take_over(worker)
                heartbeats.leave(other, worker)

    def leave(self) -> None:
        """Give up the lock; others may take over what was not finished."""
        self._left.set()
        with suppress(psycopg.Error):  # then nobody has heard of it for long
            heartbeats.leave(self._member, self.worker)
        self._member.close()

    def _fence(self, listener: Listener) -> None:
        stood = self._stood_seconds()
        while not self._left.is_set():
            try:
                for called in self._member.notifies(timeout=FENCE_SECONDS):
                    listener.called(called.payload)
                stood, is_member = self._beats(stood, listener)
            except psycopg.Error:
                is_member = False
            if self._left.is_set():
                return
            if not is_member:
                self._end(self._stood_seconds() - stood)
                return

    def _beats(self, stood: float, listener: Listener) -> tuple[float, bool]:
        """For how long this process had stood still when it beat last, and whether it is still a
        member. Raises `psycopg.Error`."""
        since = time.monotonic() - self._beaten_at
        if since < heartbeats.BEAT_SECONDS:
            return stood, True
        now = self._stood_seconds()
        heard = heartbeats.beat(self._member, self.worker, stood_still=now > stood)
        self._beaten_at = time.monotonic()
        if since >= FRESH_SECONDS:
            self._regular_since = self._beaten_at
        if heard is Heard.IS_TO_DRAIN:
            listener.drain()
        return now, heard is not Heard.BY_NOBODY

    def _end(self, stood: float) -> None:
        why = "the connection to the database is lost"
        if stood > 0:
            why = f"stood still for {stood:.0f} s, and others have taken what this process held"
        log.critical("%s; giving all up before two do the same work", why)
        self._give_up(self.worker)

    def _connect(self) -> heartbeats.Connection:
        return _connect(self._dsn, heartbeats.application_name(self.worker))


def _connect(dsn: str, application_name: str) -> heartbeats.Connection:
    connection = psycopg.connect(
        dsn,
        autocommit=True,
        application_name=application_name,
        connect_timeout=5,
        tcp_user_timeout=10_000,  # milliseconds: the fence must not wait on a network that is gone
        keepalives_idle=5,
        keepalives_interval=2,
        keepalives_count=3,
    )
    # Not among the options of the connection: PgBouncer takes none.
    connection.execute(f"SET statement_timeout = '{MOST_STATEMENT_SECONDS}s'")
    return connection
