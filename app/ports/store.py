"""The durable engine, and the database: inbox, registry, event logs, effects."""

from collections.abc import Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from typing import Protocol

from app.core.agent import Agent, AgentId, Assignment, Effect, EffectName
from app.core.events import AgentEvent, Trip, Waits
from app.core.lifecycle import Signal, State
from app.ports.github import Repository


class WorkKind(StrEnum):
    """The kinds of durable work; each has a queue of its own."""

    DELIVERY = "delivery"
    SEGMENT = "segment"
    EFFECTS = "effects"
    RECONCILIATION = "reconciliation"


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
    def to_run(cls, agent: AgentId, segment: int) -> "Work":
        """Run one segment of an agent."""
        return cls(WorkKind.SEGMENT, f"agent:{agent}:seg:{segment}", str(agent), segment)

    @classmethod
    def to_publish(cls, agent: AgentId, occasion: str, delay_seconds: float = 0) -> "Work":
        """Write on GitHub what is to be seen of an agent; `occasion` makes the id unique."""
        return cls(
            WorkKind.EFFECTS,
            f"agent:{agent}:effects:{occasion}",
            str(agent),
            delay_seconds=delay_seconds,
        )


class Engine(Protocol):
    """Runs work at least once, across crashes."""

    async def enqueue(self, work: Work) -> None: ...

    async def is_alive(self, worker: str) -> bool:
        """Whether the process that goes by this name still runs."""
        ...

    async def is_pending(self, work_id: str) -> bool:
        """Whether the work is queued or running, so that it will end without our help."""
        ...


@dataclass(frozen=True, slots=True)
class Delivery:
    """One webhook POST, as it was signed."""

    id: str
    event: str
    body: bytes
    received_at: datetime


@dataclass(frozen=True, slots=True)
class NewAgent:
    """What a row of the registry starts from."""

    repository: Repository
    issue: int
    role: str
    assignment: Assignment
    branch: str
    """Of the first agent of this post; a successor inherits its predecessor's."""
    default_branch: str
    started_by: str
    trigger: str


@dataclass(frozen=True, slots=True)
class Changes:
    """Fields of the row that change together with a state. `None`: as it is."""

    waits_for: Waits | None = None
    """Set anew at every move: whoever does not sleep waits for nothing."""
    blocked_by: tuple[int, ...] = ()
    summary: str | None = None
    sha: str | None = None
    base_sha: str | None = None
    pull_request: int | None = None
    trip: Trip | None = None
    note: str | None = None


class Store(Protocol):
    """The database: inbox, registry, event logs, effects. Each method is one transaction."""

    async def accept(self, delivery: Delivery) -> bool:
        """Commit a delivery to the inbox; False if its id is known. Many share a transaction.

        Raises `StoreUnavailable` when the database cannot be written within its bound.
        """
        ...

    async def undispatched(self, most: int) -> Sequence[Delivery]:
        """The oldest deliveries that nobody has looked at yet."""
        ...

    async def dispatch(self, ignored: Sequence[str], concerning: Sequence[Work]) -> None:
        """Mark deliveries as looked at, and enqueue work for those that concern an agent."""
        ...

    async def delivery(self, delivery: str) -> Delivery | None: ...

    async def create(self, new: NewAgent, at: datetime) -> Agent | None:
        """Insert a QUEUED agent, its `Created` event and its first segment's work.

        None if a live agent holds the post. A predecessor is named and its branch inherited.
        """
        ...

    async def agent(self, agent: AgentId) -> Agent | None: ...

    async def agents(
        self,
        *,
        repository: str | None = None,
        issue: int | None = None,
        states: frozenset[State] | None = None,
        changed_since: datetime | None = None,
    ) -> Sequence[Agent]:
        """Rows that fit, oldest first."""
        ...

    async def begin_segment(
        self, agent: AgentId, segment: int, worker: str, at: datetime
    ) -> Agent | None:
        """Make the segment ACTIVE (QUEUED, or ACTIVE again after a death), count the attempt and
        append `SegmentStarted`. None if the agent has moved on: then there is nothing to do.
        """
        ...

    async def log(self, agent: AgentId) -> Sequence[AgentEvent]:
        """All events of the agent, in order. The sequence number of the first is 1."""
        ...

    async def append(
        self, agent: AgentId, segment: int, first_seq: int, events: Sequence[AgentEvent]
    ) -> bool:
        """Append to the log of the segment that runs, durably. Many agents share a transaction.

        False if the sequence is taken or the agent has moved on: the caller was superseded and
        must stop.
        """
        ...

    async def move(
        self,
        agent: Agent,
        signal: Signal,
        events: Sequence[AgentEvent],
        changes: Changes,
        follow: Sequence[Work] = (),
    ) -> Agent | None:
        """Compare and set on (state, segment) of `agent`; append, change and enqueue with it.

        A move to QUEUED enqueues the next segment by itself. None if the row has moved on.
        """
        ...

    async def note_head(self, agent: AgentId, base_sha: str | None, sha: str) -> None:
        """Remember the verified head of the agent's branch."""
        ...

    async def note_pull_request(self, agent: AgentId, number: int) -> None: ...

    async def effects(self, agent: AgentId) -> Mapping[EffectName, Effect]: ...

    async def save_effect(self, agent: AgentId, effect: Effect) -> None: ...

    async def agents_with_due_effects(self, at: datetime) -> Sequence[AgentId]:
        """Agents with an effect that is wanted and due."""
        ...


class Exclusive(Protocol):
    """Mutual exclusion by name, across all processes of one database."""

    def __call__(self, name: str) -> AbstractAsyncContextManager[None]:
        """Wait for the name, bounded. Raises `StoreUnavailable` at the bound."""
        ...


class StoreUnavailable(Exception):
    """The database could not be reached or written within its bound."""
