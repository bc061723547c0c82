"""Each argument of the sandbox's command line: what it keeps out comes in without it, or it is no
wall, and why not is said. The second wall and the bounds are away meanwhile."""

import asyncio
import platform
import socket
import subprocess
import sys
from collections.abc import AsyncIterator, Iterator, Mapping, Sequence
from contextlib import AsyncExitStack, contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final

import pytest
import pytest_asyncio

from app.adapters.processes import ProcessGroups
from app.adapters.sandbox import SMALL, Bounds, ControlGroups, Room, sandboxed_argv
from app.adapters.sandbox.attacks import laid_out
from app.adapters.sandbox.bounds import limits
from app.adapters.sandbox.bubblewrap import ACCOUNTS, FILTER, SYSTEM_FILES, Door
from app.adapters.sandbox.kernelfiles import WRITABLE, writable_in_proc
from app.adapters.sandbox.seccomp import seccomp_filter
from app.adapters.sandbox.system import SYSTEM_DIRECTORIES
from app.adapters.sandbox.user import is_root
from app.ports import SEGMENT_VARIABLE, Ended, Stay
from tests.support.sandbox import BUBBLEWRAP
from tests.support.waiting import MOST_SECONDS

pytestmark = [BUBBLEWRAP, pytest.mark.full]

OPERANDS: Final = {
    "--uid": 1, "--gid": 1, "--hostname": 1, "--cap-drop": 1, "--proc": 1, "--dev": 1, "--size": 1,
    "--tmpfs": 1, "--remount-ro": 1, "--seccomp": 1, "--chdir": 1, "--ro-bind": 2, "--bind": 2,
    "--ro-bind-try": 2, "--symlink": 2,
}  # fmt: skip
"""How many words follow a flag; none, where it is not here."""
AMONG_MANY: Final = ("--proc", "--dev", "--tmpfs", "--remount-ro", "--bind", "--symlink")
"""Flags that are told apart by where they work: the last of their words."""
HELD_SECONDS: Final = 1.0
"""For a command that is to be killed."""


@dataclass(frozen=True, slots=True)
class Wall:
    """What an argument keeps from being done."""

    command: str
    """For bash; that it ends well inside means that it could be done."""
    beside: tuple[str, ...] = ()
    """Arguments that keep it from being done as well, or need this one. They are away in both
    runs, so that this one has to hold alone."""
    is_roots: bool = False
    """Whether an ordinary user may not do it outside of any sandbox either."""


AS_ROOT: Final = ("--disable-userns", "--uid", "--gid", "--cap-drop")
_STAYS: Final = "an agent's own, to write in"
WALLS: Final[Mapping[str, Wall]] = {
    "--unshare-user": Wall("mknod device c 1 3", AS_ROOT, is_roots=True),
    "--unshare-pid": Wall("kill -0 {victim}"),
    "--unshare-net": Wall("exec 3<>/dev/tcp/127.0.0.1/{tcp}"),
    "--unshare-ipc": Wall("ipcs -m -i {memory} | grep -q bytes="),
    "--unshare-cgroup-try": Wall("grep -q squadron- /proc/self/cgroup"),
    "--disable-userns": Wall("unshare -Ur true", ("--seccomp",)),
    "--seccomp": Wall("unshare -Ur true", ("--disable-userns",)),
    "--uid": Wall('test "$(id -u)" = 0', is_roots=True),
    "--gid": Wall('test "$(id -g)" = 0', is_roots=True),
    "--hostname": Wall('test "$(uname -n)" = {hostname}'),
    "--cap-drop": Wall(
        "! grep -q '^CapEff:[[:space:]]*0*$' /proc/self/status", ("--uid", "--gid"), is_roots=True
    ),
    "--new-session": Wall('read -r _ _ _ _ _ session _ </proc/$$/stat; test "$session" = 0'),
    "--size": Wall("head -c 257M /dev/zero >/dev/shm/large"),
    "--remount-ro /dev": Wall("touch /dev/{mark}"),
    "--remount-ro /": Wall("touch /{mark}"),
    "--remount-ro {top}": Wall("touch {top}/{mark}"),
    "--ro-bind-try {news}": Wall(": >>{news}"),
    "--ro-bind {mount}": Wall(": >>{mount}/tool"),
    "--ro-bind {readable}": Wall(": >>{readable}"),
    "--ro-bind /door/socket": Wall("chmod 700 /door/socket"),
    "--ro-bind /door/opener": Wall(": >>/door/opener"),
    "--ro-bind /door/model": Wall("chmod 700 /door/model"),
    **{
        f"--ro-bind {path}": Wall(f"touch {path}/{{mark}} && rm {path}/{{mark}}", is_roots=True)
        for path in ("/usr", "{python}", *(f"/{name}" for name in SYSTEM_DIRECTORIES))
    },
    **{f"--ro-bind {path}": Wall(f": >>{path}") for path in ACCOUNTS},
    **{
        f"--ro-bind-try {path}": Wall(
            f"touch {path}/{{mark}} && rm {path}/{{mark}}"
            if Path(path).is_dir()
            else f": >>{path}",
            is_roots=True,
        )
        for path in SYSTEM_FILES
        if Path(path).exists()
    },
    **{
        f"--ro-bind {path}": Wall(f'test -n "$({WRITABLE.format(path)})"')
        for path in writable_in_proc()
    },
}
"""By argument. Of one that shows something to read, what is taken away is that it cannot be
written."""
NO_WALLS: Final[Mapping[str, str]] = {
    "--unshare-uts": "`--hostname` needs it; setting a name takes capabilities, which nobody has",
    "--die-with-parent": "a wall: tried below, for it counts when the command is killed",
    "--tmpfs {top}": "a wall: test_sandbox.py lays a link for it",
    "--proc /proc": "less is there without it",
    "--dev /dev": "less is there without it",
    "--tmpfs /dev/shm": "less is there without it",
    "--bind /tmp": _STAYS,
    "--bind {home}": _STAYS,
    "--bind {workspace}": _STAYS,
    "--bind /agent/home": _STAYS,
    "--bind /agent/workspace": _STAYS,
    "--bind {writable}": _STAYS,
    "--chdir": "where a command begins",
    **{f"--symlink /{name}": "where programs look for others" for name in SYSTEM_DIRECTORIES},
    **{
        f"--ro-bind-try {path}": "it is not on this machine"
        for path in SYSTEM_FILES
        if not Path(path).exists()
    },
}
"""Arguments that keep nothing out, and why."""


