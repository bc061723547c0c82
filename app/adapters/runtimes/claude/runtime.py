"""Opens sessions; loads the SDK, which is an extra, when the first one is opened."""

from __future__ import annotations

import asyncio
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Final

from app.adapters.runtimes.claude.bounds import Bounds
from app.adapters.runtimes.door import OpenDoor
from app.ports import Gate, ModelUnusable, Processes, RuntimeMissing, SessionOrder, Walls

if TYPE_CHECKING:
    from app.adapters.runtimes.claude.session import ClaudeSession

_INSTALL: Final = "pip install 'squadron[claude]'"
_PROVIDER: Final = "anthropic"
_BUNDLED: Final = Path("_bundled", "claude")


def missing() -> str:
    """What is not there that this runtime needs, and what installs it; empty: all is there."""
    found = find_spec("claude_agent_sdk")
    if found is None or found.origin is None:
        return f"the runtime claude is not installed: {_INSTALL}"
    if not _cli_of(found.origin).exists():
        return f"claude-agent-sdk came without its CLI: {_INSTALL} on a platform that has one"
    return ""


def bundled() -> tuple[Path, str]:
    """The CLI that came with the SDK, and which version that is. Raises `RuntimeMissing`."""
    if words := missing():
        raise RuntimeMissing(words)
    import claude_agent_sdk
    from claude_agent_sdk._cli_version import __cli_version__

    return _cli_of(claude_agent_sdk.__file__), __cli_version__


class ClaudeRuntime:
    """Runs sessions of Claude Code; a `Runtime` of the ports."""

    def __init__(
        self,
        processes: Processes,
        walls: Walls,
        open_door: OpenDoor,
        bounds: Bounds | None = None,
        cli: Path | None = None,
    ) -> None:
        """`cli`: another one than the SDK brings."""
        self._processes = processes
        self._walls = walls
        self._open_door = open_door
        self._bounds = bounds or Bounds()
        self._cli = cli

    async def open(self, order: SessionOrder, gate: Gate) -> ClaudeSession:
        """A session, resumed from its directory if there is one; the CLI starts at its first turn.

        Raises `RuntimeMissing`, `ModelUnusable` for one that it cannot ask, and `OSError` for a
        directory that cannot be written.
        """
        return await asyncio.to_thread(self._open, order, gate)

    def _open(self, order: SessionOrder, gate: Gate) -> ClaudeSession:
        if problem := missing():
            raise RuntimeMissing(problem)
        for model in filter(None, (order.model, order.planning_model)):
            if model.partition(":")[0] != _PROVIDER:
                raise ModelUnusable(f"model {model!r}: the runtime claude asks {_PROVIDER}: only")
        import claude_agent_sdk

        from app.adapters.runtimes.claude.session import ClaudeSession

        cli = self._cli or _cli_of(claude_agent_sdk.__file__)
        return ClaudeSession(
            order, gate, self._processes, self._walls, self._open_door, self._bounds, cli
        )


def _cli_of(module: str) -> Path:
    return Path(module).parent / _BUNDLED
