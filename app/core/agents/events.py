"""Everything that can happen to an agent: a closed union of frozen events, each with its instant.

An event is appended to the agent's log before its consequence is allowed to happen (docs/design.md,
Shape); counters are a fold of that log. All instants are aware and in UTC.
"""

from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum

from app.core.agents.signs import Sign
from app.core.agents.stops import Failure, Hold, StopReason, Trip
from app.core.limits import LimitName
from app.testruns import Outcome, Suite, Tally


class Waits(StrEnum):
    """What an agent waits for that is SLEEPING, PAUSED, or held up in the queue."""

    BLOCKER = "blocker"
    ANSWER = "answer"
    REVIEW = "review"
    RAISE = "raise"
    """A PAUSED agent: a human may raise the limit that holds it."""
    ACCESS = "access"
    """The App is not let into the repository."""
    ROOM = "room"
    """A QUEUED agent: the disk is as good as full."""
    PROVIDER = "provider"
    """A QUEUED agent: its model's provider does not answer."""
    GIT = "git"
    """A QUEUED agent: GitHub, or its git, does not answer."""
    BUDGET = "budget"
    """A QUEUED agent: a budget has too little left for it to go on."""
    CAP = "cap"
    """A QUEUED agent: as many of its repository, or of its role, are at work as may be."""


class Phase(StrEnum):
    """Which part of an agent's work a model call belongs to (seed 000, dual cost tracking)."""

    PLANNING = "planning"
    """The first turn of a role that names a `planning_model`."""
    EXECUTION = "execution"


class Known(StrEnum):
    """What is known of a question."""

    YES = "yes"
    NO = "no"
    UNKNOWN = "unknown"


class ToolKind(StrEnum):
    """What a tool can do, as far as counting needs it."""

    SHELL = "shell"
    WRITE = "write"
    """Changes files."""
    READ = "read"
    """Only looks."""
    OTHER = "other"


class ClosingTool(StrEnum):
    """The tools that end an agent's work; never counted, never denied."""

    REPORT_COMPLETE = "report_complete"
    REPORT_BLOCKED = "report_blocked"
    SUBMIT_REVIEW = "submit_review"
    """Of roles that review, in place of `report_complete`."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Created:
    """The agent was queued for the first time."""

    at: datetime
    started_by: str
    trigger: str
    """What set it in motion, for people: `label squadron:bug-fix`."""
    assignees: tuple[str, ...] = ()
    """Who was assigned to the issue then."""
    said: str = ""
    """Which words of a person started it, by the name that tells them from all others."""
    task_sha256: str = ""
    """Of the text that the agent was given (`Task.sha256`)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SegmentStarted:
    """An attempt of a segment began; the agent is ACTIVE and its clock runs from here."""

    at: datetime
    segment: int
    attempt: int
    """1 for the first; more after the process or the runtime died."""
    worker: str = ""
    """The process that runs it; empty: nobody noted it."""
    clock_lead: float | None = None
    """By how many seconds the wall clock was ahead of the monotonic one of that machine; None:
    nobody noted it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ClockSet:
    """Somebody has set the clock of the machine that runs the segment, between the event before
    and this one."""

    at: datetime
    """As the clock shows it now."""
    by_seconds: float
    """Below 0: it was set back."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SegmentEnded:
    """The segment ended; the clock stops."""

    at: datetime
    why: str
    died: bool = False
    """Whether its runtime or worker died, so that the next segment repeats this one."""
    lost: bool = False
    """Whether it was not the runtime that died: its worker was gone."""


@dataclass(frozen=True, slots=True, kw_only=True)
class HostRefused:
    """What prepares the workspace asked for a host, and was not let through."""

    at: datetime
    host: str
    """Name and port."""
    why: str
    times: int


@dataclass(frozen=True, slots=True, kw_only=True)
class SetUp:
    """What prepares the workspace has ended well, or was not needed again."""

    at: datetime
    made_at: datetime | None = None
    """When another agent's setup ran, whose result was taken; None: it ran for this one."""
    lacks_dependencies: bool = False
    """Whether the agent's branch depends on something else than the default branch, for which alone
    it ran."""


