"""Child processes that see one workspace and little else of the machine (bubblewrap 0.8 or newer).

Facts, security, section 3: each flag, and what happens without it.
"""

import os
import platform
import sys
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final

from app.adapters.sandbox.bounds import Bounds, ControlGroups, limits
from app.adapters.sandbox.counting import Amount
from app.adapters.sandbox.disk import DiskWatch
from app.adapters.sandbox.kernelfiles import writable_in_proc
from app.adapters.sandbox.landlock import INSPECT, LIST, READ, USE, WRITE, landlocked
from app.adapters.sandbox.seccomp import seccomp_filter
from app.adapters.sandbox.system import SYSTEM_DIRECTORIES, program, system
from app.adapters.sandbox.user import as_agents_user, hand_over, hand_over_socket, let_read
from app.ports import SEGMENT_VARIABLE, WORKSPACE_INSIDE, Ended, Entered, Processes, Stay

UID: Final = 1000
SHARED_MEMORY_BYTES: Final = 256 * 1024**2
SYSTEM_FILES: Final = (
    "/etc/alternatives",
    "/etc/ca-certificates",
    "/etc/ld.so.cache",
    "/etc/localtime",
    "/etc/mime.types",
    "/etc/ssl/certs",
    "/etc/ssl/openssl.cnf",
)
"""What programs want of /etc and what is no secret; the rest of it is not there."""
ACCOUNTS: Final = ("/etc/passwd", "/etc/group")
"""Ours, laid in the place of the machine's."""

HOME_INSIDE: Final = WORKSPACE_INSIDE.with_name("home")
"""What every agent's home is called besides, for the same reason as its workspace."""

FILTER: Final = 9
"""The descriptor by which bubblewrap is given the filter of system calls."""
_WITH_FILTER: Final = f'exec {FILTER}<"$1" || exit 125; shift; exec "$@"'
_SOCKET: Final = "/door/socket"
_SCRIPT: Final = "/door/opener"
_MODEL: Final = "/door/model"
_PASSWD: Final = f"agent:x:{UID}:{UID}:agent:/:/bin/bash\n"
_GROUP: Final = f"agent:x:{UID}:\n"


@dataclass(frozen=True, slots=True)
class Door:
    """The one thing in a room that leads out of it."""

    socket: Path
    """Of the service's."""
    script: Path
    """What opens the door from inside (`inside.py`)."""
    interpreter: Path
    """What runs that, below `sys.base_prefix`."""
    port: int
    """Where the way out begins, inside."""

    @property
    def opener(self) -> list[str]:
        """What stands before a command inside, so that the door is open when it starts."""
        # Isolated, and without what a site or an environment would make it import.
        return [str(self.interpreter), "-I", "-S", _SCRIPT, _SOCKET, str(self.port)]


@dataclass(frozen=True, slots=True)
class Room:
    """What one sandboxed process may see and write."""

    workspace: Path
    """Its working directory; writable, and there as `WORKSPACE_INSIDE` too."""
    home: Path
    """Writable, and there as `HOME_INSIDE` too."""
    temporary: Path
    """Writable; inside it is /tmp, and lasts from one command to the next."""
    news: Path
    """A file that the service lays down for git to fetch from; readable while it is there."""
    accounts: Path
    """A directory with `passwd` and `group`."""
    mounts: tuple[Path, ...] = ()
    """Paths of the machine that are there to read."""
    door: Door | None = None
    stay: Stay | None = None
    """Of a program that needs more than a command does."""
    is_filtered: bool = False
    """Whether `FILTER` is open for reading, a filter of system calls."""

    @property
    def writable(self) -> tuple[Path, ...]:
        """Where what is written stays."""
        more = () if self.stay is None else self.stay.writable
        return (self.workspace, self.home, self.temporary, *more)

    @property
    def sockets(self) -> tuple[Path, ...]:
        """The service's, that it may connect to."""
        out = None if self.door is None else self.door.socket
        model = None if self.stay is None else self.stay.door
        return tuple(each for each in (out, model) if each is not None)


