"""How a sub-agent's work ends: the state in which it stops, and what its parent reads.

A hold asks the parent, which decides: it gives more of its own, goes on without the sub-agent, or
asks a human for more.
"""

from dataclasses import dataclass
from datetime import datetime
from typing import Final, assert_never

from app.core.agents.agent import Agent
from app.core.agents.counters import Counters
from app.core.agents.steps import Abandon, Escalate, Finish, Pause
from app.core.agents.stops import Cause, Failure, Hold, StopReason
from app.core.breaker.raises import asked_amount, worth
from app.core.steering.github_away import GitHubAway
from app.core.words.prompts import CONTINUE_TASK
from app.ports import (
    Idle,
    ReportedBlocked,
    ReportedComplete,
    ReviewSubmitted,
    SessionEnd,
)
from app.services.segment.supervision import (
    CannotGoOn,
    Died,
    Ended,
    ModelAway,
    Result,
    Stop,
    Stopped,
)

MOST_ANSWER_CHARACTERS: Final = 8_000


@dataclass(frozen=True, slots=True)
class ChildEnd:
    """The end of one sub-agent, or of its work up to a pause."""

    step: Finish | Escalate | Abandon | Pause | None
    """None: somebody else gave the row its final state."""
    ok: bool
    answer: str


def end_of(result: Result, child: Agent, counters: Counters, now: datetime) -> ChildEnd:
    """`counters` are the sub-agent's, as of its end."""
    match result:
        case Ended(end=end):
            return _ended_by_itself(end)
        case Stopped(why=Stop.TRIPPED, summary=summary) if counters.stop is not None:
            return _stopped(counters.stop, summary, is_told=True)
        case Stopped(why=Stop.HELD, summary=summary) if counters.hold is not None:
            return _paused(child, counters, counters.hold, summary)
        case Stopped(why=Stop.SUPERSEDED):
            return ChildEnd(None, ok=False, answer="It was taken away.")
        case Stopped(summary=summary):
            return _taken_away(summary, "it was stopped with the agent that asked it")
        case ModelAway(failure=failure):
            return _taken_away("", f"its model's provider is away: {failure.reason}")
        case GitHubAway(reason=reason):
            return _taken_away("", f"GitHub is away: {reason}")
        case CannotGoOn(cause=cause, reason=reason):
            return _stopped(Failure(cause=cause, at=now, reason=reason), "")
        case Died(reason=reason):
            return _stopped(Failure(cause=Cause.RUNTIME_DIED, at=now, reason=reason), "")
        case _:
            assert_never(result)


def _ended_by_itself(end: SessionEnd) -> ChildEnd:
    match end:
        case ReportedComplete(summary=text) | ReviewSubmitted(summary=text):
            return _finished(text, text, ok=True)
        case ReportedBlocked(reason=reason, blocked_by=blockers):
            waits = ", ".join(f"#{number}" for number in blockers)
            answer = f"It could not go on: {reason}" + (f" (blocked by {waits})" if waits else "")
            return _finished(reason, answer, ok=False)
        case Idle(text=text):
            answer = f"It ended without a report. Its last words: {text or '(none)'}"
            return _finished(text, answer, ok=False)
        case _:
            assert_never(end)


def _finished(summary: str, answer: str, *, ok: bool) -> ChildEnd:
    return ChildEnd(Finish(_bounded(answer), summary), ok=ok, answer=_bounded(answer))


def _taken_away(summary: str, why: str) -> ChildEnd:
    answer = _bounded(f"It was stopped together with you. {_said(summary)}")
    return ChildEnd(Abandon(why, summary), ok=False, answer=answer)


def _stopped(why: StopReason, summary: str, *, is_told: bool = False) -> ChildEnd:
    """`is_told`: the sub-agent's log says so already."""
    answer = _bounded(f"It was stopped: {why.reason} {_said(summary)}")
    return ChildEnd(Escalate(why, is_told, summary), ok=False, answer=answer)


def _said(summary: str) -> str:
    return f"It said: {summary}" if summary else "It left no summary."


def _paused(child: Agent, counters: Counters, hold: Hold, summary: str) -> ChildEnd:
    limits = child.assignment.limits
    amount = asked_amount(limits, counters, hold)
    more = worth(limits.info(hold.limit), amount)
    claim = f" Why: {hold.claim}" if hold.claim else ""
    answer = (
        f"It has paused, and asks you for {more} more of {hold.limit}: {hold.reason}{claim}"
        f" {_said(summary)}\n\nTo let it go on, out of what you have left, call"
        f' {CONTINUE_TASK} with agent "{child.id}". You can do without it as well. If you have too'
        " little left yourself, ask for more with request_increase: it waits with you."
    )
    return ChildEnd(Pause(hold), ok=False, answer=_bounded(answer))


def _bounded(text: str) -> str:
    return text[:MOST_ANSWER_CHARACTERS]
