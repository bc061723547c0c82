"""Runs a command where there is no sandbox, and leaves nothing of it running. Needs the standard
library alone.

    python reaper.py [NAME=VALUE…] -- COMMAND…

What forks away twice, starts a session of its own and drops its environment belongs to no group
and carries no marker. But the kernel hands an orphan to the nearest of its ancestors that has asked
for orphans. Two of those stand above the command. The inner one starts it; when the command has
ended, or the outer one is gone, it kills all that is below it until nothing is. The outer one does
the same should somebody kill the inner one. `NAME=VALUE` is for the command's environment: these
two carry no marker, or they would be killed with what they have to kill.
"""

import ctypes
import os
import signal
import sys
import time
from collections.abc import Mapping
from pathlib import Path
from types import FrameType

END_SECONDS = 5.0
"""For killing what forks on: then it is left."""
ROUND_SECONDS = 0.002
NO_COMMAND = 127
_SET_PDEATHSIG, _SET_CHILD_SUBREAPER = 1, 36  # <linux/prctl.h>


class _LeftAloneError(Exception):
    """Whoever started this is gone."""


def main() -> None:
    """Ends as the command ended: with its exit code, or 128 and the signal."""
    words = sys.argv[1:]
    at = words.index("--")
    environment = {**os.environ, **dict(word.split("=", 1) for word in words[:at])}
    _adopts_orphans()
    outer = os.getpid()
    inner = os.fork()
    if inner == 0:
        sys.exit(_inner(outer, words[at + 1 :], environment))
    code = _waits_for(inner)
    _ends_all()
    sys.exit(code)


def _inner(outer: int, command: list[str], environment: Mapping[str, str]) -> int:
    os.setsid()  # the outer one's group is killed, and this one has work to do then
    _adopts_orphans()
    signal.signal(signal.SIGTERM, _left_alone)
    try:
        _gets_when_the_parent_dies(signal.SIGTERM)
        if os.getppid() != outer:
            raise _LeftAloneError
        started = os.fork()
        if started == 0:
            _becomes(command, environment)
        code = _waits_for(started)
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
    except _LeftAloneError:
        code = 128 + signal.SIGTERM
    _ends_all()
    return code


def _becomes(command: list[str], environment: Mapping[str, str]) -> None:
    try:
        signal.signal(signal.SIGTERM, signal.SIG_DFL)
        os.setsid()
        _gets_when_the_parent_dies(signal.SIGKILL)
        os.execvpe(command[0], command, environment)
    except OSError as error:
        sys.stderr.write(f"{command[0]}: {error.strerror}\n")
    finally:
        os._exit(NO_COMMAND)


def _waits_for(child: int) -> int:
    """The child's exit code; adopted ones are buried meanwhile."""
    while True:
        pid, status = os.wait()
        if pid == child:
            code = os.waitstatus_to_exitcode(status)
            return code if code >= 0 else 128 - code


def _ends_all() -> None:
    """Kill whatever is below this process: what is orphaned by that comes here, and is next."""
    until = time.monotonic() + END_SECONDS
    while _has_children() and time.monotonic() < until:
        for pid in _below(os.getpid()):
            try:
                os.kill(pid, signal.SIGKILL)
            except ProcessLookupError:
                pass  # it was quicker
            except PermissionError:
                pass  # it became another user
        time.sleep(ROUND_SECONDS)


def _has_children() -> bool:
    """Whether any child is left; those that have ended are buried."""
    try:
        while os.waitpid(-1, os.WNOHANG)[0]:
            pass
    except ChildProcessError:
        return False
    return True


def _below(ancestor: int) -> list[int]:
    """All descendants, as of one look."""
    children = dict[int, list[int]]()
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                # The name, in brackets, may hold anything; behind it stand state and parent.
                parent = (entry / "stat").read_text("latin-1").rpartition(")")[2].split()[1]
            except (FileNotFoundError, ProcessLookupError, PermissionError):
                continue  # gone, or another user's where each sees only its own
            children.setdefault(int(parent), []).append(int(entry.name))
    found, looked_at = list[int](), [ancestor]
    while looked_at:
        below = children.get(looked_at.pop(), [])
        found += below
        looked_at += below
    return found


def _left_alone(number: int, frame: FrameType | None) -> None:
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    raise _LeftAloneError


def _adopts_orphans() -> None:
    _prctl(_SET_CHILD_SUBREAPER, 1)


def _gets_when_the_parent_dies(number: int) -> None:
    _prctl(_SET_PDEATHSIG, number)


def _prctl(option: int, value: int) -> None:
    if ctypes.CDLL(None, use_errno=True).prctl(option, value, 0, 0, 0) != 0:
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number))


if __name__ == "__main__":
    main()
