"""Which processes are alive: locks on files (SQLite), advisory locks (PostgreSQL).

A dead process is recovered by nobody unless we do it, and a live one that lost its lock must end
itself before somebody else runs its work: tried without this self-fence, two workers took the same
runs from each other again and again, and none finished.
"""

import fcntl
import logging
import os
import socket
import threading
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path
from typing import Final, Protocol

import psycopg

FENCE_SECONDS: Final = 0.5
EXIT_FENCED: Final = 70
_LOCK: Final = "hashtextextended(%s, 77)"

log = logging.getLogger("squadron.engine")


class AlreadyRunning(Exception):
    """Another process works in this data directory, or with this database."""


class Membership(Protocol):
    """This process among the workers of one database."""

    worker: str
    """Unique per process start."""
    executor_id: str
    """Under which the engine records what this process runs."""

    def watch(self, take_over: Callable[[str], None]) -> None:
        """From now on this process counts as a worker; `take_over` gets a dead one's name."""
        ...

    def is_alive(self, worker: str) -> bool: ...

    def take_over(self, worker: str) -> None:
        """If `worker` is dead, call what `watch` was given, at most one process at a time."""
        ...

    def leave(self) -> None: ...


class SingleProcess:
    """SQLite: one process a data directory, and a database. The second start is refused: two that
    take work from one SQLite file do some of it twice (dbos-inc/dbos-transact-py#541).

    The executor id is the same at each start, so that a restart recovers its own work.
    """

    executor_id = "squadron"

    def __init__(self, data_directory: Path, database: Path, unique: str) -> None:
        """Takes the locks. Raises `AlreadyRunning`."""
        self.worker = f"{socket.gethostname()}-{os.getpid()}-{unique}"
        data_directory.mkdir(mode=0o700, parents=True, exist_ok=True)
        file_of_database = database.resolve()
        with ExitStack() as taken:
            for path, where in (
                (data_directory / "squadron.lock", f"works in {data_directory}"),
                (file_of_database.with_name(f"{file_of_database.name}.lock"), f"uses {database}"),
            ):
                file = taken.enter_context(path.open("a"))
                try:
                    fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
                except OSError as error:
                    raise AlreadyRunning(
                        f"another Squadron {where} (lock {path}); stop it first,"
                        " or use PostgreSQL for more than one process"
                    ) from error
            self._locks = taken.pop_all()

    def watch(self, take_over: Callable[[str], None]) -> None:
        """Nobody else can work here, so there is nobody to take over from."""

    def is_alive(self, worker: str) -> bool:
        """Only this process holds the lock, so every other name is dead."""
        return worker == self.worker

    def take_over(self, worker: str) -> None:
        """The engine recovers this executor's own work at start."""

    def leave(self) -> None:
        """Give the data directory and the database up."""
        self._locks.close()


class ClusterMembership:
    """PostgreSQL: each worker holds an advisory lock on a connection of its own."""

    def __init__(self, dsn: str, unique: str, before_the_end: Callable[[str], None]) -> None:
        """`before_the_end` is called from a thread, with this worker's name, just before a fenced
        process ends itself."""
        self.worker = f"{socket.gethostname()}-{os.getpid()}-{unique}"
        self.executor_id = self.worker
        self._dsn = dsn
        self._before_the_end = before_the_end
        self._left = threading.Event()
        self._take_over: Callable[[str], None] | None = None
        self._member = _connect(dsn)
        self._member.execute(f"SELECT pg_advisory_lock({_LOCK})", (self.worker,))

    def watch(self, take_over: Callable[[str], None]) -> None:
        """Start the fence: this process ends as soon as its lock connection is gone."""
        self._take_over = take_over
        threading.Thread(target=self._fence, name="squadron-fence", daemon=True).start()

    def is_alive(self, worker: str) -> bool:
        """Whether some connection holds the worker's lock."""
        if worker == self.worker:
            return True
        with _connect(self._dsn) as other:
            return not _try_lock(other, worker)

    def take_over(self, worker: str) -> None:
        """Call the engine with a dead worker's name, under that worker's lock."""
        assert self._take_over is not None
        with _connect(self._dsn) as other:
            if _try_lock(other, worker):
                self._take_over(worker)

    def leave(self) -> None:
        """Give up the lock; others may take over what was not finished."""
        self._left.set()
        self._member.close()

    def _fence(self) -> None:
        while not self._left.wait(FENCE_SECONDS):
            try:
                self._member.execute("SELECT 1")
            except psycopg.Error:
                if self._left.is_set():
                    return
                log.critical("lost the membership lock; ending before another worker takes over")
                try:
                    self._before_the_end(self.worker)
                finally:
                    os._exit(EXIT_FENCED)


def _connect(dsn: str) -> psycopg.Connection[tuple[object, ...]]:
    return psycopg.connect(
        dsn,
        autocommit=True,
        connect_timeout=5,
        tcp_user_timeout=10_000,  # milliseconds: the fence must not wait on a network that is gone
        keepalives_idle=5,
        keepalives_interval=2,
        keepalives_count=3,
    )


def _try_lock(connection: psycopg.Connection[tuple[object, ...]], worker: str) -> bool:
    row = connection.execute(f"SELECT pg_try_advisory_lock({_LOCK})", (worker,)).fetchone()
    return bool(row and row[0])
