"""What Squadron needs from the world: the page to read first.

Services speak to these Protocols only; `app/adapters` implement them; `app/bootstrap.py` joins
the two. Values that cross a port are frozen. Every method has a bound on its time, stated by the
adapter, and fails with an exception of this page, never with one of a library.
"""

from collections.abc import Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from pathlib import Path
from typing import Protocol

from app.core.agent import Agent, AgentId, Assignment, Effect, EffectName
from app.core.breaker import Verdict
from app.core.escalation import Conclusion
from app.core.events import AgentEvent, Trip, Waits
from app.core.lifecycle import Signal, State
from app.core.shell_line import ShellLine
from app.core.trust import Permission

# --- time ------------------------------------------------------------------------------------


class Clock(Protocol):
    """The only source of time."""

    def now(self) -> datetime:
        """This instant, aware, in UTC."""
        ...


@dataclass(frozen=True, slots=True)
class Repository:
    """A repository as one installation of the App sees it."""

    full_name: str
    """`owner/name`."""
    installation_id: int


# --- shell -----------------------------------------------------------------------------------


class ParseShell(Protocol):
    """Turns a command line into argument lists. Never raises; bounded."""

    def __call__(self, command: str | Sequence[str]) -> ShellLine: ...


# --- processes -------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Ended:
    """How a child process ended."""

    exit_code: int | None
    """None when it had to be killed at its time bound."""
    output: str
    """stdout and stderr as they came, decoded leniently; the middle is cut beyond the bound."""
    stderr: str = ""
    """Only when the two were asked for apart."""


class Processes(Protocol):
    """Child processes that never outlive their caller: each ends with its whole group."""

    async def run(
        self,
        argv: Sequence[str],
        *,
        cwd: Path,
        environment: Mapping[str, str],
        timeout_seconds: float,
        most_output_bytes: int = 1_000_000,
        stdin: bytes = b"",
        apart: bool = False,
    ) -> Ended:
        """Run to the end, or kill the group at the bound, on cancellation and on failure.

        The environment is exactly the one given. Raises `OSError` if it cannot start.
        """
        ...

    async def kill_marked(self, marker: str) -> int:
        """End every process whose environment holds `SQUADRON_SEGMENT=<marker>`; how many."""
        ...


# --- workspace -------------------------------------------------------------------------------


class WorkspaceFailed(Exception):
    """git or the file system refused; the text says what, where and what to do. No secrets."""


@dataclass(frozen=True, slots=True)
class CheckoutOrder:
    """What a workspace is prepared for."""

    agent: str
    """The agent's id."""
    repository: Repository
    default_branch: str
    branch: str
    """The agent's own branch; created on GitHub with an empty commit if it is not there."""
    author_name: str
    author_email: str
    """The App's bot identity."""


@dataclass(frozen=True, slots=True)
class Checkout:
    """A workspace that is ready to be worked in."""

    directory: Path
    """The agent's clone; its HEAD is the agent's branch."""
    base_sha: str
    """The commit of the default branch that the agent's branch started from."""
    head_sha: str
    """The remote head of the agent's branch, verified."""
    is_fresh: bool
    """Whether it was made by this call; then `setup:` has to run."""


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


class Workspace(Protocol):
    """Real git: a mirror per repository that only Squadron writes, a clone per agent.

    Host git never runs inside a clone that an agent has written (`facts/security.md` section 4).
    """

    async def prepare(self, order: CheckoutOrder) -> Checkout:
        """Make or reopen the agent's clone and make sure its branch exists on GitHub.

        An existing clone is kept as the agent left it. Raises `WorkspaceFailed`.
        """
        ...

    async def fingerprint(self, directory: Path) -> str:
        """Identify the content of the workspace, untracked files included, ignored ones not."""
        ...

    async def keep(self, order: CheckoutOrder, message: str) -> KeptWork:
        """Commit what is uncommitted, push the branch, read the remote's SHA back.

        Never raises for what git or GitHub refuse: that is `KeptWork.problem`.
        """
        ...

    async def news(self, order: CheckoutOrder, since_sha: str) -> str:
        """What changed on the default branch since `since_sha`, for people; empty if nothing.

        The new commits are made available in the clone as `refs/remotes/origin/<default>`.
        """
        ...

    async def remove(self, agent: str) -> bool:
        """Delete the agent's clone if all of its work is on GitHub; False if it was kept."""
        ...


