"""Whether the clock of this machine goes on as it did."""

from typing import Final

from app.core.agents.clock_set import LEAST_SECONDS
from app.ports import Clock
from app.services.world import clock_lead

UNSTEADY_SECONDS: Final = 60.0
"""After the clock was set: by then whoever runs a segment has noted that in its log."""


class Steadiness:
    """What one process knows of it: for that somebody has to ask again and again."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._lead = clock_lead(clock)
        self._steady_from = clock.monotonic()

    def is_given(self) -> bool:
        """Whether the clock was not set within the last minute, as far as was asked."""
        now, lead = self._clock.monotonic(), clock_lead(self._clock)
        if abs(lead - self._lead) >= LEAST_SECONDS:
            self._steady_from = now + UNSTEADY_SECONDS
        self._lead = lead
        return now >= self._steady_from
