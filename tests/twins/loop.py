"""An event loop that knows when nothing is going on, and on which nobody waits in earnest.

What threads do elsewhere is done on the loop itself, so that a story runs the same each time.
"""

import asyncio
import selectors
import sys
from collections.abc import Callable
from concurrent.futures import Executor
from contextvars import Context
from functools import partial
from typing import Any, Final, TypeVar, TypeVarTuple

from tests.twins.lives import owned_task

MOST_REAL_SECONDS: Final = 0.05
"""Who waits longer in earnest does not wait by the clock of the story."""
LOOK_AGAIN_SECONDS: Final = 0.002
"""Whoever was at work elsewhere may just have ended."""
DOES_IO: Final = ("app.adapters.", "app.githubbox.git")
"""Modules that wait for machines: their bounds are of real time."""

Answer = TypeVar("Answer")
Arguments = TypeVarTuple("Arguments")


class StoryLoop(asyncio.SelectorEventLoop):
    """Runs until nothing is left to do but what waits for the clock."""

    def __init__(self) -> None:
        self._quiet = _QuietSelector()
        super().__init__(self._quiet)
        self._quiet.begin(self._turn, self._is_busy, self._rest)
        self._waits_in_earnest: list[asyncio.TimerHandle] = []
        self.busy: list[Callable[[], bool]] = []
        """Whether threads are at work whose answers the loop waits for."""
        self.faults: list[str] = []
        """What no story may do, and what ended in the dark."""
        self.turns_left: int | None = None
        """After so many turns it stops, whatever is going on; None: it does not."""
        self.set_exception_handler(self._note)
        self.set_task_factory(owned_task)

    def run_until_quiet(self) -> None:
        """Let everybody go on until each waits for the clock, or for ever."""
        self.run_forever()

    def finish(self, work: "asyncio.Future[Any]") -> Any:
        """What a task comes to that needs no time to pass. Its turns are nobody's."""
        left, self.turns_left = self.turns_left, None
        if not work.done():
            self.run_forever()
        self.turns_left = left
        if not work.done():
            work.cancel()
            self.run_forever()
            raise AssertionError(f"{work} waits for something that does not come by itself")
        return work.result()

    def run_in_executor(
        self, executor: Executor | None, func: Callable[[*Arguments], Answer], *args: *Arguments
    ) -> "asyncio.Future[Answer]":
        """What would be done in a thread is done here, and answered at the loop's next turn."""
        answer: asyncio.Future[Answer] = self.create_future()
        settle: Callable[[], None]
        try:
            settle = partial(answer.set_result, func(*args))
        except Exception as failed:  # whatever it is belongs to whoever waits for it
            settle = partial(answer.set_exception, failed)
        self.call_soon(lambda: None if answer.cancelled() else settle())
        return answer

    def call_later(
        self,
        delay: float,
        callback: Callable[[*Arguments], object],
        *args: *Arguments,
        context: Context | None = None,
    ) -> asyncio.TimerHandle:
        """Of whoever sleeps in earnest it is asked who that is."""
        handle = super().call_later(delay, callback, *args, context=context)
        if delay > 0 and sys._getframe(1).f_code is asyncio.sleep.__code__:
            who = str(sys._getframe(2).f_globals.get("__name__"))
            if delay > MOST_REAL_SECONDS and not who.startswith(DOES_IO):
                self.faults.append(f"{who} waits for {delay:g} s of real time, not by the clock")
            self._waits_in_earnest.append(handle)
        return handle

    def _is_busy(self) -> bool:
        now = self.time()
        self._waits_in_earnest = [
            each for each in self._waits_in_earnest if not each.cancelled() and each.when() > now
        ]
        is_waiting = bool(self._waits_in_earnest) or any(busy() for busy in self.busy)
        return is_waiting or len(self._quiet.get_map()) > self._quiet.own

    def _turn(self) -> None:
        if self.turns_left is not None:
            self.turns_left -= 1
            if self.turns_left <= 0:
                self.stop()

    def _rest(self) -> None:
        self.stop()

    def _note(self, loop: asyncio.AbstractEventLoop, context: dict[str, Any]) -> None:
        error = context.get("exception")
        self.faults.append(f"{context['message']}: {error!r}" if error else context["message"])


class _QuietSelector(selectors.DefaultSelector):
    """Waits for the outside only while somebody is at work there."""

    own = 0
    """How many files it watches for the loop itself."""

    def begin(
        self, turn: Callable[[], None], is_busy: Callable[[], bool], rest: Callable[[], None]
    ) -> None:
        """From now on these are asked, and told."""
        self._turn, self._is_busy, self._rest = turn, is_busy, rest
        self.own = len(self.get_map())

    def select(self, timeout: float | None = None) -> list[tuple[selectors.SelectorKey, int]]:
        self._turn()
        is_ready = timeout is not None and timeout <= 0
        if is_ready and len(self.get_map()) == self.own:
            return []  # whoever calls from elsewhere has its turn once nothing is left here
        found = super().select(0)
        if found or is_ready:
            return found
        if self._is_busy():
            return super().select(LOOK_AGAIN_SECONDS)
        found = super().select(0)  # whoever was at work may have answered just before it was asked
        if not found:
            self._rest()
        return found
