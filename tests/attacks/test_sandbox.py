"""The walls around an agent's processes: each holds, and each attack succeeds without its own."""

import asyncio
import os
import platform
import signal
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest

from app.adapters.processes import ProcessGroups
from app.adapters.sandbox import SMALL, Bounds, SandboxedProcesses, broken_walls
from app.adapters.sandbox.attacks import ATTACKS, CLONES, OUTLIVE, Attack, Bait, attacked, laid_out
from app.adapters.sandbox.hierarchies import CGROUPS, PREFIX
from app.adapters.sandbox.kernelfiles import writable_in_proc
from app.adapters.sandbox.landlock import PERL, SCOPED, described, is_there, version
from app.adapters.sandbox.seccomp import CLONE3, MACHINES, seccomp_filter
from app.adapters.sandbox.user import is_root
from app.ports import SEGMENT_VARIABLE, Ended
from tests.support.sandbox import BUBBLEWRAP
from tests.support.waiting import MOST_SECONDS

pytestmark = BUBBLEWRAP

Change = Callable[[list[str], Bait], list[str]]
"""Takes a wall away: the command line of the sandbox without it."""


def without(*flags: str) -> Change:
    """Without these flags, each with its arguments."""

    def change(argv: list[str], bait: Bait) -> list[str]:
        for flag in flags:
            words = flag.split()
            at = next(n for n in range(len(argv)) if argv[n : n + len(words)] == words)
            del argv[at : at + len(words)]
        return argv

    return change


def with_bound(path: str, *, writable: bool = False) -> Change:
    """With a path of the machine bound into the sandbox."""

    def change(argv: list[str], bait: Bait) -> list[str]:
        place = path.format(**bait.names())
        at = argv.index("--chdir")
        return [*argv[:at], "--bind" if writable else "--ro-bind", place, place, *argv[at:]]

    return change


def writable_usr(argv: list[str], bait: Bait) -> list[str]:
    argv[argv.index("--ro-bind")] = "--bind"
    return argv


def unbound(argv: list[str], bait: Bait) -> list[str]:
    """With whatever of /proc there is to write."""
    while (at := next((n for n, each in enumerate(argv) if each in writable_in_proc()), 0)) > 0:
        del argv[at - 1 : at + 2]
    return argv


AS_SERVICE = ("--unshare-user", "--disable-userns", "--uid 1000", "--gid 1000")
AS_ROOT = (*AS_SERVICE, "--cap-drop ALL")
WALLS: Mapping[str, Change] = {
    "read another process's environment": without("--unshare-pid", *AS_ROOT),
    "see the machine's processes": without("--unshare-pid"),
    "kill a process of the machine": without("--unshare-pid"),
    "read a file of the service": with_bound("{outside}"),
    "follow a link out": with_bound("{outside}"),
    "write into another workspace": with_bound("{outside}", writable=True),
    "read secrets of /etc": with_bound("/etc/shadow"),
    "reach the machine's sockets": with_bound("/run"),
    "write to /usr": writable_usr,
    "fill the memory with files of the root": without("--remount-ro /"),
    "connect to the machine": without("--unshare-net"),
    "exchange datagrams with the machine": without("--unshare-net"),
    "reach the metadata address": without("--unshare-net"),
    "be root": without("--uid 1000", "--gid 1000"),
    "have capabilities": without("--uid 1000", "--gid 1000", "--cap-drop ALL"),
    "mount": without(
        "--seccomp 9", "--uid 1000", "--gid 1000", "--cap-drop ALL", "--disable-userns"
    ),
    "make namespaces": without("--seccomp 9", "--disable-userns"),
    "change the kernel's settings": unbound,
    "write elsewhere below /proc": unbound,
    "write below /sys": with_bound("/sys", writable=True),
    "make system calls without a filter": without("--seccomp 9"),
    "make a device": without(*AS_ROOT),
    "outlive the command": without("--unshare-pid", "--die-with-parent"),
}
BOUNDS = frozenset(attack.name for attack in ATTACKS) - WALLS.keys()
"""Held by bounds rather than by flags."""


