"""Runtimes: what runs an agent, and the gate that it must ask."""

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final, Protocol

from app.core.agents.events import Phase, ToolKind
from app.core.agents.work import SessionEnd
from app.core.breaker.answers import LEAST_ANSWER_TOKENS
from app.core.breaker.verdict import Verdict
from app.core.github.patch import FilePatch
from app.core.limits import LimitName
from app.core.rules.outages import ProviderFailure
from app.core.rules.plan import RuntimeName
from app.ports.blame import Blame, PortFailed


@dataclass(frozen=True, slots=True)
class ToolCall:
    """One use of a tool, as the model asked for it."""

    id: str
    tool: str
    args: Mapping[str, object]
    kind: ToolKind = ToolKind.OTHER
    spawns: bool = False
    """Whether it starts a sub-agent."""
    pipefail: bool = False
    """Whether the shell that runs it has this option: then the status of `tests | tail` is that of
    the tests."""


@dataclass(frozen=True, slots=True)
class ToolResult:
    """How a tool ended."""

    ok: bool
    exit_code: int | None
    """Of a shell command, else None."""
    output: str
    is_cut_off: bool = False
    """Whether it did not end by itself: the turn was over while it ran."""


CUT_OFF: Final = ToolResult(ok=False, exit_code=None, output="(cancelled)", is_cut_off=True)
"""How a tool ended that ran when its turn was over."""


@dataclass(frozen=True, slots=True)
class ModelRequest:
    """One request to the model that is about to be sent, at the most that it may use."""

    model: str
    """`provider:name`."""
    input_tokens: int
    """Estimated."""
    most_output_tokens: int | None
    """None: the provider's own bound."""
    phase: Phase
    least_output_tokens: int = LEAST_ANSWER_TOKENS
    """A shorter bound must not be set: what it thinks has to find room."""


@dataclass(frozen=True, slots=True)
class ModelUsage:
    """One answer of the model; input includes cached tokens.

    Something was sent, so an input of 0 was not reported: whoever counts takes what was asked for.
    """

    model: str
    input_tokens: int
    output_tokens: int
    cache_read_tokens: int = 0
    cache_write_tokens: int = 0
    phase: Phase = Phase.EXECUTION
    has_text: bool = False
    """Whether the agent said something; thinking is no text."""
    is_estimate: bool = False
    """Whether the provider has left a figure open, so that it is taken from what was seen."""
    is_whole: bool = True
    """Whether the answer came to its end."""


class Gate(Protocol):
    """What a runtime must ask. It fails closed: on any doubt the answer is a denial."""

    async def before_turn(self) -> Verdict:
        """May one more prompt be sent to the session? Counts as a turn."""
        ...

    async def before_model(self, request: ModelRequest) -> Verdict:
        """May this request be sent to the model? Where the verdict bounds the answer, the request
        is sent with that bound."""
        ...

    async def before_tool(self, call: ToolCall) -> Verdict:
        """May this working tool run? Never asked for the closing tools. What a verdict says, also
        one that allows, is for the model to read."""
        ...

    async def after_tool(self, call: ToolCall, result: ToolResult) -> str:
        """An allowed tool has ended. What people have written meanwhile, for the model to read with
        the result; empty: nothing."""
        ...

    async def used(self, usage: ModelUsage) -> None:
        """The model has answered."""
        ...


@dataclass(frozen=True, slots=True)
class IncreaseRequested:
    """The agent called `request_increase`: it asks early for more of a limit."""

    limit: LimitName
    amount: float
    evidence: str


@dataclass(frozen=True, slots=True)
class Halted:
    """The gate halted the turn, or it was interrupted; running tools have ended."""

    text: str


@dataclass(frozen=True, slots=True)
class RuntimeFailed:
    """The runtime or its model failed beyond its own bounded retries."""

    reason: str


@dataclass(frozen=True, slots=True)
class ProviderAway:
    """The model's provider gives no whole answer: the session can go on once it does."""

    failure: ProviderFailure


class NoProvider(PortFailed):
    """The model's provider cannot be asked: a session cannot begin before that is mended."""

    blame = Blame.PROVIDER

    def __init__(self, failure: ProviderFailure) -> None:
        super().__init__(failure.reason)
        self.failure = failure


