"""The agent as the registry knows it: a value, never changed in place."""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum
from typing import Final, Self

from app.core.events import Trip, Waits
from app.core.lifecycle import FINAL, State
from app.core.limits import Limits
from app.core.plan import EscalationRules
from app.core.testruns import SuiteRules

_ID: Final = re.compile(
    r"(?P<repository>[^/#\s]+/[^/#\s]+)#(?P<issue>\d+)/(?P<role>[^/#\s]+)/(?P<n>\d+)"
)


@dataclass(frozen=True, slots=True)
class AgentId:
    """`octo/demo#12/bug-fix/1`: repository, issue, role, attempt."""

    repository: str
    issue: int
    role: str
    attempt: int

    @classmethod
    def parse(cls, text: str) -> Self:
        """Raises `ValueError` with the form that is expected."""
        found = _ID.fullmatch(text)
        if found is None:
            raise ValueError(f"{text!r} is no agent id; one reads octo/demo#12/bug-fix/1")
        return cls(found["repository"], int(found["issue"]), found["role"], int(found["n"]))

    def __str__(self) -> str:
        return f"{self.repository}#{self.issue}/{self.role}/{self.attempt}"

    @property
    def post(self) -> str:
        """What at most one live agent may hold: repository, issue and role."""
        return f"{self.repository}#{self.issue}/{self.role}"


@dataclass(frozen=True, slots=True)
class Task:
    """What the agent was asked to do, as it stood when it was started. Untrusted text."""

    title: str
    body: str


@dataclass(frozen=True, slots=True)
class Assignment:
    """What an agent works with from start to end; later changes of files do not reach it."""

    limits: Limits
    prompt: str
    """The role's instruction, from the default branch or built in."""
    model: str
    tools: tuple[str, ...] | None
    setup: tuple[str, ...]
    escalation: EscalationRules
    suites: SuiteRules
    task: Task


@dataclass(frozen=True, slots=True)
class Agent:
    """One row of the registry."""

    id: AgentId
    installation_id: int
    state: State
    waits_for: Waits | None
    segment: int
    """Counts the stretches of work from 0; compared together with the state at every change."""
    segment_attempts: int
    """How often the present segment was started; more than one after deaths."""
    worker: str | None
    """The process that runs the present segment."""
    assignment: Assignment
    branch: str
    default_branch: str
    base_sha: str | None
    sha: str | None
    """The verified head of the branch on GitHub."""
    pull_request: int | None
    blocked_by: tuple[int, ...]
    summary: str
    trip: Trip | None
    started_by: str
    predecessor: str | None
    note: str
    """For the next segment: why the agent was woken, and what a person said. Untrusted text."""
    input_tokens: int
    output_tokens: int
    created_at: datetime
    updated_at: datetime

    @property
    def is_final(self) -> bool:
        """Whether nothing will ever change this agent's state again."""
        return self.state in FINAL

    @property
    def tokens(self) -> int:
        """Input and output tokens together."""
        return self.input_tokens + self.output_tokens


class EffectName(StrEnum):
    """What Squadron writes on GitHub for one agent, in the order of an escalation."""

    CHECK = "check"
    COMMENT = "comment"
    PULL_REQUEST = "pull_request"
    ISSUE = "issue"


class EffectState(StrEnum):
    """How far an effect has come."""

    WANTED = "wanted"
    DONE = "done"
    REFUSED = "refused"
    """GitHub said no in a way that repeating does not cure; shown to people."""


@dataclass(frozen=True, slots=True)
class Effect:
    """One write to GitHub, as far as it has come."""

    name: EffectName
    state: EffectState = EffectState.WANTED
    url: str | None = None
    number: int | None = None
    """GitHub's id of the item, to edit it again."""
    content: str = ""
    """Digest of what was last written, to skip a write that changes nothing."""
    attempts: int = 0
    """Failed attempts since the last success."""
    error: str = ""
    due_at: datetime | None = None
    """Not before this instant."""
    edits: tuple[datetime, ...] = ()
    """Instants of the latest edits, newest last, for the bound on noise."""
    detail: Mapping[str, str] = field(default_factory=dict)
    """What must be found again besides, such as the head a check stands on."""
