"""The wall clock was set while an agent worked: work takes as long as the monotonic clock says."""

from datetime import datetime
from typing import Final

from app.core.agents.counters import Counters
from app.core.agents.events import ClockSet

LEAST_SECONDS: Final = 1.0
"""Less is how clocks are kept right."""


def clock_set(counters: Counters, lead_seconds: float, at: datetime) -> ClockSet | None:
    """What to note in the log before anything else, if the clock was set since the last event.

    `lead_seconds`: how far the wall clock is ahead of the monotonic one at `at`, on the machine
    that runs the segment.
    """
    if counters.clock is None or counters.clock_lead is None:
        return None
    by_seconds = lead_seconds - counters.clock_lead
    if abs(by_seconds) < LEAST_SECONDS:
        return None
    return ClockSet(at=at, by_seconds=by_seconds)
