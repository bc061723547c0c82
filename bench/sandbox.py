"""What the walls cost each tool call of an agent: the same shell with and without them, in turn.

Needs bubblewrap. Plain processes and the sandbox take turns, so that other work on the machine
slows both.
"""

import asyncio
import shutil
import tempfile
from pathlib import Path
from statistics import median
from time import perf_counter
from typing import Final

from app.adapters.processes import ProcessGroups
from app.adapters.sandbox.bounds import Bounds
from app.adapters.sandbox.bubblewrap import SandboxedProcesses
from app.ports import Processes

CALLS: Final = 200
UNCOUNTED: Final = 10
"""Until everything is in the file cache."""
AIM_MILLISECONDS: Final = 15
SECONDS: Final = 30.0
COMMAND: Final = ("/bin/sh", "-c", "echo ready")


def main() -> None:
    """Print the figures."""
    if shutil.which("bwrap") is None:
        print("sandbox: not measured, there is no bubblewrap (apt-get install bubblewrap)")
        return
    with tempfile.TemporaryDirectory(prefix="squadron-bench-", dir=Path.home()) as directory:
        plain, walled = asyncio.run(_take_turns(Path(directory)))
    cost = [1_000 * (slow - quick) for quick, slow in zip(plain, walled, strict=True)]
    cost.sort()
    print(
        f"sandbox: {median(cost):.1f} ms for each call (p95 {cost[CALLS * 95 // 100]:.1f} ms; aim:"
        f" {AIM_MILLISECONDS} ms) of {CALLS}: a shell takes {1_000 * median(plain):.1f} ms without"
        f" walls and {1_000 * median(walled):.1f} ms behind them,"
        f" {median(walled) / median(plain):.1f} times as long"
    )


async def _take_turns(directory: Path) -> tuple[list[float], list[float]]:
    workspace, home = directory / "workspace", directory / "home"
    workspace.mkdir()
    home.mkdir()
    groups = ProcessGroups()
    walls = SandboxedProcesses(groups, directory / "accounts", (), Bounds())
    plain, walled = list[float](), list[float]()
    for number in range(UNCOUNTED + CALLS):
        each = [await _took(processes, workspace, home) for processes in (groups, walls)]
        if number >= UNCOUNTED:
            plain.append(each[0])
            walled.append(each[1])
    return plain, walled


async def _took(processes: Processes, workspace: Path, home: Path) -> float:
    """Seconds of one call."""
    begin = perf_counter()
    ended = await processes.run(
        COMMAND,
        cwd=workspace,
        environment={"HOME": str(home), "PATH": "/usr/bin:/bin"},
        timeout_seconds=SECONDS,
    )
    took = perf_counter() - begin
    if ended.output.strip() != "ready":
        raise SystemExit(f"the command did not run: {ended}")
    return took


if __name__ == "__main__":
    main()
