"""The CLI's tools in the words of the gate: their kinds, their arguments, and how they ended."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from app.adapters.runtimes.claude.launch import SERVER
from app.core.agents.events import ToolKind
from app.ports import SessionOrder, ToolResult

SHELL: Final = "Bash"
_TOOLS: Final[Mapping[str, tuple[str, ...]]] = {
    "bash": (SHELL,),
    "view": ("Read", "Grep", "Glob"),
    "create": ("Write",),
    "edit": ("Edit",),
}
"""By the names that a role's `tools` have, the CLI's own."""
_KINDS: Final[Mapping[str, ToolKind]] = {
    SHELL: ToolKind.SHELL,
    "Read": ToolKind.READ,
    "Grep": ToolKind.READ,
    "Glob": ToolKind.READ,
    "Write": ToolKind.WRITE,
    "Edit": ToolKind.WRITE,
}
_PATHS: Final = ("file_path", "path")
_PREFIX: Final = f"mcp__{SERVER}__"
_EXIT_CODE: Final = re.compile(r"\A(?:Error: )?Exit code (\d+)(?:\n|\Z)")


def offered(order: SessionOrder) -> tuple[str, ...]:
    """The CLI's tools that the session may use."""
    return tuple(
        tool
        for name, tools in _TOOLS.items()
        if order.tools is None or name in order.tools
        for tool in tools
    )


def own_name(tool: str) -> str | None:
    """The name that one of our own tools has with us; None: it is the CLI's."""
    return tool.removeprefix(_PREFIX) if tool.startswith(_PREFIX) else None


def kind_of(tool: str) -> ToolKind:
    """What a tool of the CLI can do."""
    return _KINDS.get(tool, ToolKind.OTHER)


def gate_arguments(args: Mapping[str, object]) -> Mapping[str, object]:
    """The arguments with a file under the name that the gate knows it by."""
    return {("path" if name == "file_path" else name): value for name, value in args.items()}


@dataclass(frozen=True, slots=True)
class Confines:
    """What file tools may touch: the workspace, wherever its links lead. The CLI itself asks for
    nothing that a hook has allowed."""

    workspace: Path
    name: Path
    """What the CLI calls it."""

    def refusal(self, tool: str, args: Mapping[str, object]) -> str:
        """Why a call is refused, for the model; empty: it is not."""
        if tool not in _KINDS or tool == SHELL:
            return ""
        named = [args[name] for name in _PATHS if args.get(name)]
        if tool == "Glob" and isinstance(pattern := args.get("pattern"), str):
            named.append(re.split(r"[*?\[{]", pattern)[0] or ".")
            if ".." in Path(pattern).parts:
                named.append("..")
        if all(isinstance(each, str) and self._holds(each) for each in named):
            return ""
        return "Refused: only files of the workspace can be read and written with this tool."

    def _holds(self, path: str) -> bool:
        try:
            home, at = self.workspace.resolve(), Path(path)
            if at.is_relative_to(self.name):
                at = at.relative_to(self.name)
            return (home / at).resolve().is_relative_to(home)
        except (OSError, ValueError, RuntimeError):  # a loop of links, a NUL
            return False


def ended_well(tool: str, response: object) -> ToolResult:
    """The result of a call from what the CLI tells after it."""
    if tool != SHELL:
        return ToolResult(ok=True, exit_code=None, output=_text(response))
    told = response if isinstance(response, Mapping) else {}
    output = "\n".join(
        words for name in ("stdout", "stderr") if (words := str(told.get(name) or ""))
    )
    if told.get("interrupted"):
        return ToolResult(ok=False, exit_code=None, output=output)
    return ToolResult(ok=True, exit_code=0, output=output)


def ended_badly(tool: str, error: object) -> ToolResult:
    """The result of a call that failed: a command's exit code stands before what it printed."""
    said = str(error or "")
    found = _EXIT_CODE.match(said) if tool == SHELL else None
    if found is None:
        return ToolResult(ok=False, exit_code=None, output=said)
    return ToolResult(ok=False, exit_code=int(found[1]), output=said[found.end() :])


def _text(response: object) -> str:
    if isinstance(response, str):
        return response
    if isinstance(response, Mapping):
        inner = response.get("file")
        words = response.get("content") or response.get("text") or inner or response.get("filePath")
        return _text(words) if isinstance(words, Mapping | list | str) else str(dict(response))
    if isinstance(response, list):
        return "\n".join(_text(each) for each in response)
    return str(response)
