"""The breaker: judges an ask against every limit, before it is allowed to happen.

`decide(counters, ask, limits)` is pure. All limits are judged at every check, trips before
warnings (seed 002's sketch returned at the first warning and never saw the later limits).
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from typing import assert_never

from app.core.counters import Counters, after, amounts
from app.core.events import (
    AgentEvent,
    Ask,
    Layer,
    Ticked,
    ToolAsked,
    ToolDenied,
    Trip,
    Tripped,
    TurnAsked,
    Warned,
)
from app.core.limits import CATALOGUE, LimitName, Limits, Trips


class Answer(StrEnum):
    """What the breaker says to an ask."""

    ALLOW = "allow"
    WARN = "warn"
    """Allowed, and the agent is told that it comes close to a limit."""
    DENY = "deny"
    """Not allowed; the agent was stopped before, or the gate is in doubt."""
    HALT = "halt"
    """Not allowed; this ask is the one that tripped."""


@dataclass(frozen=True, slots=True)
class Verdict:
    """The breaker's answer, with the words and figures that explain it."""

    answer: Answer
    reason: str = ""
    limit: str | None = None
    observed: float | None = None
    maximum: float | None = None

    @property
    def allowed(self) -> bool:
        """Whether the ask may happen."""
        return self.answer in (Answer.ALLOW, Answer.WARN)


@dataclass(frozen=True, slots=True)
class Decision:
    """A verdict, the counters after it, and the events that must be stored before it counts."""

    counters: Counters
    verdict: Verdict
    events: tuple[AgentEvent, ...]


@dataclass(frozen=True, slots=True)
class LimitUse:
    """How much of one limit is used."""

    name: LimitName
    observed: float
    maximum: int


def decide(counters: Counters, ask: Ask, limits: Limits, layer: Layer = Layer.HOOK) -> Decision:
    """Judge one ask. The returned counters are always the fold of the returned events.

    After a trip every ask is denied; before it, the first limit in catalogue order that the ask
    would break halts the agent. A denied ask is not counted, but the time that has passed is.
    """
    if counters.trip is not None:
        verdict = _stopped(Answer.DENY, counters.trip)
        return _recorded(counters, (_denied(ask, verdict.reason),), verdict)
    would_be = after(counters, ask)
    happened, uses = amounts(counters, limits, ask.at), usage(would_be, limits, ask.at)
    trip = next(_trips(happened, uses, ask.at, layer), None)
    if trip is not None:
        events = (_denied(ask, trip.reason), Tripped(at=ask.at, trip=trip))
        return _recorded(counters, events, _stopped(Answer.HALT, trip))
    warnings = tuple(_warnings(counters, uses, limits.warning_threshold, ask.at))
    if not warnings:
        return Decision(would_be, Verdict(Answer.ALLOW), (ask,))
    first = warnings[0]
    verdict = Verdict(
        Answer.WARN,
        " ".join(warning_words(warning) for warning in warnings),
        first.limit,
        first.observed,
        first.maximum,
    )
    return _recorded(counters, (ask, *warnings), verdict)


def usage(counters: Counters, limits: Limits, at: datetime) -> tuple[LimitUse, ...]:
    """The use of every limit that is switched on, in catalogue order, as of `at`."""
    used = amounts(counters, limits, at)
    return tuple(
        LimitUse(name, used[name], maximum)
        for name in LimitName
        if (maximum := limits.maximum(name)) is not None
    )


def stopped_words(trip: Trip) -> str:
    """What the agent is told with every denial after a trip."""
    return (
        f"CIRCUIT BREAKER: {trip.reason} Nothing but report_complete and report_blocked works"
        " now. Summarise what you did and what remains."
    )


def warning_words(warning: Warned) -> str:
    """What the agent is told once when it comes close to a limit."""
    unit = CATALOGUE[warning.limit].unit
    return (
        f"Approaching a limit: {warning.limit} at {figure(warning.observed)} of"
        f" {figure(warning.maximum)} {unit}. Wrap up: commit what works, then call"
        " report_complete or report_blocked."
    )


def figure(amount: float | None) -> str:
    """A count or an amount of seconds as people write it."""
    return "unknown" if amount is None else f"{amount:.1f}".removesuffix(".0")


def trip_of(name: LimitName, observed: float, maximum: int, layer: Layer, at: datetime) -> Trip:
    """The trip of one limit, in words."""
    unit = CATALOGUE[name].unit
    reason = f"{name} reached: {figure(observed)} of {figure(maximum)} {unit}."
    return Trip(limit=name, observed=observed, maximum=maximum, layer=layer, at=at, reason=reason)


def _trips(
    happened: Mapping[LimitName, float],
    would_be: Iterable[LimitUse],
    at: datetime,
    layer: Layer,
) -> Iterator[Trip]:
    for use in would_be:
        trips = CATALOGUE[use.name].trips
        match trips:
            case Trips.BEYOND:
                if use.observed > use.maximum:
                    yield trip_of(use.name, happened[use.name], use.maximum, layer, at)
            case Trips.REACHED:
                if use.observed >= use.maximum:
                    yield trip_of(use.name, use.observed, use.maximum, layer, at)
            case _:
                assert_never(trips)


def _warnings(
    counters: Counters, would_be: Iterable[LimitUse], threshold: float, at: datetime
) -> Iterator[Warned]:
    for use in would_be:
        is_close = use.observed / use.maximum >= threshold
        if is_close and use.name not in counters.warned:
            yield Warned(at=at, limit=use.name, observed=use.observed, maximum=use.maximum)


def _denied(ask: Ask, reason: str) -> AgentEvent:
    match ask:
        case ToolAsked(at=at, tool=tool, what=what):
            return ToolDenied(at=at, tool=tool, what=what, reason=reason)
        case TurnAsked(at=at) | Ticked(at=at):
            return Ticked(at=at)
        case _:
            assert_never(ask)


def _stopped(answer: Answer, trip: Trip) -> Verdict:
    return Verdict(answer, stopped_words(trip), trip.limit, trip.observed, trip.maximum)


def _recorded(counters: Counters, events: tuple[AgentEvent, ...], verdict: Verdict) -> Decision:
    for event in events:
        counters = after(counters, event)
    return Decision(counters, verdict, events)
