"""A twin of agents' processes: it knows the few commands that stories use, and starts nothing."""

import shlex
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Final

from app.ports import SEGMENT_VARIABLE, Clock, Ended, Processes
from tests.twins.workspace import TwinWorkspace

TEST: Final = "sh ./try.sh"
"""The test run of a story's repository: it passes when the file `answer` holds 42."""


class TwinShell(Processes):
    """Implements `ports.Processes` for the commands of `_run`."""

    def __init__(self, workspace: TwinWorkspace, clock: Clock) -> None:
        self._workspace = workspace
        self._clock = clock

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
        assert SEGMENT_VARIABLE in environment, "whose process it is has to be seen"
        try:
            async with self._clock.timeout(timeout_seconds):
                return await self._run(shlex.split(argv[-1]), cwd, environment)
        except TimeoutError:
            return Ended(None, "")

    async def kill_marked(self, marker: str, variable: str = SEGMENT_VARIABLE) -> int:
        return 0

    async def _run(self, words: list[str], cwd: Path, environment: Mapping[str, str]) -> Ended:
        match words:
            case ["sh", "./try.sh"]:
                passed = (cwd / "answer").read_text().strip() == "42"
                return Ended(0, "passed\n") if passed else Ended(1, "FAILED\n")
            case ["git", "add", "--all", "&&", "git", "commit", "--quiet", "--message", message]:
                who = environment["GIT_AUTHOR_NAME"], environment["GIT_AUTHOR_EMAIL"]
                self._workspace.clone_at(cwd).commit(message, *who)
                return Ended(0, "")
            case ["git", "merge", "-X", "ours", branch]:
                who = environment["GIT_AUTHOR_NAME"], environment["GIT_AUTHOR_EMAIL"]
                self._workspace.clone_at(cwd).merge(branch, *who)
                return Ended(0, "")
            case ["sleep", seconds]:
                await self._clock.sleep(float(seconds))
                return Ended(0, "")
            case ["cat", path]:
                file = cwd / path
                return Ended(0, file.read_text()) if file.exists() else Ended(1, f"no {path}\n")
            case ["echo", *said]:
                return Ended(0, f"{' '.join(said)}\n")
            case ["true" | "ls", *_]:
                return Ended(0, "")
            case ["false", *_]:
                return Ended(1, "")
            case [command, *_]:
                return Ended(127, f"{command}: command not found\n")
            case _:
                return Ended(0, "")