class ModelUnusable(PortFailed):
    """The model that a role names cannot be had from its runtime."""

    blame = Blame.CONFIGURATION


class RuntimeMissing(PortFailed):
    """The runtime that a role names is not installed on this machine."""

    blame = Blame.MACHINE


class SessionDamaged(PortFailed):
    """What was kept of the conversation cannot be read any more."""

    blame = Blame.MACHINE


TurnEnd = SessionEnd | IncreaseRequested | Halted | RuntimeFailed | ProviderAway


@dataclass(frozen=True, slots=True)
class Triage:
    """What the tool `propose_triage` is called with."""

    issue: int
    role: str
    labels: tuple[str, ...]
    why: str


Propose = Callable[[Triage], Awaitable[ToolResult]]
"""Notes what an agent thinks of one issue; the result says if it may not speak of that one."""


@dataclass(frozen=True, slots=True)
class SessionOrder:
    """What a session is opened with. The same agent always gets the same directory."""

    agent: str
    system_prompt: str
    model: str
    """`provider:name`."""
    planning_model: str | None
    """Of the first turn; None: `model` does it all."""
    most_output_tokens: int | None
    """Of one answer of the model; None: the provider's own bound."""
    workspace: Path
    session_directory: Path
    """Where the conversation is saved after each step and found again."""
    environment: Mapping[str, str]
    """All that the agent's processes get: built up from nothing, no secrets."""
    tools: tuple[str, ...] | None
    """Names of the working tools on offer; None: all."""
    delegate: "Delegate | None" = None
    """Runs sub-agents for the tool `task`; None: the tool is not on offer."""
    propose: Propose | None = None
    """For the tool `propose_triage`; None: the tool is not on offer."""
    change: tuple[FilePatch, ...] | None = None
    """What is to be reviewed, for the tool `diff`; the session then ends by `submit_review` in
    place of `report_complete`. None: there is no such tool."""
    open_issue: "OpenIssue | None" = None
    """Opens issues for the tool `open_issue`, which is on offer only where `tools` names it; None:
    it never is."""
    runtime: RuntimeName = "embedded"
    """What runs it."""


@dataclass(frozen=True, slots=True)
class Delegation:
    """What the tool `task` is called with."""

    role: str
    prompt: str
    limits: Mapping[str, object]
    """The parent's overrides, as the model wrote them."""


@dataclass(frozen=True, slots=True)
class Continuation:
    """What the tool `continue_task` is called with."""

    agent: str
    """Id of the paused sub-agent."""
    limits: Mapping[str, object]
    """How much more of which limits, as the model wrote it; empty: as much as it asks for."""
    prompt: str
    """What it is told with that."""


Delegate = Callable[[Delegation | Continuation], Awaitable[ToolResult]]
"""Runs one sub-agent until it ends or pauses; what it reports, or why it does not work, is the
result."""


@dataclass(frozen=True, slots=True)
class IssueProposal:
    """What the tool `open_issue` is called with. Untrusted text."""

    title: str
    body: str


OpenIssue = Callable[[IssueProposal], Awaitable[ToolResult]]
"""Opens one issue in the agent's repository, or says why not."""


class Session(Protocol):
    """One agent's conversation with a runtime."""

    @property
    def is_resumed(self) -> bool:
        """Whether it was opened with what was said before; another machine may not have it."""
        ...

    async def turn(self, prompt: str) -> TurnEnd:
        """Send a prompt and wait until the session is idle, reported, or was halted."""
        ...

    async def summarise(self, prompt: str, most_model_calls: int) -> TurnEnd:
        """As `turn`, for the few words that are left after a trip: short answers, few calls."""
        ...

    async def interrupt(self) -> None:
        """Make the running turn end as `Halted`: no further model call, running tools may end."""
        ...

    async def close(self) -> None:
        """Stop everything, children included. May be called at any time, more than once."""
        ...


class Runtime(Protocol):
    """Runs sessions of one kind."""

    async def open(self, order: SessionOrder, gate: Gate) -> Session:
        """A session, resumed from its directory if there is one.

        Raises `NoProvider`, `ModelUnusable`, `RuntimeMissing`, `SessionDamaged`; `OSError` and
        `RuntimeError` for what may be cured by another attempt.
        """
        ...
