"""A breaker that notes where it would have stopped an agent, and lets it go on.

One pass over what happened then tells of every limit. The first stop is the one that counts; what
comes behind it says what each further limit would have done without those before it.
"""

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Final

from app.core.agents.counters import Counters, after, maximum_of, used_of
from app.core.agents.events import AgentEvent, Ask, Held, Noticed, Passed, Ticked, Tripped, Warned
from app.core.agents.signs import sign_words
from app.core.agents.stops import Hold, Layer
from app.core.breaker.clocks import seconds_left
from app.core.breaker.verdict import amount_words, decide
from app.core.limits import LimitName, Limits

ON_TIME: Final = (LimitName.MAX_ACTIVE_DURATION, LimitName.MAX_IDLE_DURATION)
"""Limits that a running session reaches without doing anything."""
_MOST_STOPS_AT_ONCE: Final = len(LimitName)
_MOST_TICKS_AT_ONCE: Final = 3 * len(ON_TIME)
"""A bound on time warns once, and is reached once below and once at its ceiling."""


@dataclass(frozen=True, slots=True)
class Mark:
    """The step at which a limit would have spoken."""

    limit: str
    reason: str
    observed: float | None
    maximum: float | None
    tool_call: int
    """The number of the last tool call that was allowed, from 1; 0 before the first."""
    at: datetime
    layer: Layer
    action: str
    """`escalate`, `pause`, `request_increase`, `warn` or `shadow`; of a warning: `warning`."""


class Onward:
    """Judges asks one by one. Whatever it says, they happened."""

    def __init__(self, limits: Limits) -> None:
        self.counters = Counters()
        self.stops: list[Mark] = []
        """Where each limit would have stopped the agent for the first time, in order."""
        self.warnings: list[Mark] = []
        self.passed: list[Mark] = []
        """Limits that were reached and would have let it go on: `warn` and shadow."""
        self.at_stop: Counters | None = None
        """What had been used when the first stop came."""
        self._limits = limits

    def note(self, event: AgentEvent) -> None:
        """A fact that nobody is asked about."""
        self.counters = after(self.counters, event)

    def pass_time(self, until: datetime) -> None:
        """The timer layer: it speaks when a bound on time comes, not at the next step."""
        for _ in range(_MOST_TICKS_AT_ONCE):
            clock = self.counters.clock or until
            to_bound = seconds_left(self.counters, self._limits, clock)
            left = min((*self._seconds_to_warnings(clock), to_bound))
            if left > (until - clock).total_seconds():
                return
            self.ask(Ticked(at=clock + timedelta(seconds=left)), Layer.TIMER)

    def ask(self, ask: Ask, layer: Layer = Layer.HOOK) -> None:
        """Judge an ask against the limits that nothing has passed yet, and let it happen."""
        before = self.counters
        for _ in range(_MOST_STOPS_AT_ONCE):
            decision = decide(self.counters, ask, self._limits, layer)
            stop = next((e for e in decision.events if isinstance(e, Tripped | Held)), None)
            if stop is None:
                self.counters = decision.counters
                for event in decision.events:
                    self._note_said(event, layer)
                return
            if self.at_stop is None:
                self.at_stop = after(before, Ticked(at=ask.at))
            self._note_stop(stop)
            self._go_on_without(stop)
        self.counters = after(self.counters, ask)

    def _seconds_to_warnings(self, clock: datetime) -> Iterator[float]:
        for name in ON_TIME:
            maximum = maximum_of(name, self._limits, self.counters)
            if maximum is not None:
                used = used_of(name, self._limits, self.counters, clock)
                left = _milliseconds_up(maximum * self._limits.warning_threshold) - used
                if left > 0:  # else the next step brings it
                    yield left

    def _go_on_without(self, stop: Tripped | Held) -> None:
        """Let the agent pass this limit, and its ceiling."""
        counters = self.counters
        limit = stop.trip.limit if isinstance(stop, Tripped) else stop.hold.limit
        self.counters = counters._replace(passed=counters.passed | {limit})
        others = {name: bound for name, bound in self._limits.ceilings.items() if name != limit}
        self._limits = replace(self._limits, ceilings=others)

    def _note_said(self, event: AgentEvent, layer: Layer) -> None:
        match event:
            case Warned():
                self.warnings.append(self._mark(event, layer, "warning"))
            case Noticed(sign=sign):
                self.warnings.append(
                    Mark(
                        limit=sign,
                        reason=sign_words(sign),
                        observed=None,
                        maximum=None,
                        tool_call=self.counters.tool_calls,
                        at=event.at,
                        layer=layer,
                        action="warning",
                    )
                )
            case Passed():
                self.passed.append(self._mark(event, layer, event.how))
            case _:
                pass

    def _mark(self, said: Warned | Passed, layer: Layer, action: str) -> Mark:
        words = amount_words(self._limits.info(said.limit), said.observed, said.maximum)
        return Mark(
            limit=said.limit,
            reason=f"{said.limit} at {words}.",
            observed=said.observed,
            maximum=said.maximum,
            tool_call=self.counters.tool_calls,
            at=said.at,
            layer=layer,
            action=action,
        )

    def _note_stop(self, stop: Tripped | Held) -> None:
        mark = self._stop_mark(stop)
        if not any(each.limit == mark.limit for each in self.stops):
            self.stops.append(mark)

    def _stop_mark(self, stop: Tripped | Held) -> Mark:
        calls, action = self.counters.tool_calls, "escalate"
        told = stop.trip if isinstance(stop, Tripped) else stop.hold
        if isinstance(told, Hold):
            action = "request_increase" if told.asks else "pause"
        return Mark(
            limit=told.limit,
            reason=told.reason,
            observed=told.observed,
            maximum=told.maximum,
            tool_call=calls,
            at=told.at,
            layer=told.layer,
            action=action,
        )


def _milliseconds_up(seconds: float) -> float:
    """Time is measured in whole milliseconds: the first of them that is no less."""
    return math.ceil(seconds * 1000) / 1000
