"""The tools of an embedded session: what they take, and what they do in the workspace."""

import asyncio
from collections.abc import Mapping
from functools import lru_cache
from typing import Any, Final, TypeVar, assert_never

from pydantic import BaseModel, Field
from pydantic_ai.messages import ToolCallPart
from pydantic_ai.tools import ToolDefinition

from app.adapters.runtimes.arguments import Args, BadCall, checked, description
from app.adapters.runtimes.closing import closing_tools
from app.adapters.runtimes.embedded import files
from app.adapters.runtimes.embedded.kept import KeptResults, NotKept
from app.adapters.runtimes.serving import (
    DIFF,
    TASK,
    ContinueTask,
    Diff,
    OpenIssue,
    ProposeTriage,
    ServedTool,
    ServedTools,
    Task,
    numbered_lines,
)
from app.core.agents.events import ToolKind
from app.ports import Processes, SessionOrder, ToolCall, ToolResult

MOST_COMMAND_SECONDS = 600
MOST_OUTPUT_BYTES = 1_000_000
"""Of a command, as the gate sees it; the model sees less."""
MOST_SHELLS_AT_ONCE = 8
MOST_KEPT_CHARACTERS_AT_ONCE = 20_000
_Parsed = TypeVar("_Parsed", bound=BaseModel)


class Bash(Args):
    """Run a command line with bash (pipefail is on) in the workspace. Every call is a new shell:
    cd and variables do not last. Whatever still runs when the command ends is killed."""

    command: str = Field(min_length=1)
    timeout_seconds: int = Field(120, ge=1, le=MOST_COMMAND_SECONDS)


class View(Args):
    """Show a text file of the workspace with line numbers, or list a directory."""

    path: str
    first_line: int = Field(1, ge=1)
    last_line: int | None = Field(None, ge=1)


class Create(Args):
    """Write a whole file of the workspace, new or replaced; missing directories are made."""

    path: str
    text: str


class Edit(Args):
    """Replace text in a file of the workspace; `old` must occur in it exactly once."""

    path: str
    old: str
    new: str


class KeptResult(Args):
    """Show lines of a tool result that was cut; `id` is the number in the note of the cut.
    A line of more than 2000 characters is shown as several."""

    id: int = Field(ge=1)
    first_line: int = Field(1, ge=1)
    last_line: int | None = Field(None, ge=1)


OwnTool = Bash | View | Create | Edit | KeptResult
WorkingTool = OwnTool | ServedTool

RESULT: Final = "result"
_OWN: Mapping[str, type[OwnTool]] = {
    "bash": Bash,
    "view": View,
    "create": Create,
    "edit": Edit,
    RESULT: KeptResult,
}
_KINDS: Mapping[str, ToolKind] = {
    "bash": ToolKind.SHELL,
    "view": ToolKind.READ,
    "create": ToolKind.WRITE,
    "edit": ToolKind.WRITE,
    DIFF: ToolKind.READ,
    RESULT: ToolKind.READ,
}


@lru_cache(maxsize=64)
def _schema(tool: type[BaseModel]) -> dict[str, Any]:
    """Made once for each of our tools, and the newest of those that others serve."""
    return tool.model_json_schema()


def kind_of(tool: str) -> ToolKind:
    """What a tool of that name can do."""
    return _KINDS.get(tool, ToolKind.OTHER)


