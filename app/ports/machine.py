"""This machine: time, command lines, child processes."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Protocol

from app.core.shell_line import ShellLine


class Clock(Protocol):
    """The only source of time."""

    def now(self) -> datetime:
        """This instant, aware, in UTC."""
        ...


class ParseShell(Protocol):
    """Turns a command line into argument lists. Never raises; bounded."""

    def __call__(self, command: str | Sequence[str]) -> ShellLine: ...


@dataclass(frozen=True, slots=True)
class Ended:
    """How a child process ended."""

    exit_code: int | None
    """None when it had to be killed at its time bound."""
    output: str
    """stdout and stderr as they came, decoded leniently; the middle is cut beyond the bound."""
    stderr: str = ""
    """Only when the two were asked for apart."""


class Processes(Protocol):
    """Child processes that never outlive their caller: each ends with its whole group."""

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
        """Run to the end, or kill the group at the bound, on cancellation and on failure.

        The environment is exactly the one given. Raises `OSError` if it cannot start.
        """
        ...

    async def kill_marked(self, marker: str) -> int:
        """End every process whose environment holds `SQUADRON_SEGMENT=<marker>`; how many."""
        ...
