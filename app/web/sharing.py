"""What many ask for at the same time is made once."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import Generic, TypeVar

Made = TypeVar("Made")


class OnceForAll(Generic[Made]):
    """Makes one after the other; whoever asks while one is made shares the next one, which is
    never older than the question."""

    def __init__(self, make: Callable[[], Awaitable[Made]]) -> None:
        self._make = make
        self._turn = asyncio.Lock()
        self._next: asyncio.Task[Made] | None = None

    async def __call__(self) -> Made:
        """Raises what the making raises."""
        if self._next is None:
            self._next = asyncio.create_task(self._make_in_turn())
        return await asyncio.shield(self._next)

    async def _make_in_turn(self) -> Made:
        async with self._turn:
            self._next = None
            return await self._make()
