"""Mutual exclusion by name: a lock of this process, and on PostgreSQL an advisory lock as well."""

import asyncio
import threading
from collections import Counter
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any, Final
from weakref import WeakValueDictionary

import sqlalchemy as sa

from app.ports import StoreUnavailable

MOST_WAIT_SECONDS: Final = 120
LEAST_PAUSE_SECONDS: Final = 0.01
MOST_PAUSE_SECONDS: Final = 0.5
"""Between two tries to have a lock that another process holds; each pause is twice the last."""
_TRY: Final = sa.text("SELECT pg_try_advisory_lock(hashtextextended(:name, 78))")
_GIVE_BACK: Final = sa.text("SELECT pg_advisory_unlock(hashtextextended(:name, 78))")


class NamedLocks:
    """`ports.Exclusive`. On SQLite one process works in a data directory, so its lock is enough.

    A name is only ever used on one event loop of a process.
    """

    def __init__(self, engine: sa.Engine) -> None:
        is_shared = engine.dialect.name == "postgresql"
        self._among_processes = _AdvisoryLocks(engine) if is_shared else None
        self._locks: WeakValueDictionary[str, asyncio.Lock] = WeakValueDictionary()

    @asynccontextmanager
    async def __call__(self, name: str) -> AsyncIterator[None]:
        """Hold `name`. Raises `StoreUnavailable` after `MOST_WAIT_SECONDS`."""
        lock, locks = self._locks.setdefault(name, asyncio.Lock()), self._among_processes
        try:
            async with asyncio.timeout(MOST_WAIT_SECONDS):
                await lock.acquire()
        except TimeoutError:
            raise StoreUnavailable(f"waited {MOST_WAIT_SECONDS} s for `{name}`") from None
        try:
            if locks is None:
                yield
                return
            await _take(locks, name)
            try:
                yield
            finally:
                await asyncio.shield(asyncio.to_thread(locks.give_back, name))
        finally:
            lock.release()


async def _take(locks: "_AdvisoryLocks", name: str) -> None:
    pause = LEAST_PAUSE_SECONDS
    try:
        async with asyncio.timeout(MOST_WAIT_SECONDS):
            while not await _tried(locks, name):
                await asyncio.sleep(pause)
                pause = min(2 * pause, MOST_PAUSE_SECONDS)
    except TimeoutError:
        raise StoreUnavailable(
            f"the lock `{name}` could not be had: another process holds it"
        ) from None


async def _tried(locks: "_AdvisoryLocks", name: str) -> bool:
    trying = asyncio.create_task(asyncio.to_thread(locks.take, name))
    try:
        return await asyncio.shield(trying)
    except asyncio.CancelledError:
        trying.add_done_callback(lambda tried: _give_back_unused(locks, tried, name))
        raise


def _give_back_unused(locks: "_AdvisoryLocks", tried: asyncio.Task[bool], name: str) -> None:
    """The caller was cancelled while the lock was on its way."""
    if not tried.cancelled() and tried.exception() is None and tried.result():
        locks.give_back(name)


class _AdvisoryLocks:
    """Those that this process holds, all on one connection: who waits for a lock takes no
    connection from those who work. The server gives them back when the connection ends."""

    def __init__(self, engine: sa.Engine) -> None:
        self._engine = engine
        self._alone = threading.Lock()
        self._connection: sa.Connection | None = None
        self._held = Counter[str]()
        """On that connection; with none left it goes back to the pool. How often: the server counts
        what a session has, and one who was cancelled may give a name back after the next took it.
        """

    def take(self, name: str) -> bool:
        """Whether nobody else has it. Raises `StoreUnavailable`."""
        with self._alone:
            try:
                is_taken = bool(self._answer(_TRY, name))
            except sa.exc.SQLAlchemyError as error:
                self._rest()
                raise StoreUnavailable(f"the lock `{name}` could not be had: {error}") from error
            if is_taken:
                self._held[name] += 1
            self._rest()
            return is_taken

    def give_back(self, name: str) -> None:
        """Whoever waits for it may have it."""
        with self._alone:
            if not self._held[name]:
                return  # it was lost with its connection
            try:
                self._answer(_GIVE_BACK, name)
            except sa.exc.SQLAlchemyError:
                self._lose()
            else:
                self._held[name] -= 1
            self._rest()

    def _answer(self, statement: sa.TextClause, name: str) -> Any:
        if self._connection is None:
            made = self._engine.connect()
            self._connection = made.execution_options(isolation_level="AUTOCOMMIT")
        try:
            return self._connection.scalar(statement, {"name": name})
        except sa.exc.DBAPIError as error:
            if error.connection_invalidated:
                self._lose()
            raise

    def _lose(self) -> None:
        """With the connection go the locks."""
        if self._connection is not None:
            self._connection.invalidate()
        self._held.clear()
        self._rest()

    def _rest(self) -> None:
        if not self._held.total() and self._connection is not None:
            self._connection.close()
            self._connection = None