@dataclass
class Scene:
    """A room with everything that one can have, and what there is to be reached outside."""

    room: Room
    names: Mapping[str, str]
    """What stands for paths and bait in rows."""
    filter: Path
    processes: ProcessGroups = field(default_factory=ProcessGroups)

    @property
    def marker(self) -> str:
        """Of its processes."""
        return f"each-wall:{self.names['mark']}"

    def arguments(self) -> Sequence[tuple[str, ...]]:
        """Of the command line, each with its words."""
        words = iter(sandboxed_argv(self.room)[1:-1])
        return [(word, *(next(words) for _ in range(OPERANDS.get(word, 0)))) for word in words]

    def name(self, argument: Sequence[str]) -> str:
        """By which the rows call an argument."""
        flag, *operands = argument
        if flag not in AMONG_MANY and not flag.startswith("--ro-bind"):
            return flag
        place = operands[-1]
        paths = {path: f"{{{name}}}" for name, path in self.names.items() if path.startswith("/")}
        return f"{flag} {paths.get(place, place)}"

    async def run(
        self,
        command: str,
        away: Sequence[str],
        *,
        join: Sequence[str] = (),
        inside: Sequence[str] = (),
        seconds: float = MOST_SECONDS,
    ) -> Ended:
        """A command inside, where these arguments are away. `join` stands before it all, `inside`
        before the command."""
        kept = [word for each in self.arguments() for word in self._changed(each, away)]
        for name, path in self.names.items():
            command = command.replace(f"{{{name}}}", path)
        return await self.processes.run(
            [
                *join,
                *("/bin/sh", "-c", f'exec {FILTER}<"$1"; shift; exec "$@"', "sh"),
                *(str(self.filter), sandboxed_argv(self.room)[0], *kept, "--"),
                *(*inside, "bash", "-c", command),
            ],
            cwd=Path("/"),
            environment={
                "PATH": "/usr/local/bin:/usr/bin:/bin:/usr/sbin:/sbin",
                "HOME": str(self.room.home),
                SEGMENT_VARIABLE: self.marker,
            },
            timeout_seconds=seconds,
        )

    def _changed(self, argument: tuple[str, ...], away: Sequence[str]) -> Sequence[str]:
        if self.name(argument) not in away:
            return argument
        is_shown = argument[0].startswith("--ro-bind") and not argument[-1].startswith("/proc")
        return (argument[0].replace("--ro-bind", "--bind"), *argument[1:]) if is_shown else ()


@contextmanager
def shared_memory() -> Iterator[str]:
    """The number of a piece that the machine's processes share."""
    made = subprocess.run(["ipcmk", "-M", "4096"], capture_output=True, text=True, check=True)
    number = made.stdout.split()[-1]
    try:
        yield number
    finally:
        subprocess.run(["ipcrm", "-m", number], check=True)


