"""Opens sessions of the Copilot CLI; loads GitHub's SDK when the first one is opened."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from app.adapters.runtimes.copilot.bounds import Bounds
from app.adapters.runtimes.copilot.installed import found, unpacking, with_node
from app.adapters.runtimes.door import OpenDoor
from app.ports import Gate, Processes, SessionOrder, Walls

if TYPE_CHECKING:
    from app.adapters.runtimes.copilot.session import CopilotSession


class CopilotRuntime:
    """Runs each session in a process of its own; a `Runtime` of the ports."""

    def __init__(
        self,
        processes: Processes,
        walls: Walls,
        open_door: OpenDoor,
        cache: Path,
        cli: Path | None = None,
        bounds: Bounds | None = None,
    ) -> None:
        """`cache` is where the CLI unpacks itself, once for all sessions; `cli` is its path, None:
        it is looked for in PATH."""
        self._processes = processes
        self._walls = walls
        self._open_door = open_door
        self._cache = cache
        self._cli = cli
        self._bounds = bounds or Bounds()
        self._unpacking = asyncio.Lock()
        self._is_unpacked = False

    async def open(self, order: SessionOrder, gate: Gate) -> CopilotSession:
        """A session, resumed from its directory if there is one.

        Raises `RuntimeMissing`, `ModelUnusable`, and `OSError` and `RuntimeError` for a CLI that
        does not start.
        """
        program = found(self._cli).resolve()
        await self._unpack(program, order.environment)
        # Importing takes a second or two: not on the event loop, where deliveries are answered.
        await asyncio.to_thread(_load)
        from app.adapters.runtimes.copilot.session import CopilotSession

        session = CopilotSession(order, gate, self._processes, self._walls, self._bounds)
        try:
            await session.start(program, self._cache, self._open_door(order, gate))
        except BaseException:
            await session.close()
            raise
        return session

    async def _unpack(self, program: Path, given: Mapping[str, str]) -> None:
        """Once, and by us: an agent must not write what others run. Raises `RuntimeError`."""
        seconds = self._bounds.start_seconds
        async with self._unpacking:
            if self._is_unpacked:
                return
            await asyncio.to_thread(self._cache.mkdir, parents=True, exist_ok=True)
            ended = await self._processes.run(
                [str(program), "--version"],
                cwd=self._cache,
                environment={
                    **unpacking(self._cache),
                    "PATH": with_node(given.get("PATH", os.defpath)),
                },
                timeout_seconds=seconds,
            )
            if ended.exit_code != 0:
                code = ended.exit_code
                how = f"within {seconds:g} s" if code is None else f"but ended with {code}"
                raise RuntimeError(
                    f"the Copilot CLI at {program} did not start as one: `{program} --version`"
                    f" does not answer {how}"
                )
            # Behind walls agents may be another user, who only reads it.
            read = ["/bin/chmod", "--recursive", "a+rX", str(self._cache)]
            allowed = await self._processes.run(
                read, cwd=self._cache, environment={}, timeout_seconds=seconds
            )
            if allowed.exit_code != 0:
                raise RuntimeError(f"{self._cache} cannot be read by agents: {allowed.output}")
            self._is_unpacked = True


def _load() -> None:
    import app.adapters.runtimes.copilot.session  # noqa: F401
