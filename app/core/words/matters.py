"""What waits for a person, and what that person can do about it."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import StrEnum
from typing import Final

from app.core.agents.agent import Agent
from app.core.agents.events import Waits
from app.core.agents.lifecycle import State
from app.core.words.glance import Glance

LONG_IN_QUEUE: Final = timedelta(minutes=15)
"""Who waits for a worker, or for GitHub, for so long waits for a person."""


class MatterKind(StrEnum):
    """Why a person is waited for."""

    QUESTION = "question"
    """The agent asks something."""
    DECISION = "decision"
    """A limit holds the agent until somebody raises it, or lets it go on."""
    STOPPED = "stopped"
    """The agent was stopped for good; nobody has taken its work over, or closed the issue that says
    so."""
    ACCESS = "access"
    """The App is not let into the repository."""
    PROVIDER = "provider"
    """The provider of its model does not answer."""
    BUDGET = "budget"
    """A budget has too little left for it."""
    START = "start"
    """It is queued, and does not start."""
    REFUSED = "refused"
    """GitHub refuses what Squadron has to write there."""

    @property
    def ends_by_command(self) -> bool:
        """Whether a command alone ends it."""
        return self in (MatterKind.DECISION, MatterKind.STOPPED)


@dataclass(frozen=True, slots=True)
class Matter:
    """One thing that waits for a person."""

    kind: MatterKind
    since: datetime
    deadline: datetime | None
    """When the agent is stopped if nobody does anything, or looks again by itself."""
    why: str
    """For people; others may have written it."""
    action: str
    """What ends it, in a few words."""


def matters(
    agent: Agent, seen: Glance, refused: Sequence[str], *, is_taken_over: bool, now: datetime
) -> tuple[Matter, ...]:
    """What of an agent waits for a person. `refused`: what GitHub refuses to be told about it, one
    sentence each; `is_taken_over`: a later agent of its post goes on with its work. What a
    sub-agent needs is a matter of its parent."""
    if agent.parent is not None or is_taken_over:
        return ()
    return tuple(filter(None, (_of_state(agent, seen, now), _refusal(agent, refused))))


def _of_state(agent: Agent, seen: Glance, now: datetime) -> Matter | None:
    issue = agent.id.issue
    match agent.state, agent.waits_for:
        case State.SLEEPING, Waits.ANSWER:
            kind, action = MatterKind.QUESTION, f"comment on #{issue}"
        case State.PAUSED, _:
            kind, action = MatterKind.DECISION, f"/squadron resume on #{issue}"
        case State.ESCALATED, _ if agent.dismissed_at is None:
            kind, action = MatterKind.STOPPED, f"/squadron retry on #{issue}"
        case State.SLEEPING, Waits.ACCESS:
            kind, action = MatterKind.ACCESS, "let the App in"
        case State.QUEUED, Waits.PROVIDER:
            action = f"see to {agent.missing_provider or 'the provider'}"
            kind = MatterKind.PROVIDER
        case State.QUEUED, Waits.BUDGET:
            kind, action = MatterKind.BUDGET, "raise the budget"
        case State.QUEUED, _ if action := _start(agent, seen, now):
            kind = MatterKind.START
        case _:
            return None
    return Matter(kind, agent.updated_at, _deadline(agent), seen.why, action)


def _deadline(agent: Agent) -> datetime | None:
    """While a brake is on, the bound on a sleep or a pause does not come nearer."""
    bound = agent.assignment.limits.max_sleep_duration
    if not agent.waits_for_person or bound is None:
        return agent.retry_at
    return agent.updated_at + timedelta(seconds=bound)


def _start(agent: Agent, seen: Glance, now: datetime) -> str:
    """What makes it start; empty: it will by itself."""
    is_long = now - agent.updated_at >= LONG_IN_QUEUE
    match agent.waits_for:
        case Waits.ROOM:
            return "free disk space"
        case None if seen.why:
            return "squadron resume"
        case None if is_long:
            return "see squadron workers"
        case Waits.GIT if is_long:
            return "see GitHub's status"
        case _:
            return ""


def _refusal(agent: Agent, refused: Sequence[str]) -> Matter | None:
    if not refused:
        return None
    action = "mend what GitHub refuses"
    return Matter(MatterKind.REFUSED, agent.updated_at, None, " ".join(refused), action)
