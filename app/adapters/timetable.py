"""What a service does again and again, by the clock of this machine."""

import asyncio
from contextlib import suppress
from datetime import timedelta

from apscheduler.schedulers.asyncio import AsyncIOScheduler

from app.ports import Clock, Job


class ScheduledTimes:
    """`ports.Timetable`. A job that still runs at its next time is not run beside itself."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._scheduler = AsyncIOScheduler(job_defaults={"coalesce": True, "max_instances": 1})

    def every(self, interval: timedelta, job: Job, *, at_once: bool = False) -> None:
        """Do it so often, the first time at once or after one interval."""
        first = {"next_run_time": self._clock.now()} if at_once else {}
        seconds = interval / timedelta(seconds=1)
        self._scheduler.add_job(_unless_stopped, "interval", args=[job], seconds=seconds, **first)

    def start(self) -> None:
        """Begin."""
        self._scheduler.start()

    async def stop(self) -> None:
        """Do nothing more."""
        self._scheduler.shutdown(wait=False)


async def _unless_stopped(job: Job) -> None:
    """Who stops the service cuts off what is scheduled just then, which is no failure of it."""
    with suppress(asyncio.CancelledError):
        await job()
