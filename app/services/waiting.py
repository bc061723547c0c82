"""Waiting for work that goes on beside, by the clock that all services share."""

import asyncio
from collections.abc import Collection
from contextlib import suppress
from typing import Any

from app.ports import Clock


async def wait_for_all(
    clock: Clock, tasks: Collection["asyncio.Task[Any]"], seconds: float
) -> "set[asyncio.Task[Any]]":
    """Those that have not ended after so long; they go on."""
    with suppress(TimeoutError):
        async with clock.timeout(seconds):
            await asyncio.wait(tasks)
    return {task for task in tasks if not task.done()}
