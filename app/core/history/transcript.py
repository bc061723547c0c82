"""A recorded run of any agent system, as plain values: what every importer delivers.

A transcript is a row of steps in the order in which things happened. Three facts hold for each,
whichever system wrote it: no step is earlier than the one before it, each call has an id of its
own, and each result names a call that stands before it and that no other result names. A call
without a result was cut off.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum

from app.core.agents.events import ToolKind


class Format(StrEnum):
    """Who wrote the transcript, as `--format` names it."""

    SQUADRON = "squadron"
    COPILOT = "copilot"
    CLAUDE = "claude"
    GEMINI = "gemini"
    SWE_AGENT = "swe-agent"
    MINI_SWE_AGENT = "mini-swe-agent"


@dataclass(frozen=True, slots=True, kw_only=True)
class Turn:
    """A human's prompt was sent to the session. Formats without prompts have none of these:
    such a transcript is one turn from its first step to its last."""

    at: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class Message:
    """What an agent said, or thought."""

    at: datetime
    agent: str | None
    """A sub-agent, as its system names it; None is the main agent. The same in every step."""
    text: str
    thought: bool
    """The model's thinking, which is no text for anybody."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelCall:
    """One request to the model. What the transcript did not record is None, never 0."""

    at: datetime
    agent: str | None
    model: str | None
    input_tokens: int | None
    """All of the input, whatever of it was read from or written to the cache included."""
    output_tokens: int | None
    cache_read_tokens: int | None
    cache_write_tokens: int | None


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolCall:
    """A tool was asked for, whether or not it was then allowed to run."""

    at: datetime
    agent: str | None
    id: str
    """Unique in the transcript."""
    tool: str
    """As the agent's system calls it."""
    kind: ToolKind
    args: Mapping[str, object]
    pipefail: bool = False
    """Whether the shell that ran it had this option."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolResult:
    """What became of the call with the same id."""

    at: datetime
    agent: str | None
    id: str
    ok: bool
    """Did the tool do what it was asked? A command that ran and exited with 1 did not."""
    exit_code: int | None
    """Of a command line, if it was recorded."""
    output: str
    """What the model saw; may have been cut."""
    denied: bool
    """The call was refused and never ran: it counts against no limit on calls."""


Step = Turn | Message | ModelCall | ToolCall | ToolResult


@dataclass(frozen=True, slots=True, kw_only=True)
class Totals:
    """Tokens of the whole run, where a format knows only those and none of a single call."""

    input_tokens: int
    output_tokens: int


@dataclass(frozen=True, slots=True)
class Unread:
    """A line of the file, or the end of one, that is no JSON: what it told is not known."""

    line: int
    """Counted from 1."""
    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Transcript:
    """One recorded run."""

    format: Format
    steps: tuple[Step, ...]
    totals: Totals | None = None
    unread: tuple[Unread, ...] = ()
