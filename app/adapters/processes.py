"""Child processes that end with their whole group (Linux: sessions, pidfds, /proc, setpriv).

Every child leads a session of its own. When it ends, is cancelled or runs out of time, its group
is killed with SIGKILL, so nothing that it left in the background goes on or holds a pipe open.
Started by `subprocess` rather than by the event loop: without a Python function between fork and
exec it uses vfork, which costs a large service a tenth of the time.
"""

import asyncio
import os
import shutil
import signal
import subprocess
from collections.abc import Mapping, Sequence
from contextlib import AbstractAsyncContextManager, ExitStack, nullcontext, suppress
from dataclasses import dataclass
from errno import ENOENT
from pathlib import Path

from app.ports import SEGMENT_VARIABLE, Ended, Entered, Stay

DRAIN_SECONDS = 1.0
"""How long output is awaited from what escaped the killed group and holds the pipe."""
REAP_SECONDS = 5.0
MOST_ENVIRONMENT_BYTES = 4_000_000
MOST_KILL_ROUNDS = 250
KILL_ROUND_SECONDS = 0.02
QUIET_ROUNDS = 5
"""What forks away while /proc is being read can be missed, so one quiet look is not enough."""

_DIES_WITH_PARENT = ("setpriv", "--pdeathsig", "KILL", "--")


class ProcessGroups:
    """`Processes` on this machine. Use it from the event loop's thread only.

    A child dies with the *thread* that started it, and pool threads end whenever they like.
    """

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
        """Run to the end or kill the group; see `Processes`. Output beyond the bound is cut."""
        with ExitStack() as files:
            output = await _Pipe.open(files, most_output_bytes)
            errors = await _Pipe.open(files, most_output_bytes) if apart else output
            process = subprocess.Popen(  # noqa: ASYNC220 (it returns at the child's exec)
                [_launcher(), *_DIES_WITH_PARENT[1:], *_found(argv, cwd, environment)],
                cwd=cwd,
                env=environment,
                stdin=_given(stdin, files),
                stdout=output.write_end,
                stderr=errors.write_end,
                start_new_session=True,
            )
            pipes = (output, errors) if apart else (output,)
            for pipe in pipes:
                pipe.close_write_end()
            exit_code = await _end(process, pipes, timeout_seconds)
        return Ended(exit_code, output.kept.text(), errors.kept.text() if apart else "")

    async def kill_marked(self, marker: str, variable: str = SEGMENT_VARIABLE) -> int:
        """Kill all processes that carry the marker, also those that are forked meanwhile.

        Raises `TimeoutError` (an `OSError`) when some are left after the last round.
        """
        wanted = f"{variable}={marker}".encode()
        killed: set[int] = set()
        quiet_rounds = 0
        for _ in range(MOST_KILL_ROUNDS):
            alive = _kill_all_with(wanted)
            killed |= alive
            quiet_rounds = 0 if alive else quiet_rounds + 1
            if quiet_rounds == QUIET_ROUNDS:
                return len(killed)
            await asyncio.sleep(KILL_ROUND_SECONDS)
        raise TimeoutError(f"processes of {variable}={marker} survive SIGKILL: {sorted(killed)}")


class NoWalls:
    """`Walls` where there are none: programs of agents see what the service's user sees."""

    def around(self, stay: Stay) -> AbstractAsyncContextManager[Entered]:
        """As `Walls.around`."""
        return nullcontext(Entered())

    def name_inside(self, workspace: Path) -> Path:
        """As `Walls.name_inside`: its path."""
        return workspace

    def excess(self, marker: str) -> str:
        """As `Walls.excess`: nobody looks."""
        return ""


async def _end(
    process: subprocess.Popen[bytes], pipes: Sequence["_Pipe"], timeout_seconds: float
) -> int | None:
    """Wait for the leader within its bound, kill the group whatever happened, read what is left.

    The leader is reaped last: until then its number, which is the group's, is nobody else's.
    """
    loop = asyncio.get_running_loop()
    ended = asyncio.Event()
    pidfd = os.pidfd_open(process.pid)
    loop.add_reader(pidfd, ended.set)
    is_killed = True
    try:
        with suppress(TimeoutError):
            async with asyncio.timeout(timeout_seconds):
                await ended.wait()
                is_killed = False
    finally:
        try:
            os.killpg(process.pid, signal.SIGKILL)
            async with asyncio.timeout(REAP_SECONDS):
                await ended.wait()
        finally:
            loop.remove_reader(pidfd)
            os.close(pidfd)
        exit_code = process.wait(REAP_SECONDS)
        await asyncio.wait([pipe.ended for pipe in pipes], timeout=DRAIN_SECONDS)
    return None if is_killed else exit_code


