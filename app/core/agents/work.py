"""Durable work, how a session ends by itself, and what became of the work that it left."""

from dataclasses import dataclass
from enum import StrEnum

from app.core.agents.agent import AgentId
from app.core.agents.events import DiffSize, LineComment


class WorkKind(StrEnum):
    """The kinds of durable work; each has a queue of its own."""

    DELIVERY = "delivery"
    SEGMENT = "segment"
    EFFECTS = "effects"
    RECONCILIATION = "reconciliation"
    REDELIVERY = "redelivery"


@dataclass(frozen=True, slots=True)
class Work:
    """One piece of durable work. An id that was used once never runs again."""

    kind: WorkKind
    id: str
    subject: str
    """Delivery id, agent id, or what caused the pass."""
    segment: int = 0
    """Of an agent; of a delivery: how often handling it has failed."""
    delay_seconds: float = 0

    @classmethod
    def to_handle(cls, delivery: str, failures: int = 0, delay_seconds: float = 0) -> "Work":
        """Route one delivery; once more, and later, after each failure."""
        again = f":again:{failures}" if failures else ""
        work_id = f"delivery:{delivery}{again}"
        return cls(WorkKind.DELIVERY, work_id, delivery, failures, delay_seconds)

    @classmethod
    def to_reconcile(cls, delivery: str) -> "Work":
        """One pass, because of a delivery."""
        return cls(WorkKind.RECONCILIATION, f"reconcile:delivery:{delivery}", delivery)

    @classmethod
    def to_run(cls, agent: AgentId, segment: int, delay_seconds: float = 0) -> "Work":
        """Run one segment of an agent."""
        work_id = f"agent:{agent}:seg:{segment}"
        return cls(WorkKind.SEGMENT, work_id, str(agent), segment, delay_seconds)

    @classmethod
    def to_publish(cls, agent: AgentId, occasion: str, delay_seconds: float = 0) -> "Work":
        """Write on GitHub what is to be seen of an agent; `occasion` makes the id unique."""
        return cls(
            WorkKind.EFFECTS,
            f"agent:{agent}:effects:{occasion}",
            str(agent),
            delay_seconds=delay_seconds,
        )


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


@dataclass(frozen=True, slots=True)
class ReportedBlocked:
    """The agent called `report_blocked`."""

    reason: str
    blocked_by: tuple[int, ...]


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

    @property
    def verified(self) -> str | None:
        """The commit, if GitHub has it: a check can stand on it."""
        return self.sha if self.is_pushed else None