# --- runtime ---------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class ToolCall:
    """One use of a tool, as the model asked for it."""

    id: str
    tool: str
    args: Mapping[str, object]


@dataclass(frozen=True, slots=True)
class ToolResult:
    """How a tool ended."""

    ok: bool
    exit_code: int | None
    """Of a shell command, else None."""
    output: str


@dataclass(frozen=True, slots=True)
class ModelUsage:
    """One answer of the model; input includes cached tokens."""

    model: str
    input_tokens: int
    output_tokens: int


class Gate(Protocol):
    """What a runtime must ask. It fails closed: on any doubt the answer is a denial."""

    async def before_turn(self) -> Verdict:
        """May one more prompt be sent to the session? Counts as a turn."""
        ...

    async def before_tool(self, call: ToolCall) -> Verdict:
        """May this working tool run? Never asked for the closing tools."""
        ...

    async def after_tool(self, call: ToolCall, result: ToolResult) -> None:
        """An allowed tool has ended."""
        ...

    async def used(self, usage: ModelUsage) -> None:
        """The model has answered."""
        ...


@dataclass(frozen=True, slots=True)
class Idle:
    """The turn ended without a closing tool."""

    text: str


@dataclass(frozen=True, slots=True)
class ReportedComplete:
    """The agent called `report_complete`."""

    summary: str


@dataclass(frozen=True, slots=True)
class ReportedBlocked:
    """The agent called `report_blocked`."""

    reason: str
    blocked_by: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Halted:
    """The gate halted the turn, or it was interrupted; running tools have ended."""

    text: str


@dataclass(frozen=True, slots=True)
class RuntimeFailed:
    """The runtime or its model failed beyond its own bounded retries."""

    reason: str


TurnEnd = Idle | ReportedComplete | ReportedBlocked | Halted | RuntimeFailed


@dataclass(frozen=True, slots=True)
class SessionOrder:
    """What a session is opened with. The same agent always gets the same directory."""

    agent: str
    system_prompt: str
    model: str
    """`provider:name`."""
    workspace: Path
    session_directory: Path
    """Where the conversation is saved after each step and found again."""
    environment: Mapping[str, str]
    """All that the agent's processes get: built up from nothing, no secrets."""
    tools: tuple[str, ...] | None
    """Names of the working tools on offer; None: all."""


class Session(Protocol):
    """One agent's conversation with a runtime."""

    @property
    def is_resumed(self) -> bool:
        """Whether it was opened with what was said before; another machine may not have it."""
        ...

    async def turn(self, prompt: str, most_model_calls: int | None = None) -> TurnEnd:
        """Send a prompt and wait until the session is idle, reported, or was halted."""
        ...

    async def interrupt(self) -> None:
        """Make the running turn end as `Halted`: no further model call, running tools may end."""
        ...

    async def close(self) -> None:
        """Stop everything, children included. May be called at any time, more than once."""
        ...


class Runtime(Protocol):
    """Runs sessions of one kind (embedded; others later)."""

    async def open(self, order: SessionOrder, gate: Gate) -> Session:
        """A session, resumed from its directory if there is one."""
        ...


# --- GitHub ----------------------------------------------------------------------------------


class GitHubFailed(Exception):
    """Base of what GitHub answers instead of what was asked for. The text holds no secret."""


class RateLimited(GitHubFailed):
    """A primary or secondary limit; nothing was written. Try again at `resets_at`."""

    def __init__(self, message: str, resets_at: datetime) -> None:
        super().__init__(message)
        self.resets_at = resets_at


class Refused(GitHubFailed):
    """A 4xx that repeating does not cure: missing permission, gone, locked, invalid."""

    def __init__(self, message: str, status: int) -> None:
        super().__init__(message)
        self.status = status


class Unreachable(GitHubFailed):
    """No answer, a time-out, or a 5xx: the write may or may not have happened."""


@dataclass(frozen=True, slots=True)
class RepositoryInfo:
    """What must be known of a repository before an agent starts there."""

    default_branch: str
    is_archived: bool


@dataclass(frozen=True, slots=True)
class Issue:
    """An issue (or a pull request seen as one). Title and body are untrusted text."""

    number: int
    title: str
    body: str
    is_open: bool
    labels: tuple[str, ...]
    assignees: tuple[str, ...]
    author: str
    is_pull_request: bool
    url: str


@dataclass(frozen=True, slots=True)
class Posted:
    """Something our own App wrote: a comment, an issue or a check run."""

    number: int
    """Comment id, issue number, or check run id."""
    url: str
    body: str
    is_open: bool = True
    """Of an issue."""


