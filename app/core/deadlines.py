"""Which agents are overdue, judged from the registry alone: the third enforcement layer.

Seed 002, layer 3: the reconciliation loop stops agents that nothing else would stop.
"""

from collections.abc import Iterable
from datetime import datetime, timedelta
from typing import Final

from app.core.agent import Agent
from app.core.breaker import trip_of
from app.core.counters import Counters, active_until, seconds
from app.core.events import (
    AgentEvent,
    Layer,
    SegmentEnded,
    SegmentStarted,
    Slept,
    Trip,
    Waits,
    Woken,
)
from app.core.lifecycle import State
from app.core.limits import LimitName

GRACE_SECONDS: Final = 30
"""How long after its bound an ACTIVE agent's own hook, timer and summary may take to stop it."""


def overdue(agent: Agent, counters: Counters, now: datetime) -> Trip | None:
    """The trip that is due, or None.

    An ACTIVE agent is overdue only some time after its timer should have seen it, so that the two
    layers do not race. The caller knows whether its worker is alive; a dead one uses no time.
    A pause is bounded like a sleep; since when it lasts, the row says.
    """
    limits = agent.assignment.limits
    match agent.state:
        case State.ACTIVE:
            name, maximum = LimitName.MAX_ACTIVE_DURATION, limits.max_active_duration
            grace_seconds = limits.summary_wait + GRACE_SECONDS
            spent = active_until(counters, now)
        case State.SLEEPING | State.PAUSED if agent.waits_for is not Waits.REVIEW:
            name, maximum = LimitName.MAX_SLEEP_DURATION, limits.max_sleep_duration
            grace_seconds = 0
            spent = now - (counters.asleep_since or agent.updated_at)
        case _:
            return None
    if spent < timedelta(seconds=maximum + grace_seconds):
        return None
    return trip_of(name, seconds(spent), maximum, Layer.RECONCILIATION, now)


def review_is_over(agent: Agent, now: datetime) -> bool:
    """Whether a handed-over pull request was waited for long enough (DESIGN section 2)."""
    waited = now - agent.updated_at
    bound = timedelta(seconds=agent.assignment.limits.max_review_wait)
    return agent.state is State.SLEEPING and agent.waits_for is Waits.REVIEW and waited >= bound


def deaths(history: Iterable[AgentEvent]) -> int:
    """How often the runtime or worker of the present stretch of work has died in a row.

    Every start counts until the stretch ends in an orderly way: it went to sleep, was woken, or
    the service was stopped.
    """
    starts = 0
    for event in history:
        match event:
            case SegmentStarted():
                starts += 1
            case Slept() | Woken():
                starts = 0
            case SegmentEnded(died=False):
                starts = 0
            case _:
                continue
    return max(starts - 1, 0)


def seconds_left(counters: Counters, maximum: int, now: datetime) -> float:
    """Active seconds until the bound; 0 when it is reached."""
    left = timedelta(seconds=maximum) - active_until(counters, now)
    return max(left.total_seconds(), 0.0)
