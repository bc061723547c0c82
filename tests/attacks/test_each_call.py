"""Each rule of the filter of system calls: what it refuses is the kernel's own affair without it.

Whoever calls is the machine's root where the service is: an ordinary user is refused by the kernel
as by the filter. All arguments are wrong, so that nothing comes of a call that is let through.
"""

import platform
import subprocess
from collections.abc import Sequence
from errno import errorcode
from pathlib import Path
from typing import Final

import pytest

from app.adapters.sandbox.bubblewrap import FILTER
from app.adapters.sandbox.seccomp import (
    CLONE3,
    CLONED_NAMESPACES,
    MACHINES,
    OTHER_INTERFACE,
    OTHER_MACHINE,
    OTHER_SOCKETS,
    Machine,
    program_of,
    rules,
)
from app.adapters.sandbox.user import is_root
from tests.support.sandbox import BUBBLEWRAP
from tests.support.waiting import MOST_SECONDS

pytestmark = [BUBBLEWRAP, pytest.mark.full]

KNOWN: Final = MACHINES.get(platform.machine()) or Machine(0, 0, 0, {})
CALLS: Final = """\
import ctypes, errno, sys
libc = ctypes.CDLL(None, use_errno=True)
done = libc.syscall(*(ctypes.c_long(int(word)) for word in sys.argv[1:]))
print("done" if done >= 0 else errno.errorcode[ctypes.get_errno()])
"""
"""A system call with these words; prints what came of it."""
OTHERS_NUMBERS: Final = """\
import ctypes, errno, mmap
getpid = bytes([0xB8, 20, 0, 0, 0, 0xCD, 0x80, 0xC3])  # mov eax, 20; int 0x80; ret
page = mmap.mmap(-1, 4096, prot=mmap.PROT_READ | mmap.PROT_WRITE | mmap.PROT_EXEC)
page.write(getpid)
made = ctypes.CFUNCTYPE(ctypes.c_int)(ctypes.addressof(ctypes.c_char.from_buffer(page)))()
print("done" if made > 0 else errno.errorcode[-made])
"""
"""The call of 32-bit programs that asks for one's own number; prints what came of it."""
VSOCK, ANY = 40, -1
NEW_USERS, TELLS = 0x1000_0000, 17
REFUSED: Final = {
    OTHER_MACHINE: "ENOSYS",
    OTHER_INTERFACE: "ENOSYS",
    OTHER_SOCKETS: "EAFNOSUPPORT",
    "clone3": "ENOSYS",
}
"""How a call fails; EPERM, where it is not here."""
NAMES: Final = frozenset(errorcode.values())


def tried(name: str) -> Sequence[str]:
    """A program that makes the call of a rule, with its words."""
    if name == OTHER_MACHINE:
        return (OTHERS_NUMBERS,)
    words: Sequence[int] = {
        OTHER_INTERFACE: (0x4000_0000 + 39,),
        OTHER_SOCKETS: (KNOWN.socket, VSOCK, 99),
        CLONED_NAMESPACES: (KNOWN.clone, NEW_USERS | 0x1_0000, 0, 0, 0, 0),
        "clone3": (CLONE3, 0, 0),
    }.get(name, ()) or (KNOWN.numbers[name], *[ANY] * 5)
    return (CALLS, *map(str, words))


def outcome(name: str, refused: Sequence[str], directory: Path) -> str:
    """What becomes of the call of a rule behind a filter with these rules alone."""
    file = directory / "filter"
    known = rules(KNOWN)
    file.write_bytes(program_of({each: known[each] for each in refused}))
    ended = subprocess.run(
        [
            *("/bin/sh", "-c", f'exec {FILTER}<"$1"; shift; exec "$@"', "sh", str(file)),
            *("bwrap", "--bind", "/", "/", "--proc", "/proc", "--seccomp", str(FILTER), "--"),
            *("/usr/bin/python3", "-c", *tried(name)),
        ],
        capture_output=True,
        text=True,
        timeout=MOST_SECONDS,
        check=False,
    )
    return ended.stdout.strip() or f"{ended.returncode}: {ended.stderr}"


@pytest.mark.skipif(platform.machine() not in MACHINES, reason="no filter for this architecture")
@pytest.mark.skipif(not is_root(), reason="the kernel refuses an ordinary user as the filter does")
@pytest.mark.parametrize("name", rules(KNOWN))
def test_what_a_rule_refuses_is_let_through_without_it(name: str, tmp_path: Path) -> None:
    every = list(rules(KNOWN))
    others = [each for each in every if each != name]
    assert outcome(name, every, tmp_path) == REFUSED.get(name, "EPERM")
    without = outcome(name, others, tmp_path)
    if name == OTHER_INTERFACE and without == "ENOSYS":
        pytest.skip("this kernel has no other interface")
    assert without == "done" or without in NAMES, "it is the kernel that answers"
    assert without != REFUSED.get(name, "EPERM")