@dataclass(frozen=True, slots=True)
class PullRequest:
    """A pull request of an agent's branch."""

    number: int
    url: str
    is_open: bool
    is_merged: bool
    head_sha: str


@dataclass(frozen=True, slots=True)
class CheckText:
    """What a check run shows. `conclusion` None: in progress."""

    name: str
    external_id: str
    conclusion: Conclusion | None
    title: str
    summary: str


@dataclass(frozen=True, slots=True)
class Said:
    """What somebody wrote to an agent: a comment or a review. Untrusted text."""

    author: str
    is_bot: bool
    body: str
    at: datetime
    """To the second, as GitHub tells it."""


class GitHub(Protocol):
    """GitHub as one App sees it; every call is bounded and made once (retries are decided above).

    Every method may raise `RateLimited`, `Refused` or `Unreachable`. Look-ups by marker see
    only items that our own App wrote, and read every page.
    """

    async def bot_login(self) -> str:
        """`<slug>[bot]`, the author of everything we write."""
        ...

    async def bot_email(self) -> str:
        """The noreply address under which the bot's commits are shown as its own."""
        ...

    async def repositories(self) -> Sequence[Repository]:
        """Every repository of every installation that is not suspended."""
        ...

    async def repository(self, repository: Repository) -> RepositoryInfo: ...

    async def configuration(self, repository: Repository) -> Mapping[str, bytes]:
        """Files below `.squadron/` on the default branch: `config.yaml`, `agents/<role>.md`."""
        ...

    async def permission(self, repository: Repository, login: str) -> Permission:
        """NONE for somebody unknown."""
        ...

    async def issue(self, repository: Repository, number: int) -> Issue | None:
        """None when it was deleted, transferred, or never existed."""
        ...

    async def issues(
        self, repository: Repository, *, label: str | None = None, assignee: str | None = None
    ) -> Sequence[Issue]:
        """Open issues, pull requests left out, with that label or assignee."""
        ...

    async def labeller(self, repository: Repository, number: int, label: str) -> str | None:
        """Login of who set `label` on the issue last (its timeline), None if nobody did."""
        ...

    async def comments(self, repository: Repository, number: int, marker: str) -> Sequence[Posted]:
        """Our comments on an issue that contain `marker`, oldest first."""
        ...

    async def replies(
        self, repository: Repository, number: int, since: datetime
    ) -> Sequence[Said]:
        """Comments of others on an issue from `since` on, oldest first."""
        ...

    async def change_requests(
        self, repository: Repository, number: int, since: datetime
    ) -> Sequence[Said]:
        """Reviews of a pull request that ask for changes, from `since` on, oldest first."""
        ...

    async def comment(self, repository: Repository, number: int, body: str) -> Posted: ...

    async def edit_comment(self, repository: Repository, comment: int, body: str) -> Posted: ...

    async def delete_comment(self, repository: Repository, comment: int) -> None: ...

    async def marked_issues(
        self, repository: Repository, label: str, marker: str
    ) -> Sequence[Posted]:
        """Our issues, open and closed, with `label` whose body contains `marker`, oldest first."""
        ...

    async def open_issue(
        self,
        repository: Repository,
        title: str,
        body: str,
        labels: Sequence[str],
        assignees: Sequence[str],
    ) -> Posted:
        """Labels that do not exist are created; people who cannot be assigned are left out."""
        ...

    async def edit_issue(
        self, repository: Repository, number: int, *, body: str | None = None, close: bool = False
    ) -> Posted: ...

    async def checks(
        self, repository: Repository, sha: str, name: str, external_id: str
    ) -> Sequence[Posted]:
        """Our check runs of that name on a commit with that `external_id`, oldest first."""
        ...

    async def create_check(self, repository: Repository, sha: str, check: CheckText) -> Posted: ...

    async def update_check(
        self, repository: Repository, number: int, check: CheckText
    ) -> Posted: ...

    async def pull_request(self, repository: Repository, number: int) -> PullRequest: ...

    async def pull_requests(self, repository: Repository, branch: str) -> Sequence[PullRequest]:
        """Pull requests, open and closed, whose head is `branch` of this repository."""
        ...

    async def open_pull_request(
        self, repository: Repository, *, branch: str, base: str, title: str, body: str
    ) -> PullRequest: ...


# --- engine and store ------------------------------------------------------------------------


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
