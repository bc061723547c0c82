"""What becomes of the tools that run when an agent trips.

Seed 004: "complete current tool, then stop". Whoever has used up its time has none left for that.
"""

from typing import Final

from app.core.agents.stops import StopReason, Trip
from app.core.limits import LimitName, Limits

_OF_TIME: Final = frozenset({LimitName.MAX_ACTIVE_DURATION, LimitName.MAX_IDLE_DURATION})


def tool_wait_seconds(stop: StopReason | None, limits: Limits) -> float:
    """How long a tool that runs at the stop may still take, before the agent summarises."""
    if not isinstance(stop, Trip) or stop.limit in _OF_TIME:
        return 0
    return limits.running_tool_wait
