"""What a deadline leaves alive, and how late it is: commands that fork, fork twice, leave their
group, ignore SIGTERM and sleep, many at once, with and without walls.

A command's time ends with `Processes.run`, a segment's with `Processes.kill_marked`; both count.
"""

import asyncio
import shutil
import tempfile
from pathlib import Path
from time import perf_counter
from typing import Final

from app.adapters.processes import ProcessGroups
from app.adapters.sandbox.bounds import Bounds
from app.adapters.sandbox.bubblewrap import SandboxedProcesses
from app.ports import SEGMENT_VARIABLE, Processes
from tests.support.processes import carrying

COMMANDS: Final = 200
AT_ONCE: Final = 10
BOUND_SECONDS: Final = 1.0
AIM_SECONDS: Final = 2
_STAYS: Final = "trap '' TERM INT HUP; sleep 600"
COMMAND: Final = (
    "bash",
    "-c",
    f'bash -c "{_STAYS}" & (setsid bash -c "{_STAYS}" &) ; (setsid setsid bash -c "{_STAYS}" &) ;'
    f" {_STAYS}",
)


def main() -> None:
    """Print the figures."""
    with tempfile.TemporaryDirectory(prefix="squadron-bench-", dir=Path.home()) as name:
        groups, directory = ProcessGroups(), Path(name)
        print(f"deadline: {asyncio.run(_many(groups, directory))} without walls")
        if shutil.which("bwrap") is None:
            print("deadline: not measured behind walls, there is no bubblewrap")
            return
        walls = SandboxedProcesses(groups, directory / "accounts", (), Bounds())
        print(f"deadline: {asyncio.run(_many(walls, directory))} behind walls")


async def _many(processes: Processes, directory: Path) -> str:
    room = asyncio.Semaphore(AT_ONCE)
    late = sorted(
        await asyncio.gather(
            *(_late(processes, directory / str(number), room) for number in range(COMMANDS))
        )
    )
    left = carrying(str(directory))
    return (
        f"{len(left)} survivors of {COMMANDS} commands that would not end, {AT_ONCE} at once;"
        f" {1_000 * late[COMMANDS // 2]:.0f} ms late, p99 {late[COMMANDS * 99 // 100]:.2f} s"
        f" (aim: {AIM_SECONDS} s)"
    )


async def _late(processes: Processes, directory: Path, room: asyncio.Semaphore) -> float:
    """Seconds by which everything of one command ended after its bound."""
    async with room:
        workspace, home = directory / "workspace", directory / "home"
        for each in (workspace, home):
            each.mkdir(parents=True, exist_ok=True)
        begin = perf_counter()
        ended = await processes.run(
            COMMAND,
            cwd=workspace,
            environment={
                "HOME": str(home),
                "PATH": "/usr/bin:/bin",
                SEGMENT_VARIABLE: str(directory),
            },
            timeout_seconds=BOUND_SECONDS,
        )
        await processes.kill_marked(str(directory))
        late = perf_counter() - begin - BOUND_SECONDS
    if ended.exit_code is not None:
        raise SystemExit(f"the command ended by itself: {ended}")
    return late


if __name__ == "__main__":
    main()
