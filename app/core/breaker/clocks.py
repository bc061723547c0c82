"""Which agents are overdue, judged from the registry alone: the third enforcement layer.

Seed 002, layer 3: the reconciliation loop stops agents that nothing else would stop.
"""

import math
from collections.abc import Iterator, Sequence
from datetime import datetime, timedelta
from typing import Final

from app.core.agents.agent import Agent
from app.core.agents.counters import Counters, active_until, seconds, stops_at, used_of
from app.core.agents.events import (
    AgentEvent,
    Failed,
    HandedOver,
    LostAccess,
    SegmentEnded,
    SegmentStarted,
    Tripped,
    Waits,
)
from app.core.agents.lifecycle import State
from app.core.agents.stops import Layer, Trip
from app.core.breaker.verdict import trip_of
from app.core.limits import Armed, LimitName, Limits

_OF_A_RUNNING_SESSION: Final = frozenset(
    {LimitName.MAX_ACTIVE_DURATION, LimitName.MAX_IDLE_DURATION}
)
GRACE_SECONDS: Final = 30
"""How long after its bound an ACTIVE agent's own hook, timer and summary may take to stop it."""


def overdue(
    agent: Agent, counters: Counters, now: datetime, apart: timedelta = timedelta()
) -> Trip | None:
    """The trip that is due, or None. `apart`: time of its waiting that a brake was on; nobody
    could help it then, so it does not count.

    An ACTIVE agent is overdue only some time after its timer should have seen it, so that the two
    layers do not race. The caller knows whether its worker is alive; a dead one uses no time.
    A pause is bounded like a sleep; since when it lasts, the row says.
    """
    limits = agent.assignment.limits
    match agent.state:
        case State.ACTIVE:
            name = LimitName.MAX_ACTIVE_DURATION
            maximum = stops_at(name, limits, counters)
            grace_seconds = limits.summary_wait + GRACE_SECONDS
            spent = active_until(counters, now)
        case State.SLEEPING | State.PAUSED if agent.waits_for is not Waits.REVIEW:
            name, maximum = LimitName.MAX_SLEEP_DURATION, limits.max_sleep_duration
            grace_seconds = 0
            spent = now - waits_since(agent, counters) - apart
        case _:
            return None
    if maximum is None or spent < timedelta(seconds=maximum + grace_seconds):
        return None
    return trip_of(limits.info(name), seconds(spent), maximum, Layer.RECONCILIATION, now)


def may_be_late(agent: Agent, now: datetime) -> bool:
    """Whether one who waits can be late by now. The row alone rules most of them out, so that
    nobody has to read their logs: what a log tells, and a brake, only make the bound come later.
    """
    limits = agent.assignment.limits
    match agent.state:
        case State.SLEEPING if agent.waits_for is Waits.REVIEW:
            bound: float | None = limits.max_review_wait
        case State.SLEEPING | State.PAUSED:
            bound = limits.max_sleep_duration
        case _:
            return False
    return bound is not None and now - agent.updated_at >= timedelta(seconds=bound)


def waits_since(agent: Agent, counters: Counters) -> datetime:
    """Since when an agent sleeps or is paused."""
    return counters.asleep_since or agent.updated_at


def review_is_over(
    agent: Agent,
    history: Sequence[AgentEvent],
    now: datetime,
    apart: timedelta = timedelta(),
) -> bool:
    """Whether a handed-over pull request was waited for long enough; `apart` as for `overdue`.
    Nobody waits for one that is not open yet."""
    opened = (event.at for event in reversed(history) if isinstance(event, HandedOver))
    waited = now - max(agent.updated_at, next(opened, agent.updated_at)) - apart
    bound = timedelta(seconds=agent.assignment.limits.max_review_wait)
    return agent.state is State.SLEEPING and agent.waits_for is Waits.REVIEW and waited >= bound


def told_to_stop(history: Sequence[AgentEvent]) -> Tripped | Failed | LostAccess | None:
    """What the running attempt of a segment has to stop for, if its agent has not ended yet."""
    for event in reversed(history):
        match event:
            case Tripped() | Failed() | LostAccess():
                return event
            case SegmentStarted() | SegmentEnded():
                return None
            case _:
                continue
    return None


def seconds_left(counters: Counters, limits: Limits, now: datetime) -> float:
    """Seconds until a bound on the time of a running session is reached; 0 when one is."""
    left = (
        bound - used_of(limit.name, limits, counters, now)
        for limit in limits.armed
        if limit.name in _OF_A_RUNNING_SESSION
        for bound in _bounds(limit, counters)
    )
    return max(min(left, default=math.inf), 0.0)


def _bounds(limit: Armed, counters: Counters) -> Iterator[float]:
    lowered = counters.lowered.get(limit.name, 0)
    if limit.ceiling is not None:
        yield limit.ceiling - lowered
    if limit.maximum is not None and limit.name not in counters.passed:
        yield limit.maximum + counters.raised.get(limit.name, 0) - lowered
