"""An order: that somebody asks for an agent, and the verdict on it."""

from dataclasses import dataclass
from datetime import datetime
from enum import Enum, auto

from app.core.agents.agent import Task
from app.core.limits import LimitName
from app.core.rules.trust import Sender
from app.ports import Repository, WaitingStart


@dataclass(frozen=True, slots=True)
class Order:
    """That somebody asks for an agent of a role on an issue."""

    repository: Repository
    issue: int
    role: str
    by: Sender
    trigger: str
    """What set it in motion, for people."""
    task: Task | None
    """The issue as it was then; None: as it is now, if nobody else has changed it since."""
    at: datetime | None = None
    """When it was asked, if that is known; the delivery may have come much later."""
    raises: tuple[tuple[LimitName, float], ...] = ()
    """How much more it gets of which limits than its role has."""
    said: str = ""
    """Which words of a person ask for it, by the name that tells them from all others."""
    is_found: bool = False
    """Whether nobody told of it just now: it was found to be asked for still."""

    def where(self) -> dict[str, str | int]:
        """For the log."""
        return {"repository": self.repository.full_name, "issue": self.issue, "role": self.role}

    def put_off(self, now: datetime, due_at: datetime, budget: str = "") -> WaitingStart:
        """The order as it is kept until then; `budget`: which one has too little left."""
        return WaitingStart(
            repository=self.repository,
            issue=self.issue,
            role=self.role,
            by=self.by,
            trigger=self.trigger,
            task=self.task,
            asked_at=self.at or now,
            due_at=due_at,
            budget=budget,
            raises=self.raises,
            said=self.said,
        )

    @classmethod
    def of(cls, waiting: WaitingStart) -> "Order":
        """The order that was put off."""
        return cls(
            waiting.repository,
            waiting.issue,
            waiting.role,
            waiting.by,
            waiting.trigger,
            waiting.task,
            waiting.asked_at,
            raises=waiting.raises,
            said=waiting.said,
            is_found=True,
        )


class NotStarted(Enum):
    """Why no agent was started."""

    ANSWERED = auto()
    """One has answered this already, or it was taken back."""
    NEVER = auto()
    """It may not start: only who asks anew is answered anew."""
    NOT_NOW = auto()
    """It cannot start as things are."""
    WAITS = auto()
    """It was put off, and starts by itself."""
