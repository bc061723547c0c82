"""This machine: time, command lines, child processes."""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass
from datetime import datetime, timedelta
from pathlib import Path
from typing import Final, Protocol

from app.testruns.shell_line import ShellLine

SEGMENT_VARIABLE: Final = "SQUADRON_SEGMENT"
"""Names the segment in the environment of each of its processes: orphans are found by it."""

WORKSPACE_INSIDE: Final = Path("/agent/workspace")
"""What every agent's workspace is called in its sandbox: what a setup writes of paths, such as a
virtual environment, is true in the workspaces of all agents."""


class Clock(Protocol):
    """The only source of time: of instants, and of waiting."""

    def now(self) -> datetime:
        """This instant, aware, in UTC."""
        ...

    def monotonic(self) -> float:
        """Seconds since some instant, which nobody sets back: for how long something takes."""
        ...

    async def sleep(self, seconds: float) -> None:
        """Wait for so long."""
        ...

    def timeout(self, seconds: float) -> AbstractAsyncContextManager[object, bool | None]:
        """Around what may take so long; beyond that it is cancelled, and `TimeoutError` is
        raised."""
        ...


Job = Callable[[], Awaitable[None]]
"""What is done again and again."""


class Timetable(Protocol):
    """What is done again and again while a process serves."""

    def every(self, interval: timedelta, job: Job, *, at_once: bool = False) -> None:
        """Do it so often, the first time at once or after one interval."""
        ...

    def start(self) -> None:
        """Begin. Call it on the loop of the jobs."""
        ...

    async def stop(self) -> None:
        """Do nothing more; what is being done just now is cut off."""
        ...


class FreeMiB(Protocol):
    """How many MiB can still be written. Raises `OSError`."""

    def __call__(self) -> int: ...


class ParseShell(Protocol):
    """Turns a command line into argument lists. `pipefail`: the shell that runs it has that option.
    Never raises; bounded, but a hostile one may take seconds: not for the event loop."""

    def __call__(self, command: str | Sequence[str], *, pipefail: bool) -> ShellLine: ...


class VisibleLines(Protocol):
    """The lines of a comment that are its author's own words, as GitHub shows them: no quotes,
    code, lists or hidden comments. Never raises; a hostile comment may take seconds: not for the
    event loop."""

    def __call__(self, body: str) -> Sequence[str]: ...


@dataclass(frozen=True, slots=True)
class Ended:
    """How a child process ended."""

    exit_code: int | None
    """None when it had to be killed, at its time bound or for an excess."""
    output: str
    """stdout and stderr as they came, decoded leniently; the middle is cut beyond the bound."""
    stderr: str = ""
    """Only when the two were asked for apart."""
    excess: str = ""
    """Why it was ended before its time, or nothing may go on like this: its agent holds more of
    the disk than it may, in words for the agent. Empty: neither."""


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

    async def kill_marked(self, marker: str, variable: str = SEGMENT_VARIABLE) -> int:
        """End every process whose environment holds the marker as this variable; how many."""
        ...


@dataclass(frozen=True, slots=True)
class Stay:
    """What a program of an agent needs that goes on for longer than one command."""

    workspace: Path
    environment: Mapping[str, str]
    """It names its `HOME` and its segment."""
    readable: tuple[Path, ...] = ()
    """Also below what is writable: then nobody inside changes it, or puts another in its place."""
    writable: tuple[Path, ...] = ()
    """Directories that are there."""
    door: Path | None = None
    """A Unix socket of ours that it may connect to."""


@dataclass(frozen=True, slots=True)
class Entered:
    """How a program is started where it is to stay."""

    before: tuple[str, ...] = ()
    """What stands before its command line."""
    door: Path | None = None
    """Where its door is, inside; None: there is no inside, and it reaches what we reach."""


class Walls(Protocol):
    """What is around an agent's programs."""

    def around(self, stay: Stay) -> AbstractAsyncContextManager[Entered]:
        """For one program, until its end. Raises `OSError` where it cannot be put up."""
        ...

    def name_inside(self, workspace: Path) -> Path:
        """What programs inside call a workspace, where they start."""
        ...

    def excess(self, marker: str) -> str:
        """Why the agent has to be ended whose processes carry this marker, in a sentence for
        people: it took more of the machine than it may, and was told. Empty: it need not be."""
        ...


@dataclass(frozen=True, slots=True)
class RefusedHost:
    """A host that a command asked for and did not reach."""

    host: str
    """Name and port."""
    why: str
    """For people."""
    times: int


@dataclass(frozen=True, slots=True)
class Prepared:
    """How a command ended that prepares a workspace."""

    ended: Ended
    refused: tuple[RefusedHost, ...] = ()


class Preparation(Protocol):
    """Runs what prepares a workspace: the only processes of an agent that reach other machines,
    where the operator lets them (`sandbox.egress`)."""

    async def run(
        self,
        argv: Sequence[str],
        *,
        cwd: Path,
        environment: Mapping[str, str],
        timeout_seconds: float,
    ) -> Prepared:
        """As `Processes.run`. Raises `OSError` if it cannot start."""
        ...