@pytest_asyncio.fixture
async def scene() -> AsyncIterator[Scene]:
    async with AsyncExitStack() as stack:
        far = Path(stack.enter_context(TemporaryDirectory(prefix="squadron-", dir="/var/tmp")))
        near = Path(stack.enter_context(TemporaryDirectory(prefix="squadron-", dir="/tmp")))
        bait = await stack.enter_async_context(laid_out(ProcessGroups(), far))
        for name in ("home", "tmp", "accounts", "mount", "writable"):
            (far / name).mkdir()
        (near / "room" / "workspace").mkdir(parents=True)
        for name in ("news", "mount/tool", "accounts/passwd", "accounts/group", "readable"):
            (far / name).touch()
        filtering = seccomp_filter(platform.machine())
        if filtering is None:
            pytest.skip("no filter for this architecture")
        (far / "filter").write_bytes(filtering)
        opener = far / "opener"
        opener.touch()
        for name in ("out", "model"):
            listens = stack.enter_context(socket.socket(socket.AF_UNIX))
            listens.bind(str(far / name))
        stay = Stay(
            workspace=near / "room" / "workspace",
            environment={},
            readable=(far / "readable",),
            writable=(far / "writable",),
            door=far / "model",
        )
        room = Room(
            workspace=stay.workspace,
            home=far / "home",
            temporary=far / "tmp",
            news=far / "news",
            accounts=far / "accounts",
            mounts=(far / "mount",),
            door=Door(far / "out", opener, Path(sys.executable), 1),
            stay=stay,
            is_filtered=True,
        )
        names = {
            **{name: str(far / name) for name in ("home", "news", "mount", "writable", "readable")},
            "workspace": str(room.workspace),
            "top": str(near),
            "python": sys.base_prefix,
            "victim": str(bait.victim),
            "tcp": str(bait.tcp),
            "mark": bait.mark,
            "hostname": socket.gethostname(),
            "memory": stack.enter_context(shared_memory()),
        }
        yield Scene(room, names, far / "filter")


def test_every_argument_is_a_wall_or_it_is_said_why_not(scene: Scene) -> None:
    names = [scene.name(each) for each in scene.arguments()]
    assert len(names) > 50
    assert {name for name in names if (name in WALLS) is (name in NO_WALLS)} == set()


@pytest.mark.parametrize("name", WALLS)
async def test_what_a_wall_holds_comes_in_without_it(name: str, scene: Scene) -> None:
    wall = WALLS[name]
    if wall.is_roots and not is_root():
        pytest.skip("an ordinary user cannot do that anywhere")
    if name not in map(scene.name, scene.arguments()):
        pytest.skip("this machine needs no such argument")
    groups = ControlGroups(Bounds())
    if name == "--unshare-cgroup-try" and groups.version is None:
        pytest.skip("no control group can be made here")
    async with groups.joined({SEGMENT_VARIABLE: scene.marker}) as join:
        ended = [
            await scene.run(f"echo begun; {wall.command}", away, join=join)
            for away in ((), wall.beside, (name, *wall.beside))
        ]
    assert all(each.output.startswith("begun\n") for each in ended), ended
    assert [each.exit_code == 0 for each in ended] == [False, False, True], "it holds, and alone"


async def test_nothing_outlives_the_one_who_waits_for_it_but_without_its_wall(
    scene: Scene,
) -> None:
    """Where it is killed with its group, and no control group has what is inside."""

    async def left(*away: str) -> int:
        ended = await scene.run("sleep 60", away, seconds=HELD_SECONDS)
        assert ended.exit_code is None
        await asyncio.sleep(HELD_SECONDS)
        return await scene.processes.kill_marked(scene.marker)

    assert await left() == 0
    assert await left("--die-with-parent") > 0


BOUNDS: Final[Mapping[str, str]] = {
    "--data": 'test "$(head -c 96M /dev/zero | tail -c 96M | wc -c)" -gt 0',
    "--fsize": "head -c 2M /dev/zero >large",
    "--nofile": """perl -e 'open $many[$_], "<", "/dev/null" or exit 1 for 1 .. 300'""",
    "--cpu": """perl -e '$SIG{XCPU} = "IGNORE"; 1 while (times)[0] < 3'""",
    "--core": 'test "$(ulimit -Hc)" != 0',
}
"""What goes beyond each bound of one process. The bound of processes counts only where agents are
not root's, and the attacks of test_sandbox.py go beyond it."""


def test_every_bound_has_its_row() -> None:
    given = {word.partition("=")[0] for word in limits(SMALL)[1:-1]}
    assert given == {*BOUNDS, "--nproc"}


@pytest.mark.parametrize("name", BOUNDS)
async def test_what_a_bound_holds_goes_on_without_it(name: str, scene: Scene) -> None:
    every = limits(replace(SMALL, cpu_seconds=1))
    others = [word for word in every if not word.startswith(f"{name}=")]
    ended = [
        await scene.run(f"echo begun; {BOUNDS[name]}", (), inside=inside)
        for inside in (every, others)
    ]
    assert all(each.output.startswith("begun\n") for each in ended), ended
    assert [each.exit_code == 0 for each in ended] == [False, True]
