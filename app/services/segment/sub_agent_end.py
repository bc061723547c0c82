"""How a sub-agent's work ends: its final state, and what its parent reads.

A hold cannot ask a human on a sub-agent's behalf, so it stops it; the parent decides.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Final, assert_never

from app.core.agents.counters import Counters
from app.core.agents.events import (
    AgentEvent,
    Finished,
    SegmentEnded,
    Summarised,
    stopped_for_good,
)
from app.core.agents.lifecycle import Signal
from app.core.agents.stops import Cause, Failure, Hold, StopReason, Trip
from app.ports import Changes, Idle, Report, ReportedBlocked, ReportedComplete, ReviewSubmitted
from app.services.segment.supervision import Away, CannotGoOn, Died, Ended, Result, Stop, Stopped

MOST_ANSWER_CHARACTERS: Final = 8_000


@dataclass(frozen=True, slots=True)
class ChildEnd:
    """The end of one sub-agent."""

    signal: Signal | None
    """None: somebody else gave the row its final state."""
    events: Sequence[AgentEvent]
    changes: Changes
    ok: bool
    answer: str


def end_of(result: Result, counters: Counters, now: datetime) -> ChildEnd:
    """`counters` are the sub-agent's, as of its end."""
    match result:
        case Ended(end=end):
            return _ended_by_itself(end, now)
        case Stopped(why=Stop.TRIPPED, summary=summary) if counters.stop is not None:
            return _stopped(counters.stop, summary, now, is_known=True)
        case Stopped(why=Stop.HELD, summary=summary) if counters.hold is not None:
            return _stopped(_as_trip(counters.hold), summary, now)
        case Stopped(why=Stop.SUPERSEDED):
            return ChildEnd(None, (), Changes(), ok=False, answer="It was taken away.")
        case Stopped(summary=summary):
            return _taken_away(summary, "it was stopped with the agent that asked it", now)
        case Away(failure=failure):
            return _taken_away("", f"its model's provider is away: {failure.reason}", now)
        case CannotGoOn(cause=cause, reason=reason):
            return _stopped(Failure(cause=cause, at=now, reason=reason), "", now)
        case Died(reason=reason):
            return _stopped(Failure(cause=Cause.RUNTIME_DIED, at=now, reason=reason), "", now)
        case _:
            assert_never(result)


def _ended_by_itself(end: Report | Idle, now: datetime) -> ChildEnd:
    match end:
        case ReportedComplete(summary=text) | ReviewSubmitted(summary=text):
            return _finished(text, text, now, ok=True)
        case ReportedBlocked(reason=reason, blocked_by=blockers):
            waits = ", ".join(f"#{number}" for number in blockers)
            answer = f"It could not go on: {reason}" + (f" (blocked by {waits})" if waits else "")
            return _finished(reason, answer, now, ok=False)
        case Idle(text=text):
            answer = f"It ended without a report. Its last words: {text or '(none)'}"
            return _finished(text, answer, now, ok=False)
        case _:
            assert_never(end)


def _finished(summary: str, answer: str, now: datetime, *, ok: bool) -> ChildEnd:
    return ChildEnd(
        Signal.FINISHED,
        _ended(summary, "finished", now, Finished(at=now, why=_bounded(answer))),
        Changes(summary=_bounded(summary)),
        ok=ok,
        answer=_bounded(answer),
    )


def _taken_away(summary: str, why: str, now: datetime) -> ChildEnd:
    return ChildEnd(
        Signal.TAKEN_AWAY,
        _ended(summary, why, now, Finished(at=now, why=why)),
        Changes(summary=_bounded(summary)),
        ok=False,
        answer=_bounded(f"It was stopped together with you. {_said(summary)}"),
    )


def _stopped(why: StopReason, summary: str, now: datetime, *, is_known: bool = False) -> ChildEnd:
    """`is_known`: the sub-agent's log says so already."""
    events = _ended(summary, why.reason, now)
    if not is_known:
        events.insert(0, stopped_for_good(why, now))
    return ChildEnd(
        Signal.TRIPPED,
        events,
        Changes(summary=_bounded(summary), stop=why),
        ok=False,
        answer=_bounded(f"It was stopped: {why.reason} {_said(summary)}"),
    )


def _said(summary: str) -> str:
    return f"It said: {summary}" if summary else "It left no summary."


def _as_trip(hold: Hold) -> Trip:
    return Trip(
        limit=hold.limit,
        observed=hold.observed,
        maximum=hold.maximum,
        layer=hold.layer,
        at=hold.at,
        reason=hold.reason,
    )


def _ended(summary: str, why: str, now: datetime, *last: AgentEvent) -> list[AgentEvent]:
    said = [Summarised(at=now, text=_bounded(summary))] if summary else []
    return [*said, SegmentEnded(at=now, why=why[:500]), *last]


def _bounded(text: str) -> str:
    return text[:MOST_ANSWER_CHARACTERS]