class Lost(StrEnum):
    """What lay in a data directory alone."""

    CONVERSATION = "conversation"
    LATEST_WORDS = "latest words"
    """What was said since the conversation was kept last."""
    WORK = "work"
    """What the agent did after its work was pushed last."""


@dataclass(frozen=True, slots=True, kw_only=True)
class FilesMoved:
    """The segment began in a data directory that does not have what another one has, or had. What
    is not lost was kept elsewhere."""

    at: datetime
    lost: tuple[Lost, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class TurnAsked:
    """A prompt is about to be sent to the session."""

    at: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelAsked:
    """A request is about to be sent to the model."""

    at: datetime
    phase: Phase = Phase.EXECUTION
    estimate_nanousd: int | None = None
    """The most that the call is expected to cost; None where the price is unknown."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelCalled:
    """One answer of the model, with the tokens it was billed for (input includes cached)."""

    at: datetime
    model: str
    input_tokens: int
    output_tokens: int
    cache_read_tokens: int = 0
    cache_write_tokens: int = 0
    cost_nanousd: int | None = None
    """None: nobody knows the price."""
    phase: Phase = Phase.EXECUTION
    is_estimate: bool = False
    """Whether tokens and cost are taken from what was sent and seen, for want of a report."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Spoke:
    """The agent said something in text; thinking is no text."""

    at: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class SuiteAsked:
    """What a shell call asks of the tests, seen before it runs."""

    suite: Suite
    fingerprint: str
    """Identifies the content of the workspace, untracked files included."""
    may_change: bool = False
    """The same command line may change files before the tests run (`sed -i … && pytest`)."""
    may_restore: bool = True
    """And may change them back (`git stash; pytest; git stash pop`)."""


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
    kind: ToolKind = ToolKind.OTHER
    key: str = ""
    """Equal for calls of the same tool with the same arguments; empty: equal to nothing."""
    spawns: bool = False
    """Whether the call starts a sub-agent."""


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
    output: str = ""
    """Of a test run that did not pass, the end of what it printed. Bounded and redacted."""
    result: str = ""
    """Equal for equal results, times and addresses left aside."""
    error: str = ""
    """Equal for equal errors; empty: the tool did what it was asked, or its tests were red."""
    changed: bool = False
    """Whether an editing tool changed files."""
    cut_off: bool = False
    """Whether it ran when the turn was over: it has no result then, and is no error."""


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
class Passed:
    """A limit was reached and did not stop the agent: `on_limit: warn`, or a shadow limit."""

    at: datetime
    limit: LimitName
    observed: float
    maximum: float
    shadow: bool
    refused: bool = False
    """Whether what the agent asked for was refused, which stopped it no more than a warning."""

    @property
    def how(self) -> str:
        """Why the agent went on: `shadow`, `refused` or `warn`."""
        return "shadow" if self.shadow else "refused" if self.refused else "warn"


@dataclass(frozen=True, slots=True, kw_only=True)
class Noticed:
    """The agent was told of a sign that it gets nowhere."""

    at: datetime
    sign: Sign


@dataclass(frozen=True, slots=True, kw_only=True)
class Held:
    """A limit pauses the agent until a human says how to go on."""

    at: datetime
    hold: Hold


@dataclass(frozen=True, slots=True, kw_only=True)
class Raised:
    """A human, or a sub-agent's parent, granted more of one limit; its hold, if there was one, is
    over."""

    at: datetime
    limit: LimitName
    amount: float
    """What was added, after the ceiling had its say."""
    maximum: float
    """What the agent may use from now on."""
    by: str
    comment: int | None = None
    """GitHub's id of the comment that asked for it; None: a button, or the API."""
    said: str = ""
    """Which words of a person asked for it, by the name that tells them from all others."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Lowered:
    """A sub-agent that had paused goes on with less of one limit than it was promised: its parent
    has used the rest meanwhile."""

    at: datetime
    limit: LimitName
    amount: float
    """How much less, in all; 0: as much as it was promised again."""
    maximum: float
    """Where the limit stops it now."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Spawned:
    """A sub-agent was started with a part of what this agent has left, or goes on with more."""

    at: datetime
    child: str
    """Its agent id."""
    reserved: tuple[tuple[LimitName, float], ...] = ()
    """What was set aside of each limit."""
    goes_on: bool = False
    """It had paused, and this agent has given it more: it was counted when it was started."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SpawnRefused:
    """A sub-agent was asked for, and none was started: it does not count."""

    at: datetime
    why: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Returned:
    """A sub-agent has ended or paused; what it used since it began, or went on, is used by this
    agent too. The rest is free again."""

    at: datetime
    child: str
    tool_calls: int
    model_calls: int
    input_tokens: int
    output_tokens: int
    cost_nanousd: int
    unpriced_calls: int
    levels: int
    """Levels of sub-agents below it."""
    estimated_calls: int = 0
    asks: str = ""
    """It has paused: why, in one sentence. Empty: it has ended."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Tripped:
    """A limit stopped the agent for good."""

    at: datetime
    trip: Trip


@dataclass(frozen=True, slots=True, kw_only=True)
class Failed:
    """A failure stopped the agent for good."""

    at: datetime
    failure: Failure


@dataclass(frozen=True, slots=True)
class LineComment:
    """What a review says about one line."""

    path: str
    """From the repository's root."""
    line: int
    """From 1, of the file as the pull request leaves it."""
    body: str


@dataclass(frozen=True, slots=True, kw_only=True)
class SpokenTo:
    """A person wrote to the agent, and the words did not wake it: they are in what the model reads
    next, and in what follows until the model has answered."""

    at: datetime
    """When the agent listened."""
    by: str
    text: str
    """Untrusted."""
    said: str
    """Names the comment: the same words are said once, whoever heard them."""
    written_at: datetime
    link: str
    """To the comment; empty: unknown."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Proposed:
    """An agent that triages said what it thinks of one issue."""

    at: datetime
    issue: int
    role: str
    """That suits the work; empty: none."""
    labels: tuple[str, ...]
    why: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Reported:
    """The agent called a closing tool; what follows is Squadron's to do, whoever dies."""

    at: datetime
    tool: ClosingTool
    text: str
    blocked_by: tuple[int, ...] = ()
    comments: tuple[LineComment, ...] = ()
    """Of a review."""


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
    said: str | None = None
    """Names the comment that woke it: the same words wake once, whoever heard them."""
    feedback: tuple[str, ...] = ()
    """Names of the reviews and failing checks of its pull request that it is told of: a round of
    review. None of them wakes it again."""


@dataclass(frozen=True, slots=True, kw_only=True)
class DiffSize:
    """How far the branch differs from where it left the default branch."""

    files: int
    added: int
    """Lines."""
    deleted: int


@dataclass(frozen=True, slots=True)
class MadeFiles:
    """What of a workspace nobody wrote: its setup, a build or tests made it."""

    path: str
    """A directory (with `/` at the end) or a file, as people read it."""
    files: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Kept:
    """The work was taken out of the workspace, and what became of it."""

    at: datetime
    sha: str | None
    pushed: bool
    problem: str
    commits: tuple[str, ...] = ()
    """Subjects of the agent's commits, oldest first."""
    diff: DiffSize | None = None
    """None: not measured."""
    away: bool = False
    """Whether it was not pushed since GitHub did not answer."""
    content: str | None = None
    """Identifies the files of the workspace, as `SuiteAsked.fingerprint` does, where GitHub holds
    just these; None: it holds others, or none."""
    withheld: tuple[str, ...] = ()
    """Paths in the workspace that were not pushed, as people read them."""
    deleted_tests: tuple[str, ...] = ()
    """Files with tests that the branch takes away, as people read them."""
    steering: tuple[str, ...] = ()
    """Changed files that steer tools of whoever opens the work, as people read them."""
    made: tuple[MadeFiles, ...] = ()
    """What was left out of all commits, since nobody wrote it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class VerifyBegun:
    """Squadron itself is about to find out whether the pushed work is sound, in a clean checkout.
    The agent does nothing meanwhile: its clock stops until it goes on."""

    at: datetime
    sha: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Verified:
    """What Squadron has found out of a pushed commit."""

    at: datetime
    sha: str
    sound: Known
    """UNKNOWN: the commands that say it could not be run."""
    why: str
    """For people, in one sentence: which command failed, and how; or why none could be run."""
    output: str = ""
    """The end of what that command said. Bounded and redacted, and else as it came."""
    tests: Tally | None = None
    """Of sound work: the tests that the commands have run; None: they do not say."""
    base: Tally | None = None
    """The same of the commit from which the work left the default branch."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SentBack:
    """The work is not sound, as `Verified` says, and goes back to the agent: that is an iteration,
    also where test runs are counted."""

    at: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class HandedOver:
    """The agent's work has a pull request from here on."""

    at: datetime
    pull_request: int


@dataclass(frozen=True, slots=True, kw_only=True)
class TakenAway:
    """People took the agent's work away: from here on it does nothing. What it did is kept, and
    then it is CANCELLED."""

    at: datetime
    why: str
    said: str = ""
    """Which words of a person did it, by the name that tells them from all others."""
    since: datetime | None = None
    """When it happened on GitHub, to the second; None: GitHub does not tell."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Finished:
    """The agent reached COMPLETED or CANCELLED."""

    at: datetime
    why: str
    said: str = ""
    """Which words of a person ended it, by the name that tells them from all others."""
    since: datetime | None = None
    """When what ended it happened on GitHub, to the second; None: nothing there did."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Braked:
    """A brake keeps the agent from working: it waits in the queue until that is lifted."""

    at: datetime
    why: str
    """Who put the brake on what, in one sentence for people."""
    scope: str
    """What it is on; with `since` it tells one brake from all others."""
    since: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class BrakeLifted:
    """No brake holds the agent any more: it was queued again."""

    at: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class HeldUp:
    """What the agent needs is not to be had: it waits in the queue, and no clock runs."""

    at: datetime
    waits_for: Waits
    why: str
    """For people, in whole sentences."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LetOn:
    """What held the agent up is over: it was queued again."""

    at: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class LostAccess:
    """The App is not let into the repository any more: whatever runs of the agent has to stop."""

    at: datetime
    why: str
    """What GitHub says, and where that can be changed."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Decided:
    """A look at the agent led to the step that the events before this one are of."""

    at: datetime
    rule: str
    """One of `app/core/steering/next_step.py`, by its name."""
    reason: str
    """Of the step, in words that may hold untrusted text."""


AgentEvent = (
    Created
    | SegmentStarted
    | ClockSet
    | SegmentEnded
    | HostRefused
    | SetUp
    | FilesMoved
    | TurnAsked
    | ModelAsked
    | ModelCalled
    | Spoke
    | ToolAsked
    | ToolDenied
    | ToolEnded
    | Ticked
    | Warned
    | Passed
    | Noticed
    | Held
    | Raised
    | Lowered
    | Spawned
    | SpawnRefused
    | Returned
    | Tripped
    | Failed
    | SpokenTo
    | Proposed
    | Reported
    | Summarised
    | Slept
    | Woken
    | Kept
    | VerifyBegun
    | Verified
    | SentBack
    | HandedOver
    | TakenAway
    | Finished
    | Braked
    | BrakeLifted
    | HeldUp
    | LetOn
    | LostAccess
    | Decided
)

Ask = TurnAsked | ModelAsked | ToolAsked | SentBack | Ticked
"""The events that the breaker judges before it lets them happen."""


def stopped_for_good(why: StopReason, at: datetime) -> Tripped | Failed:
    """The event that says so."""
    return Failed(at=at, failure=why) if isinstance(why, Failure) else Tripped(at=at, trip=why)
