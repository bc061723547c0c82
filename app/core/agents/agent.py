"""The agent as the registry knows it: a value, never changed in place."""

import hashlib
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum
from typing import Final, Self

from app.core.agents.events import Waits
from app.core.agents.lifecycle import FINAL, State
from app.core.agents.stops import Failure, StopReason, Trip
from app.core.limits import Limits
from app.core.rules.plan import EscalationRules, RoleKind, RuntimeName, Tests
from app.testruns import SuiteRules

_ID: Final = re.compile(
    r"(?P<repository>[^/#\s]+/[^/#\s]+)#(?P<issue>\d+)/(?P<role>[^/#\s]+)/(?P<n>\d+)"
)


@dataclass(frozen=True, slots=True)
class AgentId:
    """`octo/demo#12/bug-fix/1`: repository, issue, role, attempt."""

    repository: str
    """As it was called when the agent was created; see `Agent.repository`."""
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

    @property
    def sha256(self) -> str:
        """Of title and body, in hexadecimal, so that the log proves what an agent was given."""
        return hashlib.sha256(f"{self.title}\n\n{self.body}".encode(errors="replace")).hexdigest()


VERIFY_SCRIPT: Final = ".squadron/verify.sh"


@dataclass(frozen=True, slots=True)
class Assignment:
    """What an agent works with from start to end; later changes of files do not reach it."""

    limits: Limits
    prompt: str
    """The role's instruction, from the default branch or built in."""
    model: str
    planning_model: str | None
    """Of the first turn; None: `model` does it all."""
    tools: tuple[str, ...] | None
    setup: tuple[str, ...]
    escalation: EscalationRules
    suites: SuiteRules
    task: Task
    kind: RoleKind = RoleKind.WORK
    may_label: tuple[str, ...] = ()
    """Labels that an agent of kind TRIAGE may set itself."""
    setup_script: str = ""
    """Of the repository, from the default branch: runs after `setup`, for bash. Empty: none."""
    runtime: RuntimeName = "embedded"
    tests: Tests = Tests.EXPECTED
    verify: tuple[str, ...] = ()
    """Commands that say whether its work is sound, before that is handed over."""
    verify_script: str = ""
    """The same, of the repository's default branch: runs after `verify`, for bash. Empty: none."""
    co_author: str = ""
    """Of its commits, as `login <address>`; empty: nobody."""
    protected_paths: tuple[str, ...] = ()
    """What it may not change besides what no agent may, as patterns of `.gitignore`."""

    @property
    def verified_by(self) -> tuple[str, ...]:
        """What says if its work is sound, in order, as people read it; empty: nothing does."""
        return (*self.verify, *([VERIFY_SCRIPT] if self.verify_script else ()))


@dataclass(frozen=True, slots=True)
class Agent:
    """One row of the registry."""

    id: AgentId
    repository_id: int
    """GitHub's; it stays the same wherever the repository moves."""
    repository: str
    """Where the repository is now, `owner/name`."""
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
    stop: StopReason | None
    """What stopped it for good."""
    started_by: str
    predecessor: str | None
    input_tokens: int
    output_tokens: int
    created_at: datetime
    updated_at: datetime
    parent: str | None = None
    """Id of the agent whose sub-agent it is: that one runs it, and it holds no post."""
    depth: int = 0
    """Levels of agents above it."""
    taken_away_at: datetime | None = None
    """When people took its work away; None: they did not."""
    retry_at: datetime | None = None
    """When an agent that is held up looks again whether it can begin."""
    missing_provider: str | None = None
    """Of models, as models name it: it waits until that answers."""
    dismissed_at: datetime | None = None
    """Of an ESCALATED agent: when people closed its needs-human issue, or the issue that it worked
    on; None: they did not, so somebody is waited for."""
    rank: int = 0
    """Of a QUEUED agent: the lower is run first (`queueing`); 0: it is not in line. The registry
    gives it."""

    @property
    def is_final(self) -> bool:
        """Whether nothing will ever change this agent's state again."""
        return self.state in FINAL

    @property
    def trip(self) -> Trip | None:
        """The limit that stopped it for good, if one did."""
        return self.stop if isinstance(self.stop, Trip) else None

    @property
    def failure(self) -> Failure | None:
        """What stopped it for good without a limit, if something did."""
        return self.stop if isinstance(self.stop, Failure) else None

    @property
    def has_ended(self) -> bool:
        """Whether it does nothing any more, or is being stopped."""
        return self.is_final or self.state is State.STOPPING

    @property
    def waits_for_person(self) -> bool:
        """Whether it goes on only when somebody answers it, or lets it."""
        is_asking = self.state is State.SLEEPING and self.waits_for is Waits.ANSWER
        return is_asking or self.state is State.PAUSED

    @property
    def is_under_review(self) -> bool:
        """Whether it sleeps until somebody judges its pull request."""
        return self.waits_for is Waits.REVIEW and self.pull_request is not None

    @property
    def is_woken_by_reviews(self) -> bool:
        """Whether what comes to its pull request wakes it now."""
        waits = self.waits_for in (Waits.REVIEW, Waits.ANSWER)
        return self.state is State.SLEEPING and self.pull_request is not None and waits

    @property
    def tokens(self) -> int:
        """Input and output tokens together."""
        return self.input_tokens + self.output_tokens


class EffectName(StrEnum):
    """What Squadron writes on GitHub for one agent, in the order of an escalation."""

    REVIEW = "review"
    """Of a pull request, by an agent whose role reviews."""
    WORK = "work"
    """Pushed once more, where the push at the agent's end was refused."""
    CHECK = "check"
    CALL = "call"
    """A comment that mentions the people for whom the agent waits."""
    LABEL = "label"
    """On the agent's issue, while it waits for a person."""
    COMMENT = "comment"
    PULL_REQUEST = "pull_request"
    ISSUE = "issue"
    BRANCH = "branch"
    """Deleted once its work was merged; no write that a marker could find again."""
    TRIAGE = "triage"
    """Comments and labels of an agent that triages, on issues that are not its own."""


class EffectState(StrEnum):
    """How far an effect has come."""

    WANTED = "wanted"
    DONE = "done"
    REFUSED = "refused"
    """GitHub said no in a way that repeating does not cure; shown to people."""


MADE_AT: Final = "at"
"""In the detail of an effect: when the item was made. Until it is known to be there once only, it
may be there twice."""
SETTLED: Final = "settled"
"""In the detail of an effect: since when it is known that its item is there once."""


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
    """At the latest write: those that failed, and the one that did it."""
    error: str = ""
    due_at: datetime | None = None
    """Not before this instant."""
    edits: tuple[datetime, ...] = ()
    """Instants of the latest edits, newest last, for the bound on noise."""
    detail: Mapping[str, str] = field(default_factory=dict)
    """What must be found again besides, such as the head a check stands on."""
