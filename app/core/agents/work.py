"""Durable work, how a session ends by itself, and what became of the work that it left."""

from dataclasses import dataclass
from enum import StrEnum
from typing import ClassVar, Final, assert_never

from app.core.agents.agent import AgentId
from app.core.agents.events import DiffSize, LineComment, MadeFiles


class WorkKind(StrEnum):
    """The kinds of durable work; each has a queue of its own."""

    DELIVERY = "delivery"
    SEGMENT = "segment"
    EFFECTS = "effects"
    RECONCILIATION = "reconciliation"
    REDELIVERY = "redelivery"


@dataclass(frozen=True, slots=True)
class HandleDelivery:
    """Route one delivery."""

    kind: ClassVar[WorkKind] = WorkKind.DELIVERY
    delivery: str
    failures: int = 0
    """How often handling it has failed; once more, and later, after each of them."""
    delay_seconds: float = 0

    @property
    def id(self) -> str:
        again = f":again:{self.failures}" if self.failures else ""
        return f"delivery:{self.delivery}{again}"


@dataclass(frozen=True, slots=True)
class RunSegment:
    """Run one segment of an agent."""

    kind: ClassVar[WorkKind] = WorkKind.SEGMENT
    agent: AgentId
    segment: int
    delay_seconds: float = 0
    rank: int = 0
    """Of those that are due, the lowest is run first."""

    @property
    def id(self) -> str:
        return f"agent:{self.agent}:seg:{self.segment}"


@dataclass(frozen=True, slots=True)
class Publish:
    """Write on GitHub what is to be seen of an agent."""

    kind: ClassVar[WorkKind] = WorkKind.EFFECTS
    agent: AgentId
    occasion: str
    """Tells this work from all other of the agent."""
    delay_seconds: float = 0

    @classmethod
    def in_queue(cls, agent: AgentId, occasion: str, delay_seconds: float = 0) -> "Publish":
        """Say where an agent stands in the queue, if it still does."""
        return cls(agent, f"{_IN_QUEUE}{occasion}", delay_seconds)

    @classmethod
    def new_in_queue(cls, agent: AgentId) -> "Publish":
        """Whoever waits longer than most for a worker says so for the first time."""
        return cls.in_queue(agent, "new", _QUEUES_SECONDS)

    @property
    def is_of_queue(self) -> bool:
        """Whether it is worth writing only while the agent waits for a worker."""
        return self.occasion.startswith(_IN_QUEUE)

    @property
    def id(self) -> str:
        return f"{_effects_of(self.agent)}{self.occasion}"


_IN_QUEUE: Final = "queued:"
_QUEUES_SECONDS: Final = 3
"""An agent that a worker takes sooner does not say that it waits."""

ACCESS: Final = "access"
"""Why a pass runs after people have changed what the App may do."""


@dataclass(frozen=True, slots=True)
class Reconcile:
    """One pass."""

    kind: ClassVar[WorkKind] = WorkKind.RECONCILIATION
    why: str
    """What the pass is for."""
    occasion: str
    """Tells this pass from all others."""
    delay_seconds: float = 0

    @classmethod
    def after(cls, delivery: str) -> "Reconcile":
        """Because of a delivery that tells of the App's access."""
        return cls(ACCESS, f"delivery:{delivery}")

    @property
    def id(self) -> str:
        return f"{_PASS}{self.occasion}"


@dataclass(frozen=True, slots=True)
class Redeliver:
    """Ask GitHub for what it could not deliver."""

    kind: ClassVar[WorkKind] = WorkKind.REDELIVERY
    why: str
    occasion: str
    """Tells this work from all others of its kind."""
    delay_seconds: float = 0

    @property
    def id(self) -> str:
        return f"{_REDELIVERY}{self.occasion}"


Work = HandleDelivery | RunSegment | Publish | Reconcile | Redeliver
"""One piece of durable work. An id that was used once never runs again."""

_PASS: Final = "reconcile:"
_REDELIVERY: Final = "redelivery:"