class SandboxedProcesses:
    """`Processes` of agents. The environment of a command names its `HOME`, beside which lie its
    temporary files and the news for its clone (`Place`)."""

    def __init__(
        self, processes: Processes, accounts: Path, mounts: Sequence[Path], bounds: Bounds
    ) -> None:
        """`accounts` is a directory of ours that agents cannot write. Raises `OSError`."""
        self._processes = processes
        self._accounts = accounts
        self._mounts = tuple(mounts)
        self._bounds = bounds
        self._groups = ControlGroups(bounds)
        self._disks = DiskWatch(processes, Amount(bounds.disk_bytes, bounds.files))
        accounts.mkdir(parents=True, exist_ok=True)
        for name, content in (("passwd", _PASSWD), ("group", _GROUP)):
            _keep(accounts / name, content.encode())
        self._filtered: tuple[str, ...] = ()
        if (filtering := seccomp_filter(platform.machine())) is not None:
            _keep(accounts / "filter", filtering)
            self._filtered = ("/bin/sh", "-c", _WITH_FILTER, "sh", str(accounts / "filter"))

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
        door: Door | None = None,
    ) -> Ended:
        """As `Processes.run`, behind the walls. Raises `OSError` also where they cannot be put
        up: nothing ever runs without them. With a door, `argv` begins with its opener."""
        room = await self._room(cwd, environment, door=door)
        async with (
            self._groups.joined(environment) as join,
            self._disks.over(environment, room.writable) as watched,
        ):
            ended = await self._processes.run(
                [*self._before(join, room), *argv],
                cwd=self._accounts,  # not the agent's: what is outside starts nothing from there
                environment={
                    **environment,
                    SEGMENT_VARIABLE: watched.marker,
                    "TMPDIR": "/tmp",
                    "HOME": str(HOME_INSIDE),
                },
                timeout_seconds=timeout_seconds,
                most_output_bytes=most_output_bytes,
                stdin=stdin,
                apart=apart,
            )
            exit_code = None if watched.excess else ended.exit_code
            await watched.is_over()
            return replace(ended, exit_code=exit_code, excess=watched.excess)

    @asynccontextmanager
    async def around(self, stay: Stay) -> AsyncIterator[Entered]:
        """As `Walls.around`: the same walls as for a command, and what the stay names inside."""
        room = await self._room(stay.workspace, stay.environment, stay=stay)
        async with (
            self._groups.joined(stay.environment) as join,
            self._disks.over(stay.environment, room.writable, is_program=True),
        ):
            names = ("TMPDIR=/tmp", f"HOME={HOME_INSIDE}")
            before = (*self._before(join, room), "/usr/bin/env", *names)
            yield Entered(before, None if stay.door is None else Path(_MODEL))

    def name_inside(self, workspace: Path) -> Path:
        """As `Walls.name_inside`: the same for all."""
        return WORKSPACE_INSIDE

    def excess(self, marker: str) -> str:
        """As `Walls.excess`."""
        return self._disks.excess(marker)

    async def _room(
        self,
        workspace: Path,
        environment: Mapping[str, str],
        *,
        door: Door | None = None,
        stay: Stay | None = None,
    ) -> Room:
        home = Path(environment["HOME"])
        temporary, news = home.with_name("tmp"), home.with_name("news.bundle")
        for directory in (home, temporary):
            directory.mkdir(parents=True, exist_ok=True)
        room = Room(
            workspace,
            home,
            temporary,
            news,
            self._accounts,
            self._mounts,
            door,
            stay,
            is_filtered=bool(self._filtered),
        )
        # The service lays files into a stay's own directories before each start.
        again = () if stay is None else stay.writable
        await hand_over(self._processes, (workspace, home, temporary), again)
        for socket in room.sockets:
            hand_over_socket(socket)
        let_read(news)
        return room

    def _before(self, join: Sequence[str], room: Room) -> list[str]:
        inside = (*landlocked(_allowed(room)), *limits(self._bounds))
        return [*join, *self._filtered, *as_agents_user(), *sandboxed_argv(room), *inside]

    async def kill_marked(self, marker: str, variable: str = SEGMENT_VARIABLE) -> int:
        """As `Processes.kill_marked`: from outside the walls everything is seen."""
        self._disks.forget(marker)
        return await self._processes.kill_marked(marker, variable)


