"""Between the CLI's words and ours: tools, their results, and what they are to a role. Pure."""

import re
from collections.abc import Mapping, Sequence
from typing import Final

from app.core.agents.events import ToolKind
from app.ports import ToolResult

SHELL: Final = "bash"
_OF_ROLE: Final[Mapping[str, Sequence[str]]] = {
    "bash": (SHELL, "read_bash", "stop_bash"),
    "view": ("view", "grep", "rg", "glob"),
    "create": ("create",),
    "edit": ("edit",),
}
"""The CLI's tools by the names that a role's `tools` may have."""
_PATCHING: Final = "apply_patch"
"""What the CLI offers some models in the place of `create` and `edit`."""

_KINDS: Final[Mapping[str, ToolKind]] = {
    SHELL: ToolKind.SHELL,
    "read_bash": ToolKind.READ,
    "view": ToolKind.READ,
    "grep": ToolKind.READ,
    "rg": ToolKind.READ,
    "glob": ToolKind.READ,
    "diff": ToolKind.READ,
    "create": ToolKind.WRITE,
    "edit": ToolKind.WRITE,
    _PATCHING: ToolKind.WRITE,
}
_SHELL_END: Final = re.compile(r"\n?<shellId: \S+ completed with exit code (-?\d+)>\s*\Z")


def cli_tools(tools: Sequence[str] | None) -> list[str]:
    """The CLI's own tools that a role may use; those that ask nobody are never among them."""
    allowed = _OF_ROLE.keys() if tools is None else set(tools)
    names = [name for tool, own in _OF_ROLE.items() if tool in allowed for name in own]
    return [*names, _PATCHING] if {"create", "edit"} <= allowed else names


def kind_of(tool: str) -> ToolKind:
    """What a tool of that name can do."""
    return _KINDS.get(tool, ToolKind.OTHER)


def told_args(tool: str, args: object) -> Mapping[str, object]:
    """The arguments as the gate is told them: a command without the words beside it, so that
    equal commands are equal calls."""
    given = args if isinstance(args, Mapping) else {"input": args}
    if tool == SHELL and "command" in given:
        return {"command": given["command"]}
    return given


def sent_args(tool: str, args: object, most_command_seconds: int) -> object:
    """The arguments with which a tool runs: commands are waited for, so that their end is seen."""
    if tool != SHELL or not isinstance(args, Mapping):
        return args
    kept = {name: value for name, value in args.items() if name not in ("detach", "mode")}
    return {**kept, "mode": "sync", "initial_wait": most_command_seconds}


def result_of(tool: str, result: Mapping[str, object]) -> ToolResult:
    """How a call ended, from what the CLI says after it."""
    output = str(result.get("textResultForLlm") or "")
    ok = result.get("resultType") == "success"
    if tool != SHELL or not ok:
        return ToolResult(ok=ok, exit_code=None, output=output)
    end = _SHELL_END.search(output)
    exit_code = _exit_code(result, end)
    said = output[: end.start()] if end else output
    return ToolResult(ok=exit_code == 0, exit_code=exit_code, output=said)


def _exit_code(result: Mapping[str, object], end: re.Match[str] | None) -> int | None:
    """None: the command has not ended."""
    contents = result.get("contents")
    for each in contents if isinstance(contents, list) else ():
        if isinstance(each, Mapping) and each.get("type") == "shell_exit":
            code = each.get("exitCode")
            return code if isinstance(code, int) else None
    return int(end[1]) if end else None


def shortened(text: str, most_characters: int) -> str:
    """The text without its middle if it is longer than this."""
    if len(text) <= most_characters:
        return text
    half = most_characters // 2
    return f"{text[:half]}\n[… {len(text) - 2 * half} characters cut …]\n{text[-half:]}"
