"""Everything that can happen to an agent: a closed union of frozen events, each with its instant.

An event is appended to the agent's log before its consequence is allowed to happen (DESIGN
section 3); counters are a fold of that log. All instants are aware and in UTC.
"""

from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum

from app.core.limits import LimitName
from app.core.testruns import Outcome, Suite


class Layer(StrEnum):
    """Which enforcement layer saw a trip first."""

    HOOK = "hook"
    """Any check before a tool call, model call or turn."""
    TIMER = "timer"
    RECONCILIATION = "reconciliation"


class Waits(StrEnum):
    """What a sleeping agent waits for."""

    BLOCKER = "blocker"
    ANSWER = "answer"
    REVIEW = "review"


@dataclass(frozen=True, slots=True, kw_only=True)
class Trip:
    """The one moment at which a limit, or a failure, stopped an agent for good."""

    limit: str
    """A `LimitName`, or one of `Cause` when no limit but a failure was the reason."""
    observed: float | None
    maximum: float | None
    layer: Layer
    at: datetime
    reason: str
    """One sentence for people."""


class Cause(StrEnum):
    """Reasons of an escalation that are no limit."""

    RUNTIME_DIED = "runtime_died"
    SETUP_FAILED = "setup_failed"
    BLOCKED_IN_CIRCLE = "blocked_in_circle"
    WORKSPACE_FAILED = "workspace_failed"
    MODEL_FAILED = "model_failed"


class ClosingTool(StrEnum):
    """The tools that end an agent's work; never counted, never denied."""

    REPORT_COMPLETE = "report_complete"
    REPORT_BLOCKED = "report_blocked"


@dataclass(frozen=True, slots=True, kw_only=True)
class Created:
    """The agent was queued for the first time."""

    at: datetime
    started_by: str
    trigger: str
    """What set it in motion, for people: `label squadron:bug-fix`."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SegmentStarted:
    """An attempt of a segment began; the agent is ACTIVE and its clock runs from here."""

    at: datetime
    segment: int
    attempt: int
    """1 for the first; more after the process or the runtime died."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SegmentEnded:
    """The segment ended; the clock stops."""

    at: datetime
    why: str
    died: bool = False
    """Whether its runtime or worker died, so that the next segment repeats this one."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TurnAsked:
    """A prompt is about to be sent to the session."""

    at: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelCalled:
    """One answer of the model, with the tokens it was billed for (input includes cached)."""

    at: datetime
    model: str
    input_tokens: int
    output_tokens: int


@dataclass(frozen=True, slots=True, kw_only=True)
class SuiteAsked:
    """What a shell call asks of the tests, seen before it runs."""

    suite: Suite
    fingerprint: str
    """Identifies the content of the workspace, untracked files included."""
    may_change: bool = False
    """The same command line may change files before the tests run (`sed -i … && pytest`)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolAsked:
    """A working tool is about to run. Closing tools never become this event."""

    at: datetime
    call: str
    """Identifies the call within the agent."""
    tool: str
    what: str
    """The call in short, for people: the command line, or the path. Bounded and redacted."""
    suite: SuiteAsked | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolDenied:
    """A working tool was asked for and did not run; it is not counted."""

    at: datetime
    tool: str
    what: str
    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolEnded:
    """A tool that was allowed has ended."""

    at: datetime
    call: str
    ok: bool
    outcome: Outcome | None = None
    """Of a test run, else None."""
    fingerprint: str | None = None
    """The workspace as the test run left it; None when it was no test run."""
    failures: str = ""
    """A short signature of what failed, for people."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Ticked:
    """Time passed while the segment was running."""

    at: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class Warned:
    """The agent was told once that it comes close to a limit."""

    at: datetime
    limit: LimitName
    observed: float
    maximum: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Tripped:
    """A limit or a failure stopped the agent for good."""

    at: datetime
    trip: Trip


@dataclass(frozen=True, slots=True, kw_only=True)
class Reported:
    """The agent called a closing tool; what follows is Squadron's to do, whoever dies."""

    at: datetime
    tool: ClosingTool
    text: str
    blocked_by: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Summarised:
    """What the agent said about its work at the end of a segment."""

    at: datetime
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Slept:
    """The agent went to sleep; the bound on this sleep runs from here."""

    at: datetime
    waits_for: Waits
    blocked_by: tuple[int, ...]
    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Woken:
    """The agent was queued again."""

    at: datetime
    why: str
    by: str
    """Login of the person, or `squadron` when the state of GitHub was the reason."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Kept:
    """The work was taken out of the workspace, and what became of it."""

    at: datetime
    sha: str | None
    pushed: bool
    problem: str
    commits: tuple[str, ...] = ()
    """Subjects of the agent's commits, oldest first."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Finished:
    """The agent reached COMPLETED or CANCELLED."""

    at: datetime
    why: str


AgentEvent = (
    Created
    | SegmentStarted
    | SegmentEnded
    | TurnAsked
    | ModelCalled
    | ToolAsked
    | ToolDenied
    | ToolEnded
    | Ticked
    | Warned
    | Tripped
    | Reported
    | Summarised
    | Slept
    | Woken
    | Kept
    | Finished
)

Ask = TurnAsked | ToolAsked | Ticked
"""The events that the breaker judges before it lets them happen."""