TWICE = frozenset({
    "kill a process of the machine", "read a file of the service", "follow a link out",
    "write into another workspace", "read secrets of /etc", "write to /usr",
    "fill the memory with files of the root", "mount", "make a device", "write below /sys",
})  # fmt: skip
"""Held by the second wall as well."""


@dataclass
class Changed:
    """`Processes` whose sandbox lacks what holds an attack; and the second wall, unless it is to
    stand. Its agent is the service's own user, root too. Where the attack is to outlive its
    command no control group has it: the group would end it."""

    processes: ProcessGroups
    change: Change
    bait: Bait
    has_second: bool = False

    async def run(self, argv: Sequence[str], **how: Any) -> Ended:
        given = list(argv)
        if "CAP_DAC_READ_SEARCH" in given:  # the service's own: it counts what an agent wrote
            return await self.processes.run(given, **how)
        if "--no-dereference" in given:  # what its agent writes is the service's
            return Ended(0, "")
        start = next(n for n, word in enumerate(given) if word.endswith("/bwrap"))
        end = given.index("--", start)
        changed = self.change(given[start:end], self.bait)
        inside = given[end + 1 :]
        if not self.has_second and inside[0] == str(PERL):
            inside = inside[inside.index("--") + 1 :]
        outside = given[: given.index(str(PERL))] if is_root() else given[:start]
        if self.change is WALLS[OUTLIVE.name] and "--" in outside:  # before it: joining the group
            outside = outside[outside.index("--") + 1 :]
        return await self.processes.run([*outside, *changed, "--", *inside], **how)

    async def kill_marked(self, marker: str, variable: str = SEGMENT_VARIABLE) -> int:
        return await self.processes.kill_marked(marker, variable)


def behind(processes: Any, tmp_path: Path, bounds: Bounds = SMALL) -> SandboxedProcesses:
    return SandboxedProcesses(processes, tmp_path / "accounts", (), bounds)


ROOTS = frozenset({
    "read another process's environment", "read secrets of /etc", "write to /usr", "be root",
    "have capabilities", "mount", "write below /sys", "make a device",
})  # fmt: skip
"""What an ordinary user has no right to outside of any sandbox."""

SLOW = ("outlive the command", "fill the disk with many files", "make files without end")
"""They take ten seconds each."""


def tier(attack: str) -> Sequence[pytest.MarkDecorator]:
    """What is slow is left to `make full`; what needs root's rights, to root."""
    cannot = pytest.mark.skipif(
        attack in ROOTS and not is_root(), reason="an ordinary user cannot do that anywhere"
    )
    return (pytest.mark.full, cannot) if attack in SLOW else (cannot,)


def groups() -> list[Path]:
    """Control groups of this process."""
    return list(CGROUPS.glob(f"*/{PREFIX}{os.getpid()}-*"))


@pytest.fixture
def processes() -> ProcessGroups:
    return ProcessGroups()


async def test_every_wall_holds(processes: ProcessGroups, tmp_path: Path) -> None:
    place, before = tmp_path / "place", groups()
    assert await broken_walls(behind(processes, tmp_path), processes, place) == []
    assert list(place.iterdir()) == []
    assert groups() == before, "a group goes with its last command"


@pytest.mark.parametrize(
    "attack", [pytest.param(attack, id=attack.name, marks=tier(attack.name)) for attack in ATTACKS]
)
async def test_an_attack_succeeds_when_its_wall_is_taken_away(
    attack: Attack, processes: ProcessGroups, tmp_path: Path
) -> None:
    """The same attack, in the same run, with all walls and without one."""
    async with laid_out(processes, tmp_path) as bait:
        walls = behind(processes, tmp_path)
        if attack.name in BOUNDS:
            broken = behind(processes, tmp_path, Bounds())
        else:
            broken = behind(Changed(processes, WALLS[attack.name], bait), tmp_path)
        assert await attacked(attack, bait.names(), walls, tmp_path) is None
        got_through = await attacked(attack, bait.names(), broken, tmp_path)
    assert got_through is not None
    assert got_through.why == "it can be done from inside the sandbox"


