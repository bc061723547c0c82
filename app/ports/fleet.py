"""The fleet: all agents of this installation, as lists show them."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

from app.core.agents.agent import Agent, AgentId, Effect, EffectName
from app.core.agents.lifecycle import State
from app.core.agents.queueing import QueuePlace
from app.core.words.glance import Glance


@dataclass(frozen=True, slots=True)
class FleetFilter:
    """Which agents are listed. What is not set leaves none out."""

    repository: str | None = None
    """GitHub's names are the same in capitals and small letters."""
    role: str | None = None
    states: frozenset[State] = frozenset()
    since: datetime | None = None
    """Only those that were moved since then."""
    may_need_person: bool = False
    """Only those that may wait for a person: `matters` says if they do."""
    agent: AgentId | None = None
    parent: AgentId | None = None
    """Only those that this agent has started."""
    started_by: str | None = None
    """Only those that this person has started. Logins are the same in capitals and small letters.
    """


@dataclass(frozen=True, slots=True)
class Facets:
    """By what agents can be told apart, with all values that there are: at most so many."""

    repositories: Sequence[str]
    roles: Sequence[str]
    starters: Sequence[str]
    """Logins, in small letters."""


@dataclass(frozen=True, slots=True)
class FleetAgent:
    """One agent of a list."""

    agent: Agent
    seen: Glance
    effects: Mapping[EffectName, Effect]
    """Those that lists tell of: what GitHub refuses, and the comment and the issue that called
    people."""
    queue: QueuePlace | None
    """Where it stands, if it waits for a worker."""
    is_taken_over: bool
    """Whether a later agent of its post goes on with its work."""
