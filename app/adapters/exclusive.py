"""Mutual exclusion by name: a lock of this process, and on PostgreSQL an advisory lock as well."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Final
from weakref import WeakValueDictionary

import sqlalchemy as sa

from app.ports import StoreUnavailable

MOST_WAIT_SECONDS: Final = 120
_TRY: Final = sa.text("SELECT pg_advisory_lock(hashtextextended(:name, 78))")
_GIVE_BACK: Final = sa.text("SELECT pg_advisory_unlock(hashtextextended(:name, 78))")


class NamedLocks:
    """`ports.Exclusive`. On SQLite one process works in a data directory, so its lock is enough.

    A name is only ever used on one event loop of a process.
    """

    def __init__(self, engine: sa.Engine) -> None:
        self._engine = engine if engine.dialect.name == "postgresql" else None
        self._locks: WeakValueDictionary[str, asyncio.Lock] = WeakValueDictionary()

    @asynccontextmanager
    async def __call__(self, name: str) -> AsyncIterator[None]:
        """Hold `name`. Raises `StoreUnavailable` after `MOST_WAIT_SECONDS`."""
        lock = self._locks.setdefault(name, asyncio.Lock())
        try:
            async with asyncio.timeout(MOST_WAIT_SECONDS):
                await lock.acquire()
        except TimeoutError:
            raise StoreUnavailable(f"waited {MOST_WAIT_SECONDS} s for `{name}`") from None
        try:
            if self._engine is None:
                yield
            else:
                async with _advisory(self._engine, name):
                    yield
        finally:
            lock.release()


@asynccontextmanager
async def _advisory(engine: sa.Engine, name: str) -> AsyncIterator[None]:
    taking = asyncio.create_task(asyncio.to_thread(_take, engine, name))
    try:
        connection = await asyncio.shield(taking)
    except asyncio.CancelledError:
        taking.add_done_callback(lambda taken: _give_back_unused(taken, name))
        raise
    try:
        yield
    finally:
        await asyncio.shield(asyncio.to_thread(_release, connection, name))


def _give_back_unused(taken: asyncio.Task[sa.Connection], name: str) -> None:
    """The caller was cancelled while the lock was on its way."""
    if not taken.cancelled() and taken.exception() is None:
        _release(taken.result(), name)


def _take(engine: sa.Engine, name: str) -> sa.Connection:
    try:
        connection = engine.connect().execution_options(isolation_level="AUTOCOMMIT")
    except sa.exc.SQLAlchemyError as error:
        raise StoreUnavailable(f"no connection for the lock `{name}`") from error
    try:
        connection.execute(sa.text(f"SET statement_timeout = '{MOST_WAIT_SECONDS}s'"))
        connection.execute(_TRY, {"name": name})
    except sa.exc.DBAPIError as error:
        connection.invalidate()
        connection.close()
        raise StoreUnavailable(f"the lock `{name}` could not be had") from error
    return connection


def _release(connection: sa.Connection, name: str) -> None:
    try:
        connection.execute(_GIVE_BACK, {"name": name})
        connection.execute(sa.text("RESET statement_timeout"))
    except sa.exc.DBAPIError:
        connection.invalidate()  # the server gives the lock back with the connection
    finally:
        connection.close()
