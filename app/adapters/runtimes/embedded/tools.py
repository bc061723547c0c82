"""The tools of an embedded session: what they take, and what they do in the workspace."""

import asyncio
from collections.abc import Mapping
from typing import Annotated, TypeVar, assert_never

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, ValidationError
from pydantic_ai.messages import ToolCallPart
from pydantic_ai.tools import ToolDefinition

from app.adapters.runtimes.embedded import files
from app.ports import Processes, SessionOrder, ToolResult

MOST_COMMAND_SECONDS = 600
MOST_OUTPUT_BYTES = 30_000
MOST_SHELLS_AT_ONCE = 8


_Parsed = TypeVar("_Parsed", bound=BaseModel)


class BadCall(Exception):
    """A call that no tool can run; the text is for the model."""


class _Args(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class Bash(_Args):
    """Run a command line with bash (pipefail is on) in the workspace. Every call is a new shell:
    cd and variables do not last. Whatever still runs when the command ends is killed."""

    command: str = Field(min_length=1)
    timeout_seconds: int = Field(120, ge=1, le=MOST_COMMAND_SECONDS)


class View(_Args):
    """Show a text file of the workspace with line numbers, or list a directory."""

    path: str
    first_line: int = Field(1, ge=1)
    last_line: int | None = Field(None, ge=1)


class Create(_Args):
    """Write a whole file of the workspace, new or replaced; missing directories are made."""

    path: str
    text: str


class Edit(_Args):
    """Replace text in a file of the workspace; `old` must occur in it exactly once."""

    path: str
    old: str
    new: str


class ReportComplete(_Args):
    """The work is done, or there is nothing to change. Ends your turn."""

    summary: str = Field(description="What you did, for people.")


def _issue_numbers(value: object) -> object:
    """Models write `12`, `"#12"` or `["12"]` for the issues that block them."""
    listed = value if isinstance(value, list) else [] if value is None else [value]
    return [each.strip().removeprefix("#") if isinstance(each, str) else each for each in listed]


class ReportBlocked(_Args):
    """You cannot go on. Ends your turn."""

    reason: str = Field(description="What you need, for people.")
    blocked_by: Annotated[list[int], BeforeValidator(_issue_numbers)] = Field(
        default=[], description="Issues that must be closed first; empty: a person must answer."
    )


WorkingTool = Bash | View | Create | Edit
ClosingTool = ReportComplete | ReportBlocked

_WORKING: Mapping[str, type[WorkingTool]] = {
    "bash": Bash,
    "view": View,
    "create": Create,
    "edit": Edit,
}
CLOSING: Mapping[str, type[ClosingTool]] = {
    "report_complete": ReportComplete,
    "report_blocked": ReportBlocked,
}


class Toolbox:
    """The tools that one session offers."""

    def __init__(self, order: SessionOrder, processes: Processes) -> None:
        self._workspace = order.workspace
        self._environment = order.environment
        self._processes = processes
        self._shells = asyncio.Semaphore(MOST_SHELLS_AT_ONCE)
        self._working = {
            name: tool
            for name, tool in _WORKING.items()
            if order.tools is None or name in order.tools
        }

    def definitions(self) -> list[ToolDefinition]:
        """The tools as the model is told about them; the closing tools are always on offer."""
        return [
            ToolDefinition(
                name=name,
                parameters_json_schema=tool.model_json_schema(),
                description=" ".join((tool.__doc__ or "").split()),
            )
            for name, tool in {**self._working, **CLOSING}.items()
        ]

    async def run(self, call: ToolCallPart) -> ToolResult:
        """Do what an allowed call asks for; whatever is wrong with it is its result."""
        try:
            return await self._run(self._parsed(call))
        except (BadCall, files.FileRefused) as error:
            return ToolResult(ok=False, exit_code=None, output=str(error))

    def _parsed(self, call: ToolCallPart) -> WorkingTool:
        tool = self._working.get(call.tool_name)
        if tool is None:
            offered = ", ".join([*self._working, *CLOSING])
            raise BadCall(f"unknown tool {call.tool_name[:100]!r}; there are: {offered}")
        return parsed(tool, call)

    async def _run(self, tool: WorkingTool) -> ToolResult:
        match tool:
            case Bash():
                return await self._bash(tool)
            # Files are small and local: done on the loop, two edits of one file cannot mix.
            case View():
                shown = _shown(files.view(self._workspace, tool.path), tool)
                return ToolResult(ok=True, exit_code=None, output=shown)
            case Create():
                files.create(self._workspace, tool.path, tool.text)
                return ToolResult(ok=True, exit_code=None, output=f"wrote {tool.path}")
            case Edit():
                files.edit(self._workspace, tool.path, tool.old, tool.new)
                return ToolResult(ok=True, exit_code=None, output=f"edited {tool.path}")
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
        if ended.exit_code is None:
            killed = f"{ended.output}\n(killed after {tool.timeout_seconds} seconds)"
            return ToolResult(ok=False, exit_code=None, output=killed)
        return ToolResult(ended.exit_code == 0, ended.exit_code, ended.output)


def parsed(tool: type[_Parsed], call: ToolCallPart) -> _Parsed:
    """The call's arguments, checked. Raises `BadCall`."""
    try:
        return tool.model_validate(call.args_as_dict(raise_if_invalid=True))
    except ValidationError as error:
        problems = "; ".join(
            f"{'.'.join(str(each) for each in problem['loc'])}: {problem['msg']}"
            for problem in error.errors(include_url=False, include_input=False)[:5]
        )
        raise BadCall(f"bad arguments of {call.tool_name}: {problems}") from error
    except (ValueError, AssertionError) as error:
        raise BadCall(f"the arguments of {call.tool_name} are not a JSON object") from error


def for_model(result: ToolResult, most_characters: int) -> str:
    """A result as the model reads it: its head and tail, and the exit code of a command."""
    text = shortened(result.output, most_characters)
    if result.exit_code is None:
        return text or "(nothing)"
    return f"{text}\n[exit code {result.exit_code}]".lstrip("\n")


def shortened(text: str, most_characters: int) -> str:
    """The text without its middle if it is longer than this."""
    if len(text) <= most_characters:
        return text
    half = most_characters // 2
    cut = len(text) - 2 * half
    return f"{text[:half]}\n[… {cut} characters cut …]\n{text[len(text) - half :]}"


def _shown(content: str | list[str], tool: View) -> str:
    if isinstance(content, list):
        return "\n".join(content) or "(empty directory)"
    lines = content.removesuffix("\n").split("\n") if content else []
    chosen = lines[tool.first_line - 1 : tool.last_line]
    numbered = [f"{tool.first_line + index}\t{line}" for index, line in enumerate(chosen)]
    shown = shortened("\n".join(numbered), MOST_OUTPUT_BYTES)
    return shown or f"(no such lines: the file has {len(lines)})"
