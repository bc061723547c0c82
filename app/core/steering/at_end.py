"""What follows when a session has ended by itself: the agent hands over, waits, or is done."""

from collections.abc import Iterable, Sequence
from datetime import datetime
from typing import Final, assert_never

from app.core.agents.agent import Agent
from app.core.agents.events import AgentEvent, Known, Verified, Waits
from app.core.agents.steps import Finish, Requeue, Sleep, Step, escalation
from app.core.agents.stops import Cause, Failure
from app.core.agents.work import (
    Idle,
    KeptWork,
    ReportedBlocked,
    ReportedComplete,
    ReviewSubmitted,
    SessionEnd,
)
from app.core.steering.blockers import circle, unknown_words, waits_in_circle
from app.core.steering.feedback import conflict_stays_words, was_told_of_a_conflict

WITHOUT_A_WORD: Final = "The agent stopped without a word."


def step_at_end(
    agent: Agent,
    end: SessionEnd,
    kept: KeptWork,
    history: Sequence[AgentEvent],
    others: Iterable[Agent],
    at: datetime,
    unknown: Sequence[int] = (),
) -> Step:
    """The step that the end of a session calls for. `history`: the agent's log; `others`: the
    agents of the same repository, by which a circle of waiting is found; `unknown`: the blockers
    that GitHub does not know."""
    match end:
        case ReportedComplete(summary=summary):
            return _complete(agent, summary, kept, history, at)
        case ReviewSubmitted(summary=summary):
            why = "The review was submitted."
            return Finish(why, summary, segment_ended="review submitted")
        case ReportedBlocked(reason=reason, blocked_by=numbers):
            blockers = tuple(sorted({number for number in numbers if number > 0}))
            if not blockers:
                return Sleep(Waits.ANSWER, reason, summary=reason)
            if unknown:
                return Requeue(
                    "blocked by what does not exist", reason, tell=unknown_words(unknown)
                )
            if path := circle(agent.id.issue, blockers, others):
                return escalation(history, waits_in_circle(agent.id.issue, path, at), reason)
            return Sleep(Waits.BLOCKER, reason, blockers, reason)
        case Idle(text=text):
            words = text or WITHOUT_A_WORD
            return Sleep(Waits.ANSWER, words, summary=words)
        case _:
            assert_never(end)


def hands_over(step: Step) -> bool:
    """Whether the step offers the work to people."""
    return isinstance(step, Sleep) and step.waits_for is Waits.REVIEW


def step_after(verified: Verified, step: Step) -> Step:
    """The step that was to hand work over, once Squadron has looked whether it is sound. Work that
    is not goes back to the agent; of what nobody can tell, the check tells people."""
    if verified.sound is Known.NO:
        return Requeue(f"its work is not sound: {verified.why}")
    return step


def _complete(
    agent: Agent, summary: str, kept: KeptWork, history: Sequence[AgentEvent], at: datetime
) -> Step:
    """Hand over by a pull request, or complete at once if nothing was changed. What others pushed
    to the branch is the agent's to resolve, once. What GitHub does not take now is pushed later,
    before there is a pull request."""
    words = ""
    if kept.diverged and not kept.was_told:
        return Requeue(kept.problem, summary, tell=f"Your work could not be pushed: {kept.problem}")
    if kept.diverged:
        words = kept.problem
    elif kept.conflicts and was_told_of_a_conflict(history):
        words = conflict_stays_words(agent.default_branch, kept.conflicts)
    if words:
        return escalation(history, Failure(cause=Cause.CONFLICT, at=at, reason=words), summary)
    if kept.has_changes:
        return Sleep(Waits.REVIEW, "handed over", summary=summary)
    is_empty = kept.sha is not None and (kept.is_away or (kept.is_pushed and not kept.problem))
    if not is_empty:
        return Sleep(Waits.ANSWER, kept.problem, summary=summary)
    return Finish(summary, summary, segment_ended="nothing to change")
