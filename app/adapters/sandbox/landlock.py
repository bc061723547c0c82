"""A second wall inside the first, where kernel and machine have it: what a command, and all that it
starts, may do to files, whatever the mounts would let it.

Landlock (https://docs.kernel.org/userspace-api/landlock.html) binds a process and what comes of it,
so something has to run inside, after the mounts and before the command: a page of Perl, which
starts in a fraction of what Python takes and is there wherever Debian is. Files only: the network
is another namespace, in which tests may listen as they like.
"""

import ctypes
from collections.abc import Iterable
from functools import cache
from pathlib import Path
from typing import Final

PERL: Final = Path("/usr/bin/perl")
PROGRAM: Final = Path(__file__).with_name("landlock.pl")
OLDEST: Final = 2
"""The version that lets a file be moved to another directory, as git does all the time."""

_EXECUTE, _WRITE_FILE, _READ_FILE, _READ_DIR = 1 << 0, 1 << 1, 1 << 2, 1 << 3
_MAKE_CHAR, _MAKE_BLOCK = 1 << 6, 1 << 11
_SINCE: Final = {2: 1 << 14, 3: 1 << 15, 5: 1 << 16}
"""All rights of a version, linux/landlock.h: one above the last of them."""
SCOPED: Final = 6
"""The version since which abstract sockets and signals reach no process that was there before."""

LIST: Final = _READ_DIR
READ: Final = _READ_FILE | _READ_DIR | _EXECUTE
INSPECT: Final = _READ_FILE | _READ_DIR | _WRITE_FILE
"""Of /proc: what a process may change of its own is written there."""
USE: Final = INSPECT | 1 << 14 | 1 << 15
"""Of devices."""
WRITE: Final = (1 << 16) - 1 & ~(_MAKE_CHAR | _MAKE_BLOCK)


@cache
def version() -> int:
    """Of Landlock, as the kernel tells it; 0: it has none, or may not be asked."""
    ask = ctypes.CDLL(None).syscall
    ask.restype = ctypes.c_long
    return max(0, int(ask(ctypes.c_long(444), None, ctypes.c_size_t(0), ctypes.c_uint(1))))


def is_there() -> bool:
    """Whether the wall can stand here."""
    return version() >= OLDEST and PERL.exists()


def described() -> str:
    """The second wall here, in words for people."""
    if version() < OLDEST:
        return "none: the kernel has no Landlock, or an older one than Linux 5.19"
    if not PERL.exists():
        return f"none: Landlock needs {PERL} (Debian: apt-get install perl-base)"
    return f"Landlock of version {version()}: files, once more"


def landlocked(allowed: Iterable[tuple[int, str]]) -> list[str]:
    """What stands before a command inside the sandbox so that it may do below each path only what
    is allowed there, and nothing elsewhere; nothing where the wall cannot stand."""
    if not is_there():
        return []
    handled = max(each for since, each in _SINCE.items() if since <= version()) - 1
    scoped = 0b11 if version() >= SCOPED else 0
    rules = (word for rights, path in allowed for word in (str(rights & handled), path))
    return [str(PERL), "-e", _program(), str(handled), str(scoped), *rules, "--"]


@cache
def _program() -> str:
    return PROGRAM.read_text()
