"""An event loop that knows when nothing is going on, and on which nobody waits in earnest.

What threads do elsewhere is done on the loop itself, so that a story runs the same each time.
"""

import asyncio
import selectors
import sys
from collections.abc import Callable
from types import CodeType
from typing import Any, Final

MOST_REAL_SECONDS: Final = 0.05
"""Who waits longer in earnest does not wait by the clock of the story."""
LOOK_AGAIN_SECONDS: Final = 0.002
"""Whoever was at work elsewhere may just have ended."""
DOES_IO: Final = ("app.adapters.", "app.githubbox.git")
"""Modules that wait for machines: their bounds are of real time."""


class StoryLoop(asyncio.SelectorEventLoop):
    """Runs until nothing is left to do but what waits for the clock."""

    def __init__(self) -> None:
        self._quiet = _QuietSelector()
        super().__init__(self._quiet)
        self._quiet.begin(self._is_busy, self._rest)
        self._waits_in_earnest: list[asyncio.TimerHandle] = []
        self.busy: list[Callable[[], bool]] = []
        """Whether threads are at work whose answers the loop waits for."""
        self.faults: list[str] = []
        """What no story may do, and what ended in the dark."""
        self.turns = 0
        """How often it has looked for something to do."""
        self.before_turn: Callable[[], None] | None = None
        self.set_exception_handler(self._note)

    def run_until_quiet(self) -> None:
        """Let everybody go on until each waits for the clock, or for ever."""
        self.run_forever()

    def finish(self, work: "asyncio.Future[Any]") -> Any:
        """What a task comes to that needs no time to pass."""
        if not work.done():
            self.run_forever()
        if not work.done():
            work.cancel()
            self.run_forever()
            raise AssertionError(f"{work} waits for something that does not come by itself")
        return work.result()

    def run_in_executor(  # type: ignore[override]
        self, executor: object, func: Callable[..., Any], *args: Any
    ) -> "asyncio.Future[Any]":
        """What would be done in a thread is done here, and answered at the loop's next turn."""
        answer = self.create_future()
        try:
            result, error = func(*args), None
        except Exception as failed:  # whatever it is belongs to whoever waits for it
            result, error = None, failed

        def settle() -> None:
            if answer.cancelled():
                return
            if error is None:
                answer.set_result(result)
            else:
                answer.set_exception(error)

        self.call_soon(settle)
        return answer

    def call_later(  # type: ignore[override]
        self, delay: float, callback: Any, *args: Any, context: Any = None
    ) -> asyncio.TimerHandle:
        """Of whoever sleeps in earnest it is asked who that is."""
        handle = super().call_later(delay, callback, *args, context=context)
        if delay > 0 and _calls(sys._getframe(1).f_code):
            who = str(sys._getframe(2).f_globals.get("__name__"))
            if delay > MOST_REAL_SECONDS and not who.startswith(DOES_IO):
                self.faults.append(f"{who} waits for {delay:g} s of real time, not by the clock")
            self._waits_in_earnest.append(handle)
        return handle

    def _is_busy(self) -> bool:
        self.turns += 1
        if self.before_turn is not None:
            self.before_turn()
        now = self.time()
        self._waits_in_earnest = [
            each for each in self._waits_in_earnest if not each.cancelled() and each.when() > now
        ]
        is_waiting = bool(self._waits_in_earnest) or any(busy() for busy in self.busy)
        return is_waiting or len(self._quiet.get_map()) > self._quiet.own

    def _rest(self) -> None:
        self.stop()

    def _note(self, loop: asyncio.AbstractEventLoop, context: dict[str, Any]) -> None:
        error = context.get("exception")
        self.faults.append(f"{context['message']}: {error!r}" if error else context["message"])


def _calls(code: CodeType) -> bool:
    return code is asyncio.sleep.__code__


class _QuietSelector(selectors.DefaultSelector):
    """Waits for the outside only while somebody is at work there."""

    own = 0
    """How many files it watches for the loop itself."""

    def begin(self, is_busy: Callable[[], bool], rest: Callable[[], None]) -> None:
        """From now on these are asked, and told."""
        self._is_busy, self._rest = is_busy, rest
        self.own = len(self.get_map())

    def select(self, timeout: float | None = None) -> list[tuple[selectors.SelectorKey, int]]:
        found = super().select(0)
        if found or (timeout is not None and timeout <= 0):
            return found
        if self._is_busy():
            return super().select(LOOK_AGAIN_SECONDS)
        self._rest()
        return []
