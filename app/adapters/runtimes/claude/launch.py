"""How the CLI is started: its arguments, its environment, and where it keeps the conversation."""

import json
import os
import re
import stat
from collections.abc import Sequence
from pathlib import Path
from typing import Final
from uuid import NAMESPACE_URL, uuid5

from app.adapters.runtimes.claude.bounds import Bounds
from app.adapters.runtimes.door import ModelDoor
from app.ports import SessionOrder

SERVER: Final = "squadron"
"""The name of our own tools' server: the CLI calls them `mcp__squadron__…`."""
SESSION_VARIABLE: Final = "SQUADRON_CLAUDE_SESSION"
"""Tells the processes of one session from all others, wherever they went."""
PROVIDER: Final = "anthropic"

_SAID: Final = re.compile(rb'"type": ?"(user|assistant)"')
_MOST_BYTES: Final = 16_000_000
"""Of a saved conversation; its first words are among the first."""
_PROMPT_FILE: Final = "system-prompt.md"
_DIRECTORY: Final = "claude"
_PREFIX: Final = f"mcp__{SERVER}__"


class Place:
    """The files of one session, in the agent's own directory."""

    def __init__(self, order: SessionOrder) -> None:
        self.configuration = order.session_directory / _DIRECTORY
        """The CLI's own directory; nothing of the user's is read."""
        self.temporary = order.session_directory / "tmp"
        self.system_prompt = order.session_directory / _PROMPT_FILE
        self.session_id = str(uuid5(NAMESPACE_URL, f"squadron:{order.agent}"))
        """The same for the same agent, so that the next process finds the conversation."""

    def prepare(self, system_prompt: str) -> None:
        """Raises `OSError`."""
        for directory in (self.configuration, self.temporary):
            directory.mkdir(parents=True, exist_ok=True, mode=0o700)
        self.system_prompt.write_text(system_prompt)
        self.system_prompt.chmod(0o644)  # behind walls the CLI may be another user

    def found_conversation(self) -> bool:
        """Whether an earlier process has saved what was said.

        A file without a word in it, as a CLI leaves that died too soon, is let go: the CLI neither
        goes on from there nor begins anew beside it. Raises `OSError`.
        """
        found = False
        for file in self.configuration.glob(f"projects/*/{self.session_id}.jsonl"):
            if _SAID.search(_beginning(file)):
                found = True
            else:
                file.unlink()
        return found

    def shared(self) -> tuple[Path, ...]:
        """The directories in which the CLI writes."""
        return (self.configuration, self.temporary)


def _beginning(file: Path) -> bytes:
    """Of a file where the agent may have put anything: no link is followed, nothing waited for."""
    try:
        descriptor = os.open(file, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    except OSError:
        return b""
    with os.fdopen(descriptor, "rb") as opened:
        is_file = stat.S_ISREG(os.fstat(descriptor).st_mode)
        return opened.read(_MOST_BYTES) if is_file else b""


def system_prompt(order: SessionOrder, own_tools: Sequence[str]) -> str:
    """The order's, and under which names the CLI offers the tools that it speaks of."""
    names = ", ".join(f"`{name}` as `{_PREFIX}{name}`" for name in own_tools)
    return f"{order.system_prompt}\n\nSome of your tools have longer names here: {names}."


def arguments(
    cli: Path, order: SessionOrder, place: Place, tools: Sequence[str], *, resume: bool
) -> list[str]:
    """The command line. Nothing of the workspace or of the user configures the CLI."""
    known = f"--{'resume' if resume else 'session-id'}={place.session_id}"
    servers = {"mcpServers": {SERVER: {"type": "sdk", "name": SERVER}}}
    return [
        str(cli),
        *("--output-format", "stream-json", "--input-format", "stream-json", "--verbose"),
        *("--system-prompt-file", str(place.system_prompt)),
        *("--model", order.model.partition(":")[2]),
        *("--tools", ",".join(tools)),
        *("--disallowedTools", "Agent,Task"),  # its sub-agents; ours are asked for by `task`
        *("--permission-mode", "default"),
        *("--mcp-config", json.dumps(servers), "--strict-mcp-config"),
        "--setting-sources=",
        known,
    ]


def environment(
    order: SessionOrder, place: Place, door: ModelDoor, bounds: Bounds, marker: str
) -> dict[str, str]:
    """Built up from nothing: the agent's own, and what the CLI needs where there are no walls.

    The door's key is all that its shells can find. `CLAUDE_CODE_SUBPROCESS_ENV_SCRUB` would hide
    that too, but it puts each command into a sandbox of the CLI's own, which lays empty files
    (`package.json`, `.env`, …) into the workspace.
    """
    model = order.model.partition(":")[2]
    return {
        "PATH": os.defpath,
        **order.environment,
        SESSION_VARIABLE: marker,
        "ANTHROPIC_BASE_URL": door.url,
        "ANTHROPIC_API_KEY": door.key,
        "ANTHROPIC_SMALL_FAST_MODEL": model,
        "ANTHROPIC_DEFAULT_HAIKU_MODEL": model,
        "CLAUDE_CONFIG_DIR": str(place.configuration),
        "CLAUDE_CODE_ENTRYPOINT": "sdk-py",
        "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
        "CLAUDE_CODE_DISABLE_BACKGROUND_TASKS": "1",
        "CLAUDE_CODE_DISABLE_AUTO_MEMORY": "1",
        "CLAUDE_CODE_TMPDIR": str(place.temporary),
        "DISABLE_AUTOUPDATER": "1",
        "API_TIMEOUT_MS": str(int(bounds.silent_seconds * 1_000)),  # the door's bounds are shorter
        "BASH_MAX_TIMEOUT_MS": str(bounds.command_seconds * 1_000),
        "MCP_TOOL_TIMEOUT": str(24 * 3600 * 1_000),  # a sub-agent is bounded by its own limits
    }


def by_socket(socket: Path | None) -> dict[str, str]:
    """What the CLI needs besides to ask its model where it reaches no address."""
    return {} if socket is None else {"ANTHROPIC_UNIX_SOCKET": str(socket)}
