"""What the tests of the embedded runtime share: a gate that remembers, and sessions to open."""

import asyncio
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from pydantic import SecretStr
from pydantic_ai.models import Model

from app.adapters.processes import ProcessGroups
from app.adapters.runtimes.embedded import Bounds, EmbeddedRuntime, models_of
from app.core.breaker.verdict import Answer, Verdict
from app.core.rules.plan import RuntimeName
from app.core.words.prompts import COMPACTION_MARK, SUMMARY_MARK
from app.ports import (
    Delegate,
    ModelAccess,
    ModelRequest,
    ModelUsage,
    Session,
    SessionOrder,
    ToolCall,
    ToolResult,
)
from app.scripted.model import scripted_model
from app.scripted.script import Answer as Said
from app.scripted.script import Call, ComputedStep, Script, Scripts, Step, calls
from app.scripted.server import ScriptedServer

KEY = "sk-canary-4f1d2b"
WIRES = ("openai:gpt-4o", "anthropic:scripted", "anthropic:claude-haiku-4-5", "scripted:")
"""OpenAI as JSON, Anthropic as JSON, Anthropic as server-sent events, and no wire at all."""
SUMMARY_PROMPT = f"{SUMMARY_MARK}. Stop and report."
COMPACTIONS = (COMPACTION_MARK, "a detailed summary of the conversation so far")
"""By which a request for a compaction is known: the embedded runtime's, and the CLIs'."""
QUICK = Bounds(first_retry_seconds=0.01, request_seconds=5.0)


@dataclass
class RecordingGate:
    """Allows as many tool calls as it is told, then halts once, then denies."""

    most_tools: int = 1_000
    warn_at: int | None = None
    most_requests: int = 1_000
    """To the model; of one more, `refusal` is the verdict."""
    refusal: Answer = Answer.HALT
    warn_at_request: int | None = None
    most_output_tokens: int | None = None
    """How long it lets an answer be."""
    allowed: list[ToolCall] = field(default_factory=list)
    refused: list[ToolCall] = field(default_factory=list)
    ended: list[tuple[ToolCall, ToolResult]] = field(default_factory=list)
    requests: list[ModelRequest] = field(default_factory=list)
    """Those that were allowed."""
    usage: list[ModelUsage] = field(default_factory=list)
    turns: int = 0
    words_after: list[str] = field(default_factory=list)
    """What people have written when each tool has ended."""
    before: Callable[[ToolCall], object] = lambda call: None
    _lock: asyncio.Lock = field(default_factory=asyncio.Lock)

    async def before_turn(self) -> Verdict:
        self.turns += 1
        return Verdict(Answer.ALLOW)

    async def before_model(self, request: ModelRequest) -> Verdict:
        if len(self.requests) >= self.most_requests:
            return Verdict(self.refusal, "TRIPPED: max_model_calls")
        self.requests.append(request)
        most = self.most_output_tokens
        if len(self.requests) == self.warn_at_request:
            words = "WRAP UP: close to max_model_calls"
            return Verdict(Answer.WARN, words, most_output_tokens=most)
        return Verdict(Answer.ALLOW, most_output_tokens=most)

    async def before_tool(self, call: ToolCall) -> Verdict:
        async with self._lock:
            await asyncio.sleep(0)
            self.before(call)
            if len(self.allowed) >= self.most_tools:
                self.refused.append(call)
                first = len(self.refused) == 1
                return Verdict(Answer.HALT if first else Answer.DENY, "TRIPPED: max_tool_calls")
            self.allowed.append(call)
            if len(self.allowed) == self.warn_at:
                return Verdict(Answer.WARN, "WRAP UP: close to max_tool_calls")
            return Verdict(Answer.ALLOW)

    async def after_tool(self, call: ToolCall, result: ToolResult) -> str:
        self.ended.append((call, result))
        return self.words_after.pop(0) if self.words_after else ""

    async def used(self, usage: ModelUsage) -> None:
        self.usage.append(usage)


def story(*steps: Step | ComputedStep, **more: Any) -> Scripts:
    """One script, started by `SCENARIO:story`."""
    script = Script("story", steps, **more)
    return Scripts((script,), (SUMMARY_MARK,), COMPACTIONS)


def bash(command: str, **more: object) -> Call:
    return Call("bash", {"command": command, **more})


def flood(letter: str, size: int = 20_000) -> Said:
    """An answer whose command prints this many of one letter."""
    return calls(bash(f"head -c {size} /dev/zero | tr '\\0' {letter}"))


@dataclass
class World:
    """A workspace, a gate, and sessions opened on them."""

    directory: Path
    scripts: Scripts
    model: str = "scripted:"
    planning_model: str | None = None
    most_output_tokens: int | None = None
    delegate: Delegate | None = None
    gate: RecordingGate = field(default_factory=RecordingGate)
    bounds: Bounds = QUICK
    tools: Sequence[str] | None = None
    server: ScriptedServer | None = None

    @property
    def workspace(self) -> Path:
        return self.directory / "workspace"

    @asynccontextmanager
    async def session(self) -> AsyncIterator[Session]:
        """A session in the same directories as the ones before; closed at the end."""
        self.workspace.mkdir(exist_ok=True)
        session = await self.runtime().open(self.order(), self.gate)
        try:
            yield session
        finally:
            await session.close()

    def runtime(self) -> EmbeddedRuntime:
        return EmbeddedRuntime(ProcessGroups(), self._make_model, self.bounds)

    def order(self, runtime: RuntimeName = "embedded") -> SessionOrder:
        return SessionOrder(
            agent="octo/demo#1/bug-fix/1",
            system_prompt="You are a test.",
            model=self.model,
            planning_model=self.planning_model,
            most_output_tokens=self.most_output_tokens,
            workspace=self.workspace,
            session_directory=self.directory / "session",
            environment={"PATH": "/usr/bin:/bin", "HOME": str(self.directory), "LANG": "C.UTF-8"},
            tools=None if self.tools is None else tuple(self.tools),
            delegate=self.delegate,
            runtime=runtime,
        )

    def _make_model(self, name: str) -> Model:
        if name.startswith("scripted:"):
            return scripted_model(self.scripts.next)
        if self.server is None:
            raise AssertionError("a wire needs a server")
        suffix = "/v1" if name.startswith("openai:") else ""
        access = ModelAccess(SecretStr(KEY), self.server.url + suffix)
        return models_of({name.partition(":")[0]: access})(name)


async def until(condition: Callable[[], object], seconds: float = 5.0) -> None:
    """Wait for a condition; fails when it does not come."""
    async with asyncio.timeout(seconds):
        while not condition():  # noqa: ASYNC110 (files and processes set no event)
            await asyncio.sleep(0.005)


def processes_holding(marker: str) -> list[int]:
    """Living processes with this text in their command line."""
    return [number for number, line in _command_lines() if marker.encode() in line]


def processes_named(name: str) -> list[int]:
    """Living processes that call themselves so, and not what only is to start them."""
    return [number for number, line in _command_lines() if line.startswith(f"{name}\0".encode())]


def _command_lines() -> Iterator[tuple[int, bytes]]:
    for directory in Path("/proc").iterdir():
        if directory.name.isdigit():
            try:
                line = (directory / "cmdline").read_bytes()
            except OSError:
                continue
            yield int(directory.name), line
