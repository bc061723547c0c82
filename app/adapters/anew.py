"""A process that starts itself anew in its place: nothing of what it held goes on.

It keeps its number, its standard output and the sockets on which it listens, so that whoever runs
it sees no end, and whoever connects meanwhile waits for a moment. Memory, threads and connections
are gone at once, as after a crash.
"""

import os
import signal
import socket
import sys
import time
from collections.abc import MutableMapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Final, NoReturn, Self

VARIABLE: Final = "SQUADRON_COMES_BACK"
"""Of the process to itself: since when it is away, and the sockets that it keeps."""
END_SECONDS: Final = 5.0
"""Most time for what an earlier life has started to be gone."""
_LOOK_SECONDS: Final = 0.02


@dataclass(frozen=True, slots=True)
class Comeback:
    """What a life of a process knows of the one before."""

    since: datetime
    """When the first life in a row ended that could not do its work."""
    sockets: tuple[int, ...]
    """Descriptors of the listeners that it has left."""

    @classmethod
    def taken(cls, environ: MutableMapping[str, str]) -> Self | None:
        """What the environment says, which says it no more; None: this life is the first."""
        said = environ.pop(VARIABLE, None)
        if said is None:
            return None
        since, *sockets = said.split()
        return cls(datetime.fromtimestamp(float(since), UTC), tuple(map(int, sockets)))

    def listeners(self) -> list[socket.socket]:
        """Those of the life before."""
        kept = [socket.socket(fileno=descriptor) for descriptor in self.sockets]
        for each in kept:
            each.set_inheritable(False)
        return kept


def start_anew(since: datetime, listeners: Sequence[socket.socket]) -> NoReturn:
    """The next life begins, with the same command. Called from any thread."""
    for each in listeners:
        each.set_inheritable(True)
    said = " ".join([f"{since.timestamp():.3f}", *(str(each.fileno()) for each in listeners)])
    os.environ[VARIABLE] = said
    os.execv(sys.executable, [sys.executable, *sys.orig_argv[1:]])


def end_children() -> None:
    """End what an earlier life has started and is still there. Most of it has ended by itself: a
    process of an agent dies with the thread that started it."""
    deadline = time.monotonic() + END_SECONDS
    while _reap() and time.monotonic() < deadline:
        for number in _children():
            with suppress(ProcessLookupError):
                os.kill(number, signal.SIGKILL)
        time.sleep(_LOOK_SECONDS)


def _reap() -> bool:
    """Whether there are children, apart from those that have ended."""
    try:
        while os.waitpid(-1, os.WNOHANG) != (0, 0):
            continue
    except ChildProcessError:
        return False
    return True


def _children() -> list[int]:
    found = Path("/proc/self/task").glob("*/children")
    return [int(number) for file in found for number in file.read_text().split()]