def _launcher() -> str:
    """The program that ties the child to this thread's life. Raises `FileNotFoundError`."""
    name = _DIES_WITH_PARENT[0]
    found = shutil.which(name)
    if found is None:
        raise FileNotFoundError(ENOENT, "install util-linux, Squadron needs it", name)
    return found


def _found(argv: Sequence[str], cwd: Path, environment: Mapping[str, str]) -> Sequence[str]:
    """The same arguments, if there is such a program. Raises `FileNotFoundError`."""
    program = str(cwd / argv[0]) if "/" in argv[0] else argv[0]
    if shutil.which(program, path=environment.get("PATH", os.defpath)) is None:
        raise FileNotFoundError(ENOENT, os.strerror(ENOENT), argv[0])
    return argv


def _given(stdin: bytes, files: ExitStack) -> int:
    """A descriptor that reads as these bytes: a file cannot block as a pipe does."""
    if not stdin:
        return subprocess.DEVNULL
    descriptor = os.memfd_create("stdin")
    file = files.enter_context(os.fdopen(descriptor, "wb", closefd=True))
    file.write(stdin)
    file.flush()
    os.lseek(descriptor, 0, os.SEEK_SET)
    return descriptor


# --- output ----------------------------------------------------------------------------------


class _Kept:
    """The first and the last half of a stream; the middle beyond the bound is let go."""

    def __init__(self, most_bytes: int) -> None:
        self._head_bytes = most_bytes // 2
        self._tail_bytes = most_bytes - self._head_bytes
        self._head = bytearray()
        self._tail = bytearray()
        self._cut_bytes = 0

    def add(self, chunk: bytes) -> None:
        room = self._head_bytes - len(self._head)
        self._head += chunk[:room]
        self._tail += chunk[room:]
        surplus = len(self._tail) - self._tail_bytes
        if surplus > 0:
            del self._tail[:surplus]
            self._cut_bytes += surplus

    def text(self) -> str:
        note = f"\n[… {self._cut_bytes} bytes cut …]\n".encode() if self._cut_bytes else b""
        return b"".join((self._head, note, self._tail)).decode(errors="replace")


class _Reader(asyncio.Protocol):
    def __init__(self, kept: _Kept, ended: asyncio.Future[None]) -> None:
        self._kept = kept
        self._ended = ended

    def data_received(self, data: bytes) -> None:
        self._kept.add(data)

    def connection_lost(self, exc: Exception | None) -> None:
        if not self._ended.done():
            self._ended.set_result(None)


@dataclass(slots=True)
class _Pipe:
    """A pipe whose read end empties itself into `kept`. Ours, not asyncio's: a process that keeps
    the write end must not hold up `wait()`."""

    write_end: int
    kept: _Kept
    ended: asyncio.Future[None]
    is_write_end_open: bool = True

    @classmethod
    async def open(cls, files: ExitStack, most_bytes: int) -> "_Pipe":
        loop = asyncio.get_running_loop()
        read_end, write_end = os.pipe()
        pipe = cls(write_end, _Kept(most_bytes), loop.create_future())
        files.callback(pipe.close_write_end)
        reader = files.enter_context(os.fdopen(read_end, "rb", buffering=0))
        transport, _ = await loop.connect_read_pipe(lambda: _Reader(pipe.kept, pipe.ended), reader)
        files.callback(transport.close)
        return pipe

    def close_write_end(self) -> None:
        if self.is_write_end_open:
            self.is_write_end_open = False
            os.close(self.write_end)


# --- orphans ---------------------------------------------------------------------------------


def _kill_all_with(variable: bytes) -> set[int]:
    """Signal each process that carries the variable; which ones they were.

    The youngest come first: what forks away lives for a moment, and is still there when its
    environment is read right after the list.
    """
    found: set[int] = set()
    pids = (int(entry.name) for entry in Path("/proc").iterdir() if entry.name.isdigit())
    for pid in sorted(pids, reverse=True):
        if pid != os.getpid():
            # Gone meanwhile, or another user's: neither is ours to end.
            with suppress(ProcessLookupError, PermissionError, FileNotFoundError):
                if _kill_if_it_carries(pid, variable):
                    found.add(pid)
    return found


def _kill_if_it_carries(pid: int, variable: bytes) -> bool:
    """Look and strike through one pidfd, so that a reused number is never struck."""
    descriptor = os.pidfd_open(pid)
    try:
        with Path(f"/proc/{pid}/environ").open("rb") as file:
            environment = file.read(MOST_ENVIRONMENT_BYTES)
        if variable not in environment.split(b"\0"):
            return False
        signal.pidfd_send_signal(descriptor, signal.SIGKILL)
        return True
    finally:
        os.close(descriptor)