class Toolbox:
    """The tools that one session offers."""

    def __init__(self, order: SessionOrder, processes: Processes, kept: KeptResults) -> None:
        self._workspace = order.workspace
        self._environment = order.environment
        self._served = ServedTools(order)
        self.closing = closing_tools(order)
        self._processes = processes
        self._kept = kept
        self._shells = asyncio.Semaphore(MOST_SHELLS_AT_ONCE)
        own = {name: tool for name, tool in _OWN.items() if _is_on_offer(name, order)}
        self._working: Mapping[str, type[WorkingTool]] = {**own, **self._served.offered}

    def definitions(self) -> list[ToolDefinition]:
        """The tools as the model is told about them; the closing tools are always on offer."""
        return [
            ToolDefinition(
                name=name,
                parameters_json_schema=_schema(tool),
                description=description(tool),
            )
            for name, tool in {**self._working, **self.closing}.items()
        ]

    def asked(self, call: ToolCallPart) -> ToolCall:
        """The call as the gate is asked about it."""
        name = call.tool_name
        kind = kind_of(name) if name in self._working else ToolKind.OTHER
        return ToolCall(
            call.tool_call_id,
            name,
            call.args_as_dict(),
            kind=kind,
            spawns=self._spawns(call),
            pipefail=kind is ToolKind.SHELL,
        )

    async def run(self, call: ToolCallPart) -> ToolResult:
        """Do what an allowed call asks for; whatever is wrong with it is its result."""
        try:
            return await self._run(self._parsed(call))
        except (BadCall, NotKept, files.FileRefused) as error:
            return ToolResult(ok=False, exit_code=None, output=str(error))

    def _spawns(self, call: ToolCallPart) -> bool:
        """A call that is not well-formed starts nothing."""
        if call.tool_name != TASK:
            return False
        try:
            return isinstance(self._parsed(call), Task)
        except BadCall:
            return False

    def _parsed(self, call: ToolCallPart) -> WorkingTool:
        tool = self._working.get(call.tool_name)
        if tool is None:
            offered = ", ".join([*self._working, *self.closing])
            raise BadCall(f"unknown tool {call.tool_name[:100]!r}; there are: {offered}")
        return parsed(tool, call)

    async def _run(self, tool: WorkingTool) -> ToolResult:
        match tool:
            case Bash():
                return await self._bash(tool)
            # Files are small and local: done on the loop, two edits of one file cannot mix.
            case View():
                return _done(_shown(files.view(self._workspace, tool.path), tool))
            case Create():
                files.create(self._workspace, tool.path, tool.text)
                return _done(f"wrote {tool.path}")
            case Edit():
                files.edit(self._workspace, tool.path, tool.old, tool.new)
                return _done(f"edited {tool.path}")
            case KeptResult():
                most = MOST_KEPT_CHARACTERS_AT_ONCE
                return _done(self._kept.read(tool.id, tool.first_line, tool.last_line, most))
            case Diff() | ProposeTriage() | Task() | ContinueTask() | OpenIssue():
                return await self._served.run(tool)
            case _:
                assert_never(tool)

    async def _bash(self, tool: Bash) -> ToolResult:
        try:
            async with self._shells:
                ended = await self._processes.run(
                    ["bash", "-o", "pipefail", "-c", tool.command],
                    cwd=self._workspace,
                    environment=self._environment,
                    timeout_seconds=tool.timeout_seconds,
                    most_output_bytes=MOST_OUTPUT_BYTES,
                )
        except (OSError, ValueError) as error:  # too long, or holds what no argument can hold
            raise BadCall(f"the command cannot be started: {error}") from error
        if ended.excess:
            output = f"{ended.output}\n({ended.excess})".lstrip()
            return ToolResult(ok=False, exit_code=ended.exit_code, output=output)
        if ended.exit_code is None:
            killed = f"{ended.output}\n(killed after {tool.timeout_seconds} seconds)"
            return ToolResult(ok=False, exit_code=None, output=killed)
        return ToolResult(ended.exit_code == 0, ended.exit_code, ended.output)


def parsed(tool: type[_Parsed], call: ToolCallPart) -> _Parsed:
    """The call's arguments, checked. Raises `BadCall`."""
    try:
        args = call.args_as_dict(raise_if_invalid=True)
    except (ValueError, AssertionError) as error:
        raise BadCall(f"the arguments of {call.tool_name} are not a JSON object") from error
    return checked(tool, call.tool_name, args)


def _is_on_offer(name: str, order: SessionOrder) -> bool:
    """`result` only repeats what the others returned, so it comes with any of them."""
    return order.tools is None or name in order.tools or (name == RESULT and bool(order.tools))


def _done(output: str) -> ToolResult:
    return ToolResult(ok=True, exit_code=None, output=output)


def _shown(content: str | list[str], tool: View) -> str:
    if isinstance(content, list):
        return "\n".join(content) or "(empty directory)"
    return numbered_lines(content, tool.first_line, tool.last_line)
