"""Which user of the machine agents are: never root, whose files below /proc/sys a sandbox cannot
keep from itself.

A service that is an ordinary user has agents that are the same user, each in namespaces of its own.
A service that is root has agents that are a user whom nobody else is: a page of Perl takes that
user's place before bubblewrap starts, and what an agent writes belongs to it.
"""

import os
import platform
from collections.abc import Iterable, Sequence
from contextlib import suppress
from errno import EPERM
from functools import cache
from pathlib import Path
from typing import Final

from app.adapters.sandbox.landlock import PERL
from app.adapters.sandbox.seccomp import MACHINES
from app.ports import Processes

UNPRIVILEGED: Final = 61000
"""User and group of agents where the service is root. No distribution gives this number away:
60706 to 61183 are unused (https://systemd.io/UIDS-GIDS/)."""
BECOME: Final = {"x86_64": (119, 117), "aarch64": (149, 147)}
"""The numbers of `setresgid` and `setresuid`, by architecture (`platform.machine()`)."""
PROGRAM: Final = Path(__file__).with_name("user.pl")
NEEDED: Final = {
    "CHOWN": 0, "DAC_OVERRIDE": 1, "FOWNER": 3, "KILL": 5, "SETGID": 6, "SETUID": 7,
    "SYS_PTRACE": 19, "SYS_ADMIN": 21,
}  # fmt: skip
"""What root must be able to do for that, by the numbers of linux/capability.h: give its agents
their files and take them back, become them, find and kill their processes, and mount."""
HAND_OVER_SECONDS: Final = 120.0
_CHOWN: Final = "/bin/chown"
_MOST_SAID: Final = 300


def is_root() -> bool:
    """Whether agents need another user than the service's."""
    return os.geteuid() == 0


def agents_user() -> int:
    """Who owns what an agent writes, by the machine's numbers."""
    return UNPRIVILEGED if is_root() else os.geteuid()


def described() -> str:
    """Which user agents are here, in words for people."""
    if is_root():
        return (
            f"agents are user {UNPRIVILEGED} of this machine, who owns their workspaces;"
            " the service is root"
        )
    return f"agents are the service's own user {os.geteuid()}, in namespaces of their own"


def as_agents_user() -> list[str]:
    """What stands before bubblewrap so that it starts as `agents_user`; nothing where it does so
    anyway. Raises `OSError` where root cannot take that user's place."""
    if not is_root():
        return []
    if why := _hindrance():
        raise OSError(EPERM, f"agents cannot be another user than root here: {why}", str(PERL))
    machine = platform.machine()
    known = MACHINES[machine].numbers
    given = (known["unshare"], known["mount"], *BECOME[machine], UNPRIVILEGED)
    return [str(PERL), "-e", _program(), *map(str, given), "--"]


async def hand_over(
    processes: Processes, directories: Iterable[Path], more: Iterable[Path] = ()
) -> None:
    """Give directories to `agents_user` with all that is in them: the first where that was not
    done yet, the others each time. No link is followed. Raises `OSError`."""
    if not is_root():
        return
    # The directory itself is given last: one that is the agents' already is so throughout.
    wanted = [*(each for each in directories if each.lstat().st_uid != UNPRIVILEGED), *more]
    if not wanted:
        return
    ended = await processes.run(
        [
            *(_CHOWN, "--recursive", "--no-dereference", f"{UNPRIVILEGED}:{UNPRIVILEGED}", "--"),
            *map(str, wanted),
        ],
        cwd=Path("/"),
        environment={"PATH": "/usr/bin:/bin", "LC_ALL": "C"},
        timeout_seconds=HAND_OVER_SECONDS,
    )
    if ended.exit_code != 0:
        said = ended.output.strip()[:_MOST_SAID] or f"no end within {HAND_OVER_SECONDS:g} s"
        why = f"it cannot be given to user {UNPRIVILEGED}, whom agents are: {said}"
        raise OSError(EPERM, why, str(wanted[0]))


def hand_over_socket(path: Path) -> None:
    """Let `agents_user` connect to a socket that only its owner may connect to."""
    if is_root():
        os.chown(path, UNPRIVILEGED, UNPRIVILEGED, follow_symlinks=False)


def let_read(path: Path) -> None:
    """Let `agents_user` read a file of the service's where it is bound into a sandbox, whatever
    the service's umask; one that is not there needs nothing."""
    if is_root():
        with suppress(FileNotFoundError):
            path.chmod(0o644)


@cache
def _hindrance() -> str:
    """Why root cannot take another user's place here; empty: it can."""
    if platform.machine() not in MACHINES.keys() & BECOME.keys():
        return f"nobody has listed the system calls of {platform.machine()}"
    if not PERL.exists():
        return f"install {PERL} (Debian: apt-get install perl-base)"
    if missing := missing_capabilities(Path("/proc/self/status").read_text().splitlines()):
        return f"root lacks the capabilities {', '.join(missing)}"
    return ""


def missing_capabilities(status: Sequence[str]) -> list[str]:
    """The capabilities that a process of this status lacks, by name."""
    line = next(each for each in status if each.startswith("CapEff:"))
    effective = int(line.removeprefix("CapEff:"), 16)
    return [name for name, number in NEEDED.items() if not effective >> number & 1]


@cache
def _program() -> str:
    return PROGRAM.read_text()
