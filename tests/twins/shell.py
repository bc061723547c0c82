"""A twin of agents' processes: it knows the few commands that stories use.

What takes time takes the story's, and git is the twin workspace's. Everything else is done by a
real shell, which has to be quick.
"""

import re
import shlex
import subprocess
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Final

from app.ports import SEGMENT_VARIABLE, Clock, Ended, Processes
from tests.twins.workspace import TwinWorkspace

TEST: Final = "sh ./try.sh"
"""The test run of a story's repository: it passes when the file `answer` holds 42."""
MOST_REAL_SECONDS: Final = 10
_WAITS: Final = re.compile(r"for n in \$\(seq \d+\); do \[ -e (\S+) \] && exit 0; sleep (\S+); .*")
"""What `tests.support.steps.waits_for` runs."""
_PLAIN: Final = re.compile(r"[\w ./:,=+-]+")
"""A command that means the same in any shell."""
_OF_OURS: Final = re.compile(r"\b(git|sleep)\b")


class TwinShell(Processes):
    """Implements `ports.Processes`."""

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
                if argv[-2] != "-c":  # a script, with its name
                    return _really(argv, cwd, environment)
                return await self._run(argv[-1], cwd, environment)
        except TimeoutError:
            return Ended(None, "")

    async def kill_marked(self, marker: str, variable: str = SEGMENT_VARIABLE) -> int:
        return 0

    async def _run(self, line: str, cwd: Path, environment: Mapping[str, str]) -> Ended:
        if waits := _WAITS.fullmatch(line):
            [file] = shlex.split(waits[1])
            while not _is_there(cwd / file):
                await self._clock.sleep(float(waits[2]))
            return Ended(0, "")
        if not _OF_OURS.search(line) and not _PLAIN.fullmatch(line):
            return _in_bash(line, cwd, environment)
        output, ended = "", Ended(0, "")
        for link, part in _parts(line):
            if link == "&&" and ended.exit_code != 0:
                continue
            ended = await self._command(part, cwd, environment)
            output += ended.output
        return Ended(ended.exit_code, output)

    async def _command(self, line: str, cwd: Path, environment: Mapping[str, str]) -> Ended:
        words = shlex.split(line)
        match words if _PLAIN.fullmatch(line) or words[0] == "git" else []:
            case ["sleep", seconds]:
                await self._clock.sleep(float(seconds))
            case ["git", *git]:
                who = environment["GIT_AUTHOR_NAME"], environment["GIT_AUTHOR_EMAIL"]
                self._git(git, cwd, who)
            case ["sh", "./try.sh"]:
                passed = (cwd / "answer").read_text().strip() == "42"
                return Ended(0, "passed\n") if passed else Ended(1, "FAILED\n")
            case ["cat", path] if _is_there(cwd / path):
                return Ended(0, (cwd / path).read_text())
            case ["echo", *said]:
                return Ended(0, f"{' '.join(said)}\n")
            case ["true"]:
                pass
            case ["false"]:
                return Ended(1, "")
            case _:
                return _in_bash(line, cwd, environment)
        return Ended(0, "")

    def _git(self, words: list[str], cwd: Path, who: tuple[str, str]) -> None:
        clone = self._workspace.clone_at(cwd)
        match [word for word in words if word not in ("--quiet", "--all", "-X", "ours")]:
            case ["add"]:
                pass
            case ["commit", "--message", message]:
                clone.commit(message, *who)
            case ["checkout", "--force", "--detach", sha]:
                clone.detach(sha)
            case ["checkout", "--force", _]:
                clone.go_back()
            case ["merge", branch] | ["merge", "-m", _, branch]:
                clone.merge(branch.removeprefix("origin/"), *who)
            case _:
                raise AssertionError(f"the twin's shell does not know git {shlex.join(words)}")


def _parts(line: str) -> Iterator[tuple[str, str]]:
    """The commands of a line, and what links each with the one before it."""
    first, *others = re.split(r"\s*(&&|;)\s*", line)
    yield "", first
    yield from zip(others[::2], others[1::2], strict=True)


def _is_there(file: Path) -> bool:
    return file.exists()


def _in_bash(line: str, cwd: Path, environment: Mapping[str, str]) -> Ended:
    assert not _OF_OURS.search(line), f"the twin's shell does not know {line}"
    return _really(["bash", "-c", line], cwd, environment)


def _really(argv: Sequence[str], cwd: Path, environment: Mapping[str, str]) -> Ended:
    """What a real shell makes of it."""
    done = subprocess.run(
        argv,
        cwd=cwd,
        env=dict(environment),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=MOST_REAL_SECONDS,
        check=False,
    )
    return Ended(done.returncode, done.stdout)
