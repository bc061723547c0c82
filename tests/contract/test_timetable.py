"""What is done again and again, when somebody sets the machine's clock. The scheduler is real."""

import asyncio
from datetime import UTC, datetime, timedelta

import pytest

from app.adapters.timetable import LOOK_SECONDS, ScheduledTimes
from app.ports import StoreUnavailable
from tests.twins.clock import TurnedClock

HOUR = timedelta(hours=1)
SOON = 30.0
"""Real seconds, at most: nothing waits for an hour."""


class Done:
    """A job, and how often it was done."""

    def __init__(self, trouble: Exception | None = None) -> None:
        self.times = asyncio.Semaphore(0)
        self._trouble = trouble

    async def __call__(self) -> None:
        self.times.release()
        if self._trouble is not None:
            raise self._trouble

    async def once_more(self) -> None:
        await asyncio.wait_for(self.times.acquire(), SOON)


@pytest.fixture
def clock() -> TurnedClock:
    return TurnedClock(datetime.now(UTC))


async def test_what_is_late_is_done_all_the_same() -> None:
    """A machine that slept, or was too busy, drops nothing."""
    table, done = ScheduledTimes(TurnedClock(datetime.now(UTC) - 1.5 * HOUR)), Done()
    table.every(HOUR, done, at_once=True)
    table.start()
    await done.once_more()
    await table.stop()


async def test_a_clock_that_is_set_back_holds_nothing_up(clock: TurnedClock) -> None:
    table, done = ScheduledTimes(clock), Done()
    table.every(HOUR, done)
    table.start()
    await asyncio.sleep(0)  # it looks at the clock
    clock.set_by(-HOUR)
    clock.turn(timedelta(seconds=LOOK_SECONDS))
    await done.once_more()
    await table.stop()


async def test_a_clock_that_drifts_hurries_nothing(clock: TurnedClock) -> None:
    table, done = ScheduledTimes(clock), Done()
    table.every(HOUR, done)
    table.start()
    await asyncio.sleep(0)
    for by in (-1, 1, -4, 7_200):
        clock.set_by(timedelta(seconds=by))
        clock.turn(timedelta(seconds=LOOK_SECONDS))
        for _ in range(5):
            await asyncio.sleep(0)
    assert done.times.locked(), "nothing was done"
    await table.stop()


async def test_what_the_database_does_not_let_it_do_is_done_at_its_next_time(
    caplog: pytest.LogCaptureFixture,
) -> None:
    table = ScheduledTimes(TurnedClock(datetime.now(UTC)))
    done = Done(StoreUnavailable("The database is away."))
    table.every(timedelta(milliseconds=10), done, at_once=True)
    table.start()
    for _ in range(2):
        await done.once_more()
    await table.stop()
    told = [each for each in caplog.records if "The database is away." in each.getMessage()]
    assert told and not any(each.levelname == "ERROR" for each in caplog.records)
