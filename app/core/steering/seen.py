"""What is seen of one agent's world at one instant. A fact that nobody has asked for is UNKNOWN."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import Enum, StrEnum
from typing import Final, Literal

from app.core.agents.counters import Counters
from app.core.agents.events import AgentEvent
from app.core.steering.ownership import Taken


class Fact(StrEnum):
    """What a decision may hang on, and has to be asked of the world."""

    OWNERSHIP = "ownership"
    """Whether people have taken the work away: the issue, and what happened to it."""
    PULL_REQUEST = "pull request"
    BLOCKERS = "blockers"
    CIRCLE = "circle"
    """Whether those that it waits for wait for it."""
    FEEDBACK = "feedback"
    """What came to the pull request: reviews, failing checks, a conflict with its base."""
    LIFE = "life"
    """Whether somebody runs the present segment, or will."""


class Unknown(Enum):
    """The type of a fact that nobody has asked for yet."""

    UNKNOWN = "unknown"


UNKNOWN: Final = Unknown.UNKNOWN


@dataclass(frozen=True, slots=True)
class PullSeen:
    """A pull request of the agent's."""

    number: int
    is_open: bool
    is_merged: bool
    ended_at: datetime | None
    """When it was merged or closed, to the second."""


@dataclass(frozen=True, slots=True)
class FeedbackSeen:
    """What came to the agent's pull request and the agent was not told of yet."""

    words: tuple[str, ...]
    """For the agent. Untrusted text."""
    names: tuple[str, ...]
    """Tell each from everything else that wakes agents."""
    by: str
    """Login of the first person among the authors, or ourselves."""
    conflict: str = ""
    """The name of a conflict with the base, if one is among the words."""
    conflict_stays: bool = False
    """Whether the agent was told of the conflict, and left this very head."""


@dataclass(frozen=True, slots=True)
class LifeSeen:
    """Who works on the agent's present segment."""

    is_pending: bool
    """Whether its work is queued or running, so that it will end without our help."""
    has_worker: bool
    """Whether the process that runs it is there, and does not stand still."""


@dataclass(frozen=True, slots=True)
class Answer:
    """Words of a trusted person that wake who waits for an answer."""

    why: str
    """For the agent. Untrusted text."""
    by: str
    said: str
    """Names the comment by its id on GitHub: it wakes an agent once, whoever tells of it."""
    at: datetime | None
    """When it was written, to the second; None: nobody said."""


@dataclass(frozen=True, slots=True)
class Facts:
    """What was asked of the world, or is known from its lists."""

    taken: Taken | Literal[Unknown.UNKNOWN] | None = UNKNOWN
    """That people have taken the work away; None: they have not."""
    pull: PullSeen | Literal[Unknown.UNKNOWN] | None = UNKNOWN
    """None: there is none, or it is as it was."""
    blockers_free: bool | Literal[Unknown.UNKNOWN] = UNKNOWN
    """Whether no blocker is open, or all were closed at one time since the agent fell asleep."""
    circle: tuple[int, ...] | Literal[Unknown.UNKNOWN] = UNKNOWN
    """Issues of a circle of waiting that the agent has closed; empty: there is none."""
    feedback: FeedbackSeen | Literal[Unknown.UNKNOWN] | None = UNKNOWN
    life: LifeSeen | Literal[Unknown.UNKNOWN] = UNKNOWN
    lost_access: str | None = None
    """Why GitHub does not let the App in; empty: it does; None: nobody has asked."""
    answer: Answer | None = None
    """What a person has just written."""
    is_current: bool = False
    """Whether all that people did on GitHub is in these facts, or was acted upon."""


AS_IT_WAS: Final = Facts(taken=None, pull=None, blockers_free=False, circle=(), feedback=None)
"""Nothing on GitHub has changed for the agent since it was looked at last."""


@dataclass(frozen=True, slots=True)
class Seen:
    """One instant's view."""

    now: datetime
    history: Sequence[AgentEvent]
    """The agent's log."""
    counters: Counters
    """The fold of the log."""
    facts: Facts
    braked_for: timedelta = timedelta()
    """How much of its present waiting a brake was on."""
    is_steady: bool = True
    """Whether the clock of whoever looks was not set just now."""
