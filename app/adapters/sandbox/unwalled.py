"""Agents' processes where there is no sandbox: they see what this user sees, and none outlives its
command."""

import asyncio
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Final

from app.adapters.sandbox import reaper
from app.adapters.sandbox.bounds import Bounds, ControlGroups
from app.adapters.sandbox.system import interpreter
from app.ports import SEGMENT_VARIABLE, Ended, Entered, Processes, Stay

_MARKERS: Final = "SQUADRON_"
"""How the variables begin by which processes are found."""
_LOOKS: Final = 600
_LOOK_SECONDS: Final = 0.01
"""Six seconds together: more than a reaper takes."""


class UnwalledProcesses:
    """`Processes` and `Walls` of agents without walls. Each command runs below a reaper, and in its
    agent's control group where one can be made."""

    def __init__(self, processes: Processes, bounds: Bounds) -> None:
        self._processes = processes
        self._groups = ControlGroups(bounds)

    async def run(
        self,
        argv: Sequence[str],
        *,
        cwd: Path,
        environment: Mapping[str, str],
        timeout_seconds: float,
        most_output_bytes: int = 1_000_000,
        stdin: bytes = b"",
        apart: bool = False,
    ) -> Ended:
        """As `Processes.run`; also what forked away into a session of its own is killed."""
        async with self._groups.joined(environment) as join:
            return await self._processes.run(
                [*join, *below_reaper(environment), *argv],
                cwd=cwd,
                environment=environment,
                timeout_seconds=timeout_seconds,
                most_output_bytes=most_output_bytes,
                stdin=stdin,
                apart=apart,
            )

    @asynccontextmanager
    async def around(self, stay: Stay) -> AsyncIterator[Entered]:
        """As `Walls.around`."""
        async with self._groups.joined(stay.environment) as join:
            yield Entered((*join, *below_reaper(stay.environment)))

    def name_inside(self, workspace: Path) -> Path:
        """As `Walls.name_inside`: its path."""
        return workspace

    def excess(self, marker: str) -> str:
        """As `Walls.excess`: nobody looks."""
        return ""

    async def kill_marked(self, marker: str, variable: str = SEGMENT_VARIABLE) -> int:
        """As `Processes.kill_marked`; what stands above those processes has ended, too, and so has
        what is below. Raises `TimeoutError` when that goes on."""
        killed = await self._processes.kill_marked(marker, variable)
        for _ in range(_LOOKS):
            if not await asyncio.to_thread(_is_reaped, f"{variable}={marker}"):
                return killed
            await asyncio.sleep(_LOOK_SECONDS)
        raise TimeoutError(f"what was started with {variable}={marker} does not end")


def below_reaper(environment: Mapping[str, str]) -> Sequence[str]:
    """What stands before a command that nothing may outlive."""
    markers = [name for name in environment if name.startswith(_MARKERS)]
    return (
        "/usr/bin/env",
        *(word for name in markers for word in ("-u", name)),
        *(str(interpreter()), "-I", "-S", reaper.__file__),
        *(f"{name}={environment[name]}" for name in markers),
        "--",
    )


def _is_reaped(word: str) -> bool:
    """Whether a reaper is at work that was started with that word."""
    wanted = {reaper.__file__.encode(), word.encode()}
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                words = (entry / "cmdline").read_bytes().split(b"\0")
            except (FileNotFoundError, ProcessLookupError, PermissionError):
                continue  # gone, or another user's where each sees only its own
            if wanted <= set(words):
                return True
    return False