def sandboxed_argv(room: Room) -> list[str]:
    """What stands before a command so that it runs in the room.

    Raises `FileNotFoundError` without bubblewrap, and `OSError` where it is not known what there
    is to be kept from being written.
    """
    ours = _ours_below_tmp(room)
    return [
        program(),
        *("--unshare-user", "--unshare-pid", "--unshare-net", "--unshare-ipc", "--unshare-uts"),
        *("--unshare-cgroup-try", "--disable-userns"),
        *("--uid", str(UID), "--gid", str(UID), "--hostname", "sandbox"),
        *("--cap-drop", "ALL", "--new-session", "--die-with-parent"),
        *system(),
        *("--proc", "/proc", "--dev", "/dev"),
        *(part for path in writable_in_proc() for part in ("--ro-bind", path, path)),
        *("--size", str(SHARED_MEMORY_BYTES), "--tmpfs", "/dev/shm", "--remount-ro", "/dev"),
        *(part for at in ACCOUNTS for part in ("--ro-bind", _account(room, at), at)),
        *(part for path in SYSTEM_FILES for part in ("--ro-bind-try", path, path)),
        *(part for path in room.mounts for part in ("--ro-bind", str(path), str(path))),
        *("--bind", str(room.temporary), "/tmp"),
        *(part for path in ours for part in ("--tmpfs", path)),
        *("--bind", str(room.home), str(room.home)),
        *("--bind", str(room.workspace), str(room.workspace)),
        *("--bind", str(room.home), str(HOME_INSIDE)),
        *("--bind", str(room.workspace), str(WORKSPACE_INSIDE)),
        *("--ro-bind-try", str(room.news), str(room.news)),
        *(("--seccomp", str(FILTER)) if room.is_filtered else ()),
        *([] if room.door is None else _with_door(room.door)),
        *([] if room.stay is None else _with_stay(room.stay)),
        *("--chdir", str(WORKSPACE_INSIDE)),
        *(part for path in ours for part in ("--remount-ro", path)),
        *("--remount-ro", "/", "--"),
    ]


def _account(room: Room, place: str) -> str:
    return str(room.accounts / Path(place).name)


def _allowed(room: Room) -> list[tuple[int, str]]:
    """What a command may do to files, by path: said once more, and not taken from the mounts, so
    that one that shows too much gives nothing away."""
    stay = (room.stay.readable, room.stay.writable) if room.stay is not None else ((), ())
    door = () if room.door is None else (sys.base_prefix, _SOCKET, _SCRIPT)
    machine = ("/usr", *(f"/{name}" for name in SYSTEM_DIRECTORIES), *SYSTEM_FILES, *ACCOUNTS)
    reads = (*machine, *door, *map(str, (*room.mounts, room.news, *stay[0])))
    writes = ("/tmp", "/dev/shm", *map(str, (room.home, room.workspace, *stay[1])))
    return [
        *((LIST, "/"), (INSPECT, "/proc"), (USE, "/dev")),
        *((READ, path) for path in reads),
        *((WRITE, path) for path in writes),
    ]


def _ours_below_tmp(room: Room) -> list[str]:
    """The directories of /tmp that have something bound below them. They are laid over the agent's,
    in whose place it may have put a link: bubblewrap would follow it while it still sees the
    machine, and make directories at its end."""
    stays = () if room.stay is None else (*room.stay.readable, *room.stay.writable)
    paths = [path.parts for path in (room.home, room.workspace, room.news, *stays)]
    return sorted({f"/tmp/{each[2]}" for each in paths if each[1] == "tmp" and len(each) > 3})


def _with_door(door: Door) -> list[str]:
    """The door, and the Python that opens it, where /usr has it not."""
    base = sys.base_prefix
    return [
        *(() if Path(base).is_relative_to("/usr") else ("--ro-bind", base, base)),
        *("--ro-bind", str(door.socket), _SOCKET),
        *("--ro-bind", str(door.script), _SCRIPT),
    ]


def _with_stay(stay: Stay) -> list[str]:
    return [
        *(part for path in stay.writable for part in ("--bind", str(path), str(path))),
        *(part for path in stay.readable for part in ("--ro-bind", str(path), str(path))),
        *(() if stay.door is None else ("--ro-bind", str(stay.door), _MODEL)),
    ]


def _keep(file: Path, content: bytes) -> None:
    """Written only where it differs, and at once: sandboxes of others may be reading it."""
    if not file.exists() or file.read_bytes() != content:
        fresh = file.with_name(f"{file.name}.{os.getpid()}")
        fresh.write_bytes(content)
        let_read(fresh)
        fresh.replace(file)
