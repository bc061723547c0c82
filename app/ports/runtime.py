"""Runtimes: what runs an agent, and the gate that it must ask."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from app.core.breaker import Verdict


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
