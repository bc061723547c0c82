"""A clock that a story turns."""

import asyncio
import heapq
import itertools
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

from tests.twins.lives import check_alive

NOON = datetime(2026, 3, 1, 12, tzinfo=UTC)


@dataclass(eq=False, slots=True)
class _Waiter:
    """Somebody who waits until so much time has passed."""

    due: timedelta
    order: int
    wake: Callable[[], object]
    who: str
    """Its task's name."""
    is_gone: bool = False
    """It waits no more."""

    def __lt__(self, other: "_Waiter") -> bool:
        return (self.due, self.order) < (other.due, other.order)


class TurnedClock:
    """Implements `ports.Clock`; time passes when a story says so, and then at once.

    Turning it jumps: whoever waits for an instant that has come wakes once, in the order of
    those instants, and finds that it is later already. Of one event loop.
    """

    def __init__(self, start: datetime = NOON) -> None:
        self._shows = start
        self._passed = timedelta()
        self._orders = itertools.count()
        self._waiters: list[_Waiter] = []

    def now(self) -> datetime:
        return self._shows

    def monotonic(self) -> float:
        return self._passed / timedelta(seconds=1)

    async def sleep(self, seconds: float) -> None:
        check_alive()
        waking = asyncio.Event()
        with self._waiter(seconds, waking.set):
            await waking.wait()

    @asynccontextmanager
    async def timeout(self, seconds: float) -> AsyncIterator[None]:
        loop, is_inside = asyncio.get_running_loop(), True
        async with asyncio.timeout(None) as bound:

            def expire() -> None:
                if is_inside:
                    bound.reschedule(loop.time())

            with self._waiter(seconds, lambda: loop.call_soon(expire)):
                try:
                    yield
                finally:
                    is_inside = False

    def turn(self, by: timedelta) -> None:
        """Let so much time pass."""
        assert by >= timedelta(), "time does not pass backwards; see `set_by`"
        self._passed += by
        self._shows += by
        self._wake()

    def set_by(self, by: timedelta) -> None:
        """Show a later time from now on, or an earlier one, as a clock does that is corrected."""
        self._shows += by

    def lose(self, who: str) -> None:
        """Whoever waits now in a task whose name begins so is never woken."""
        lost = [each for each in self._waiters if each.who.startswith(who)]
        assert lost, f"nobody waits whose name begins with {who!r}"
        for waiter in lost:
            waiter.is_gone = True

    @property
    def next_in(self) -> timedelta | None:
        """How long it takes until somebody wakes; None: nobody waits."""
        while self._waiters and self._waiters[0].is_gone:
            heapq.heappop(self._waiters)
        return self._waiters[0].due - self._passed if self._waiters else None

    @contextmanager
    def _waiter(self, seconds: float, wake: Callable[[], object]) -> Iterator[None]:
        # A moment too short for the clock is not none: who waits for the rest of it would spin.
        least = timedelta.resolution if seconds > 0 else timedelta()
        due = self._passed + max(timedelta(seconds=seconds), least)
        task = asyncio.current_task()
        who = task.get_name() if task is not None else ""
        waiter = _Waiter(due, next(self._orders), wake, who)
        heapq.heappush(self._waiters, waiter)
        asyncio.get_running_loop().call_soon(self._wake)  # who waits for no time at all
        try:
            yield
        finally:
            waiter.is_gone = True

    def _wake(self) -> None:
        while (left := self.next_in) is not None and left <= timedelta():
            waiter = heapq.heappop(self._waiters)
            waiter.is_gone = True
            waiter.wake()
