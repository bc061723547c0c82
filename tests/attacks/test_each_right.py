"""Each right that the second wall takes away: what it keeps from being done can be done where the
kernel is not asked about it. The second wall stands alone here, around the machine as it is."""

import socket
import subprocess
from collections.abc import Iterator, Mapping
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import pytest

from app.adapters.sandbox.landlock import READ, described, is_there, landlocked, version
from app.adapters.sandbox.user import is_root
from tests.support.waiting import MOST_SECONDS

pytestmark = [
    pytest.mark.full,
    pytest.mark.skipif(not is_there(), reason=f"the second wall: {described()}"),
]


@dataclass(frozen=True, slots=True)
class Right:
    """One of linux/landlock.h."""

    bit: int
    command: str
    """What it lets be done, for bash, in a directory for which nothing is allowed."""
    since: int = 1
    """The version of Landlock that knows it."""
    is_roots: bool = False
    """Whether an ordinary user may not do it anywhere."""
    is_scope: bool = False
    """Whether it is about processes, and not about files."""
    given: int = 0
    """What is allowed in that directory after all, since it is needed as well."""


def python(line: str) -> str:
    return f"/usr/bin/python3 -c '{line}'"


RIGHTS: Final[Mapping[str, Right]] = {
    "execute": Right(1 << 0, "./program", given=1 << 2),
    "write a file": Right(1 << 1, "echo x >>file"),
    "read a file": Right(1 << 2, "read -r _ <file"),
    "list a directory": Right(1 << 3, "ls"),
    "remove a directory": Right(1 << 4, "rmdir directory"),
    "remove a file": Right(1 << 5, "rm file"),
    "make a device of characters": Right(1 << 6, "mknod new c 1 3", is_roots=True),
    "make a directory": Right(1 << 7, "mkdir new"),
    "make a file": Right(1 << 8, "ln file new"),
    "make a socket": Right(1 << 9, python('import socket; socket.socket(1).bind("new")')),
    "make a pipe": Right(1 << 10, "mkfifo new"),
    "make a device of blocks": Right(1 << 11, "mknod new b 7 0", is_roots=True),
    "make a link": Right(1 << 12, "ln -s file new"),
    "cut a file": Right(1 << 14, python('import os; os.truncate("file", 0)'), since=3),
    "set up a device": Right(
        1 << 15,
        python('import fcntl; fcntl.ioctl(open("/dev/ptmx"), 0x80045430, bytes(4))'),
        since=5,
    ),
    "connect to an abstract socket": Right(
        1 << 0,
        python('import socket, sys; socket.socket(1).connect("\\0" + sys.argv[1])') + " $NAME",
        since=6,
        is_scope=True,
    ),
    "signal a process": Right(1 << 1, "kill -0 $VICTIM", since=6, is_scope=True),
}
"""All but one. To move a file to another directory is what the kernel lets nobody do whom it was
not asked to let: it cannot be taken away, only given."""
MOVE: Final = 1 << 13
MACHINE: Final = ("usr", "bin", "lib", "lib64", "etc", "proc")
"""What programs need to start."""


@pytest.fixture
def place(tmp_path: Path) -> Iterator[tuple[Path, Mapping[str, str]]]:
    """A directory with something of every kind, and the names of what is outside."""
    (tmp_path / "file").write_text("one line\n")
    (tmp_path / "directory").mkdir()
    (tmp_path / "program").write_bytes(Path("/bin/true").read_bytes())
    (tmp_path / "program").chmod(0o755)
    with ExitStack() as stack:
        listens = stack.enter_context(socket.socket(socket.AF_UNIX))
        listens.bind(f"\0{tmp_path.name}")
        listens.listen()
        victim = stack.enter_context(subprocess.Popen(["sleep", f"{MOST_SECONDS:g}"]))
        stack.callback(victim.kill)
        yield tmp_path, {"NAME": tmp_path.name, "VICTIM": str(victim.pid)}


def without(argv: list[str], bit: int, *, is_scope: bool) -> list[str]:
    """The second wall, where the kernel is not asked about that right."""
    start, end = 3, argv.index("--")
    handled, scoped, *rules = argv[start:end]
    if is_scope:
        return [*argv[:start], handled, str(int(scoped) & ~bit), *rules, "--"]
    rules[::2] = [str(int(rights) & ~bit) for rights in rules[::2]]
    return [*argv[:start], str(int(handled) & ~bit), scoped, *rules, "--"]


@pytest.mark.parametrize("name", RIGHTS)
def test_what_a_right_is_needed_for_can_be_done_where_nobody_asks(
    name: str, place: tuple[Path, Mapping[str, str]]
) -> None:
    directory, names = place
    right = RIGHTS[name]
    if right.since > version():
        pytest.skip(f"this kernel's Landlock is older than version {right.since}")
    if right.is_roots and not is_root():
        pytest.skip("an ordinary user cannot do that anywhere")
    machine = [*((READ, f"/{each}") for each in MACHINE), (READ | 1 << 1, "/dev")]
    wall = landlocked([*machine, (right.given, str(directory))] if right.given else machine)

    def ends_well(before: list[str]) -> bool:
        ended = subprocess.run(
            [*before, "bash", "-c", f"echo begun; {right.command}"],
            cwd=directory,
            env={"PATH": "/usr/bin:/bin", **names},
            capture_output=True,
            text=True,
            timeout=MOST_SECONDS,
            check=False,
        )
        assert ended.stdout.startswith("begun\n"), ended.stderr
        return ended.returncode == 0

    assert not ends_well(wall)
    assert ends_well(without(wall, right.bit, is_scope=right.is_scope))


def test_every_right_has_its_row() -> None:
    handled, scoped = map(int, landlocked([])[3:5])
    files = [right.bit for right in RIGHTS.values() if not right.is_scope]
    scopes = [right.bit for right in RIGHTS.values() if right.is_scope]
    assert handled & ~MOVE & ~sum(files) == 0
    assert scoped & ~sum(scopes) == 0