def about(work: Work) -> tuple[str, int]:
    """What an engine keeps of a piece of work besides its kind and id: whom or what it is about,
    and a segment, or how often it has failed."""
    match work:
        case HandleDelivery(delivery=delivery, failures=failures):
            return delivery, failures
        case RunSegment(agent=agent, segment=segment):
            return str(agent), segment
        case Publish(agent=agent):
            return str(agent), 0
        case Reconcile(why=why) | Redeliver(why=why):
            return why, 0
        case _:
            assert_never(work)


def work_of(kind: WorkKind, work_id: str, subject: str, number: int) -> Work:
    """The work that an engine has kept; the opposite of `about`. What was delayed is due."""
    match kind:
        case WorkKind.DELIVERY:
            return HandleDelivery(subject, number)
        case WorkKind.SEGMENT:
            return RunSegment(AgentId.parse(subject), number)
        case WorkKind.EFFECTS:
            agent = AgentId.parse(subject)
            return Publish(agent, work_id.removeprefix(_effects_of(agent)))
        case WorkKind.RECONCILIATION:
            return Reconcile(subject, work_id.removeprefix(_PASS))
        case WorkKind.REDELIVERY:
            return Redeliver(subject, work_id.removeprefix(_REDELIVERY))
        case _:
            assert_never(kind)


def _effects_of(agent: AgentId) -> str:
    return f"agent:{agent}:effects:"


@dataclass(frozen=True, slots=True)
class Idle:
    """The turn ended without a closing tool."""

    text: str


@dataclass(frozen=True, slots=True)
class ReportedComplete:
    """The agent called `report_complete`."""

    summary: str


@dataclass(frozen=True, slots=True)
class ReviewSubmitted:
    """The agent called `submit_review`."""

    summary: str
    comments: tuple[LineComment, ...]


MOST_BLOCKERS: Final = 20
"""Issues that an agent may wait for at once: each pass may ask for each of them."""


@dataclass(frozen=True, slots=True)
class ReportedBlocked:
    """The agent called `report_blocked`."""

    reason: str
    blocked_by: tuple[int, ...]
    """At most `MOST_BLOCKERS`."""


Report = ReportedComplete | ReviewSubmitted | ReportedBlocked
"""How an agent ends its work by itself."""

SessionEnd = Report | Idle
"""How a session ends without anything that stops it."""


@dataclass(frozen=True, slots=True)
class KeptWork:
    """What became of the work when it was taken out of the workspace."""

    sha: str | None
    """The commit that holds all of it, or None if there was no workspace."""
    is_pushed: bool
    """Whether the remote's branch was read back and is `sha`."""
    problem: str = ""
    """What could not be kept or pushed, and where it is; empty if all went well."""
    is_away: bool = False
    """Whether it was not pushed since GitHub did not answer: the same may well succeed later."""
    has_changes: bool = False
    """Whether the branch differs in content from where it left the default branch."""
    commits: tuple[str, ...] = ()
    """Subjects of the agent's commits, oldest first, at most 50."""
    diff: DiffSize | None = None
    """Against where the branch left the default branch; None when git could not say in time."""
    conflicts: tuple[str, ...] = ()
    """Files in which the branch conflicts with the default branch as it is now."""
    diverged: bool = False
    """Whether others pushed what could not be merged with the work, which is not pushed then."""
    was_told: bool = False
    """Whether the agent knew of just that when it was prepared for this work."""
    content: str | None = None
    """`Workspace.fingerprint` of the workspace, where GitHub holds just that; None: it holds other
    files, or none."""
    withheld: tuple[str, ...] = ()
    """Paths in the workspace that were not pushed, as people read them, at most 50."""
    deleted_tests: tuple[str, ...] = ()
    """Files with tests that the branch takes away, as people read them, at most 50."""
    steering: tuple[str, ...] = ()
    """Changed files that steer tools of whoever opens the work, as people read them, at most 50."""
    made: tuple[MadeFiles, ...] = ()
    """What was left out of all commits, since nobody wrote it, at most 50."""

    @property
    def verified(self) -> str | None:
        """The commit, if GitHub has it: a check can stand on it."""
        return self.sha if self.is_pushed else None