@pytest.mark.parametrize("number", ["clone", "clone3"])
async def test_namespaces_are_made_in_no_way(
    number: str, processes: ProcessGroups, tmp_path: Path
) -> None:
    """Each of the ways by itself: one that is held must not hide another that is not."""
    calls = (MACHINES[platform.machine()].clone, -1) if number == "clone" else (-1, CLONE3)
    attack = Attack(number, f"perl -e '{CLONES}' -- {calls[0]} {calls[1]}")

    async def got_through(bait: Bait, *flags: str) -> bool:
        walls = behind(Changed(processes, without(*flags), bait), tmp_path)
        return await attacked(attack, bait.names(), walls, tmp_path) is not None

    async with laid_out(processes, tmp_path) as bait:
        held = await attacked(attack, bait.names(), behind(processes, tmp_path), tmp_path)
        by_the_filter = not await got_through(bait, "--disable-userns")
        by_the_bound = not await got_through(bait, "--seccomp 9")
        by_neither = not await got_through(bait, "--seccomp 9", "--disable-userns")
    assert (held, by_the_filter, by_the_bound, by_neither) == (None, True, True, False)


@pytest.mark.skipif(not is_there(), reason=f"the second wall: {described()}")
@pytest.mark.parametrize("name", [pytest.param(name, marks=tier(name)) for name in WALLS])
async def test_the_second_wall_holds_alone_what_is_done_to_files(
    name: str, processes: ProcessGroups
) -> None:
    """Where a mount shows what it should not, or a flag was forgotten."""
    attack = next(each for each in ATTACKS if each.name == name)
    with TemporaryDirectory(prefix="squadron-test-", dir="/var/tmp") as directory:  # /tmp is theirs
        async with laid_out(processes, place := Path(directory)) as bait:
            changed = Changed(processes, WALLS[name], bait, has_second=True)
            broken = await attacked(attack, bait.names(), behind(changed, place), place)
    is_held = name in TWICE and (name != "kill a process of the machine" or version() >= SCOPED)
    assert (broken is None) is is_held, broken


def test_every_attack_has_its_wall() -> None:
    assert WALLS.keys() >= TWICE
    assert WALLS.keys() <= {attack.name for attack in ATTACKS}
    assert len(BOUNDS) == 5, "processes, memory, one file; the disk, by its bytes and its files"


@pytest.mark.full
async def test_a_process_that_computes_without_end_is_killed(
    processes: ProcessGroups, tmp_path: Path
) -> None:
    """By the kernel, whatever it does to itself; time is what it has used, not what has passed."""
    (tmp_path / "workspace").mkdir()

    async def exit_code(bounds: Bounds) -> int | None:
        ended = await behind(processes, tmp_path, bounds).run(
            ["perl", "-e", "$SIG{XCPU} = 'IGNORE'; 1 while (times)[0] < 3"],
            cwd=tmp_path / "workspace",
            environment={"PATH": os.environ["PATH"], "HOME": str(tmp_path / "home")},
            timeout_seconds=MOST_SECONDS,
        )
        return ended.exit_code

    assert await exit_code(Bounds(cpu_seconds=1)) == 128 + signal.SIGKILL
    assert await exit_code(Bounds()) == 0


async def test_commands_of_one_agent_come_and_go_without_breaking_each_other(
    processes: ProcessGroups, tmp_path: Path
) -> None:
    """Its group goes with the last of them only; a command that finds none is not run unbound."""
    walls, before = behind(processes, tmp_path), groups()
    environment = {
        "PATH": os.environ["PATH"], "HOME": str(tmp_path / "home"), SEGMENT_VARIABLE: "one:0"
    }  # fmt: skip
    (tmp_path / "workspace").mkdir()

    async def some(number: int) -> list[int | None]:
        ended = [
            await walls.run(
                ["bash", "-c", f"sleep 0.0{turn}"],
                cwd=tmp_path / "workspace",
                environment=environment,
                timeout_seconds=MOST_SECONDS,
            )
            for turn in range(number, number + 5)
        ]
        return [each.exit_code for each in ended]

    codes = await asyncio.gather(*(some(number) for number in range(4)))
    assert codes == [[0] * 5] * 4
    assert groups() == before


