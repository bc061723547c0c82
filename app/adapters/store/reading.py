"""Reads: off the event loop, on a connection of the pool, within a bound."""

import asyncio
from collections.abc import Callable
from typing import Final, TypeVar

import sqlalchemy as sa

from app.adapters.store.failures import translated
from app.ports import StoreUnavailable

MOST_READ_SECONDS: Final = 30.0

Answer = TypeVar("Answer")


async def read(engine: sa.Engine, query: Callable[[sa.Connection], Answer]) -> Answer:
    """What `query` answers. Raises `StoreUnavailable` at the bound and when the database fails."""

    def answer() -> Answer:
        with engine.connect() as connection:
            return query(connection)

    try:
        async with asyncio.timeout(MOST_READ_SECONDS):
            return await asyncio.to_thread(answer)
    except TimeoutError as error:
        raise StoreUnavailable(
            f"the database took longer than {MOST_READ_SECONDS:g} s for a read"
        ) from error
    except sa.exc.SQLAlchemyError as error:
        raise translated(error) from error.__cause__
