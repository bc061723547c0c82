"""Starts that people ask for, and what became of those that were not made."""

from dataclasses import dataclass, replace
from datetime import datetime

from app.core.agents.agent import Task
from app.core.limits import LimitName
from app.core.rules.trust import Sender
from app.core.steering.asks import Ask
from app.ports.github import Repository


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

    @classmethod
    def of_ask(cls, repository: Repository, issue: int, ask: Ask) -> "Order":
        """What GitHub's state was found to ask for."""
        sender = Sender(ask.by, ask.by.endswith("[bot]"))
        return cls(repository, issue, ask.role, sender, ask.trigger, None, ask.at, is_found=True)

    def where(self) -> dict[str, object]:
        """Fields for the log."""
        return {"repository": self.repository.full_name, "issue": self.issue, "role": self.role}


@dataclass(frozen=True, slots=True)
class WaitingStart:
    """An order that is put off: a budget is too empty, the user has started too much in an hour,
    a brake is on, or the agent before is still being stopped."""

    order: Order
    """As it will be found; its instant is known."""
    due_at: datetime
    """When to try again."""
    budget: str
    """Id of the account that was too empty; without one it waits for something else."""

    @classmethod
    def of(cls, order: Order, now: datetime, due_at: datetime, budget: str = "") -> "WaitingStart":
        """Put an order off, which was asked for `now` unless it says when."""
        return cls(replace(order, at=order.at or now, is_found=True), due_at, budget)

    @property
    def asked_at(self) -> datetime:
        """When it was asked for."""
        assert self.order.at is not None, "an order is put off with its instant"
        return self.order.at


@dataclass(frozen=True, slots=True)
class StartRefused:
    """A start that somebody asked for and that was not made, as of the last time."""

    repository: str
    issue: int
    role: str
    reason: str
    """In people's words."""
    by: str
    """Login of who asked."""
    at: datetime
    """When it was asked for last."""
    first_at: datetime
    times: int
    """How often it was asked for."""
    is_final: bool = False
    """Whether it is not asked about again: only who asks anew is answered anew."""


@dataclass(frozen=True, slots=True)
class TakenBack:
    """That somebody took a start back that waited."""

    said: str
    """Which words did it, by the name that tells them from all others."""
    at: datetime
    """When they were said."""