async def test_a_link_above_what_lies_below_tmp_leads_nowhere(
    processes: ProcessGroups, tmp_path: Path
) -> None:
    """Bubblewrap makes the directories that it binds to, and would make them at the link's end."""
    lays = "mv {top} /tmp/old; ln -s /oldroot{outside} {top}"
    async with laid_out(processes, tmp_path) as bait:
        with TemporaryDirectory(prefix="squadron-test-", dir="/tmp") as top:

            async def works(name: str, how: Any) -> list[str]:
                """What is made outside by a command after one that lays a link."""
                outside, room = tmp_path / f"outside-{name}", Path(top, name)
                outside.mkdir()
                (room / "workspace").mkdir(parents=True)
                for command in (lays.format(top=top, outside=outside), "true"):
                    await behind(how, tmp_path).run(
                        ["bash", "-c", command],
                        cwd=room / "workspace",
                        environment={"PATH": os.environ["PATH"], "HOME": str(room / "home")},
                        timeout_seconds=MOST_SECONDS,
                    )
                return [path.name for path in outside.iterdir()]

            wall = without(f"--tmpfs {top}", f"--remount-ro {top}")
            assert await works("held", processes) == []
            assert await works("open", Changed(processes, wall, bait)) == ["open"]


TRIES = """\
import ctypes, errno, os, socket, sys
libc = ctypes.CDLL(None, use_errno=True)
for number in map(int, sys.argv[1].split(",")):
    ctypes.set_errno(0)
    done = libc.syscall(ctypes.c_long(number), *[ctypes.c_long(-1)] * 5)
    print(number, done, errno.errorcode.get(ctypes.get_errno()))
for family in (socket.AF_VSOCK, socket.AF_PACKET, 38):
    try:
        socket.socket(family, socket.SOCK_STREAM if family != 38 else socket.SOCK_SEQPACKET)
        print("MADE", family)
    except OSError as error:
        print(errno.errorcode[error.errno])
for family in (socket.AF_UNIX, socket.AF_INET, socket.AF_INET6, socket.AF_NETLINK):
    socket.socket(family, socket.SOCK_DGRAM).close()
assert socket.if_nameindex() == [(1, "lo")]
"""


@pytest.mark.skipif(platform.machine() not in MACHINES, reason="no filter for this architecture")
async def test_the_kernel_refuses_what_the_filter_names(
    processes: ProcessGroups, tmp_path: Path
) -> None:
    """Each call, with arguments that are wrong: without the filter the kernel would say so."""
    numbers = MACHINES[platform.machine()].numbers
    (tmp_path / "workspace").mkdir()
    ended = await behind(processes, tmp_path).run(
        ["/usr/bin/python3", "-c", TRIES, ",".join(map(str, numbers.values()))],
        cwd=tmp_path / "workspace",
        environment={"PATH": os.environ["PATH"], "HOME": str(tmp_path / "home")},
        timeout_seconds=MOST_SECONDS,
    )
    assert ended.exit_code == 0, ended.output
    lines = ended.output.splitlines()
    assert lines[: len(numbers)] == [f"{number} -1 EPERM" for number in numbers.values()]
    assert lines[len(numbers) :] == ["EAFNOSUPPORT"] * 3


def test_an_architecture_without_numbers_has_no_filter() -> None:
    """And is found out by the attack on it."""
    assert seccomp_filter("pdp11") is None
    assert {len(seccomp_filter(name) or b"") % 8 for name in MACHINES} == {0}
