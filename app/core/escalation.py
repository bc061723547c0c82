"""What is to be seen of an agent on GitHub, as data: which effects, in which order, how marked."""

from datetime import datetime, timedelta
from typing import Final, Literal

from app.core.agent import Agent, AgentId, Effect, EffectName
from app.core.events import Waits
from app.core.lifecycle import State

NEEDS_HUMAN: Final = "needs-human"
"""The label that every escalation issue has, whatever the configuration adds: we find it by it."""

Conclusion = Literal["success", "failure", "neutral", "cancelled", "action_required"]
"""How a check run ends (GitHub: create a check run, `conclusion`)."""

EDITS_WINDOW: Final = timedelta(minutes=1)
MOST_EDITS_IN_PROGRESS: Final = 1
MOST_EDITS_AT_THE_END: Final = 2
"""A progress comment is edited at most twice a minute; the last word never has to wait."""


def wanted(agent: Agent) -> tuple[EffectName, ...]:
    """The effects an agent's state asks for, in order: the check first, for it blocks the merge."""
    if agent.state is State.ESCALATED:
        return (EffectName.CHECK, EffectName.COMMENT, EffectName.ISSUE)
    if agent.state is State.SLEEPING and agent.waits_for is Waits.REVIEW:
        return (EffectName.PULL_REQUEST, EffectName.CHECK, EffectName.COMMENT)
    return (EffectName.CHECK, EffectName.COMMENT)


def check_conclusion(agent: Agent) -> Conclusion | None:
    """What the check says in each state (EXAMPLES, "Checks"); None: in progress."""
    match agent.state:
        case State.SLEEPING if agent.waits_for is Waits.REVIEW:
            return "success"
        case State.QUEUED | State.ACTIVE | State.SLEEPING:
            return None
        case State.PAUSED:
            return "action_required"
        case State.COMPLETED:
            return "success"
        case State.ESCALATED:
            return "failure"
        case State.CANCELLED:
            return "cancelled"


def marker(agent: AgentId, effect: EffectName) -> str:
    """The hidden mark by which our own item is found again. Anybody can type one, so only items
    that our App wrote are looked at."""
    return f"<!-- squadron:effect:{agent}:{effect} -->"


def escalation_marker(repository: str, issue: int) -> str:
    """The mark of the one open escalation issue of an original issue."""
    return f"<!-- squadron:escalation:{repository}#{issue} -->"


def check_id(agent: AgentId, sha: str) -> str:
    """A check run's `external_id`: one check for an agent on each head of its branch."""
    return f"squadron:{agent}:{sha}"


def may_edit(effect: Effect, is_final: bool, now: datetime) -> bool:
    """Whether the progress comment may be edited now without making noise."""
    recent = [instant for instant in effect.edits if now - instant < EDITS_WINDOW]
    return len(recent) < (MOST_EDITS_AT_THE_END if is_final else MOST_EDITS_IN_PROGRESS)
