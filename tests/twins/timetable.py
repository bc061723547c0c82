"""A twin of the timetable: what is done again and again, by the clock that a story turns."""

import asyncio
from contextlib import suppress
from datetime import timedelta

from app.ports import Clock, Job, StoreUnavailable


class TurnedTimetable:
    """Implements `ports.Timetable`."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._jobs: list[tuple[timedelta, Job, bool]] = []
        self._running: list[asyncio.Task[None]] = []

    def every(self, interval: timedelta, job: Job, *, at_once: bool = False) -> None:
        self._jobs.append((interval, job, at_once))

    def start(self) -> None:
        self._running = [asyncio.create_task(self._repeat(*each)) for each in self._jobs]

    async def stop(self) -> None:
        for task in self._running:
            task.cancel()
        await asyncio.gather(*self._running, return_exceptions=True)

    async def _repeat(self, interval: timedelta, job: Job, at_once: bool) -> None:
        if not at_once:
            await self._clock.sleep(interval / timedelta(seconds=1))
        while True:
            with suppress(StoreUnavailable):  # it is done at its next time
                await job()
            await self._clock.sleep(interval / timedelta(seconds=1))
