"""What a service does again and again, by the clock of this machine."""

import asyncio
import logging
from contextlib import suppress
from datetime import timedelta
from typing import Final

from apscheduler.schedulers.asyncio import AsyncIOScheduler

from app.ports import Clock, Job, StoreUnavailable

log = logging.getLogger("squadron.timetable")

LOOK_SECONDS: Final = 10.0
MOST_DRIFT: Final = timedelta(seconds=5)
"""More is no drift: somebody has set the wall clock."""


class ScheduledTimes:
    """`ports.Timetable`. A job that still runs at its next time is not run beside itself, and one
    that comes late is done all the same."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._scheduler = AsyncIOScheduler(
            job_defaults={"coalesce": True, "max_instances": 1, "misfire_grace_time": None}
        )
        self._watching: asyncio.Task[None] | None = None

    def every(self, interval: timedelta, job: Job, *, at_once: bool = False) -> None:
        """Do it so often, the first time at once or after one interval."""
        first = {"next_run_time": self._clock.now()} if at_once else {}
        seconds = interval / timedelta(seconds=1)
        self._scheduler.add_job(_unless_stopped, "interval", args=[job], seconds=seconds, **first)

    def start(self) -> None:
        """Begin."""
        self._scheduler.start()
        self._watching = asyncio.create_task(self._watch(), name="timetable")

    async def stop(self) -> None:
        """Do nothing more."""
        if self._watching is not None:
            self._watching.cancel()
        self._scheduler.shutdown(wait=False)

    async def _watch(self) -> None:
        """The scheduler goes by the wall clock: when that is set back, all would wait for as long
        as it was set back. So all is done at once then."""
        shown, passed = self._clock.now(), self._clock.monotonic()
        while True:
            await self._clock.sleep(LOOK_SECONDS)
            now, monotonic = self._clock.now(), self._clock.monotonic()
            if shown + timedelta(seconds=monotonic - passed) - now > MOST_DRIFT:
                for job in self._scheduler.get_jobs():
                    job.modify(next_run_time=now)
            shown, passed = now, monotonic


async def _unless_stopped(job: Job) -> None:
    """Who stops the service cuts off what is scheduled just then, which is no failure of it."""
    with suppress(asyncio.CancelledError):
        try:
            await job()
        except StoreUnavailable as error:
            log.warning("not done until its next time: %s", error)
