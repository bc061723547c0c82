"""Whether the walls hold here and now: each attack is made from inside, on bait that is laid out.

Facts, security, section 3: what kernels, users and containers make of a flag is found out by
trying, not by asking.
"""

import asyncio
import os
import platform
import secrets
import shutil
from collections.abc import AsyncIterator, Mapping
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Final, cast

from app.adapters.sandbox.bounds import Bounds
from app.adapters.sandbox.kernelfiles import WRITABLE
from app.adapters.sandbox.seccomp import CLONE3, MACHINES
from app.ports import SEGMENT_VARIABLE, Ended, Processes


def _plain(text: str) -> str:
    """A text in which braces name nothing."""
    return text.replace("{", "{{").replace("}", "}}")


def _writes(places: str) -> str:
    """For bash: whether a file below these directories opens for writing."""
    return f'test -n "$({_plain(WRITABLE.format(places))})"'


SMALL: Final = Bounds(
    processes=64,
    memory_bytes=64 * 1024**2,
    file_bytes=1024**2,
    open_files=256,
    disk_bytes=2 * 1024**2,
    files=300,
)
"""For the attacks on the bounds: what breaks these is over in a moment."""
LAID_OUT_SECONDS: Final = 10.0
_LOOK_AGAIN_SECONDS: Final = 0.01
_DYING_SECONDS: Final = 1.0
"""What is killed with the sandbox is gone a moment later."""
_MOST_SAID: Final = 300
_AT_ONCE: Final = 4
_STARTED, _REACHED = "STARTED", "REACHED"
CLONES: Final = _plain(
    """
    my ($clone, $clone3, $namespace, $tells) = (shift() + 0, shift() + 0, 1 << 28, 17);
    my $how = pack "Q8", $namespace, 0, 0, 0, $tells, 0, 0, 0;
    for my $make (
        sub { syscall $clone, $namespace | $tells, 0, 0, 0, 0 },
        sub { syscall $clone3, $how, length $how },
    ) {
        my $child = $make->();
        exit 0 if $child == 0;
        if ($child > 0) { waitpid $child, 0; exit 0 }
    }
    exit 1
    """
)
"""For Perl: make a process with users of its own, in both ways that the kernel has for that."""
_KNOWN: Final = MACHINES.get(platform.machine())
_CALLS: Final = (-1 if _KNOWN is None else _KNOWN.clone, CLONE3)


@dataclass(frozen=True, slots=True)
class Attack:
    """What somebody inside would try."""

    name: str
    command: str
    """For bash, with the names of the bait in braces; where it succeeds, a wall is broken."""
    seconds: float = 20.0
    """Its bound; it takes far less."""
    may_hang: bool = False
    """Whether one that is held off tries on until its bound."""
    tries: int = 1
    """Of one that is held by a watch, which other processes of the machine can blind for a moment:
    the wall is broken only where all of them succeed."""


START: Final = Attack("start a command", "false")
"""No attack: whether there is a sandbox at all."""
OUTLIVE: Final = Attack("outlive the command", "setsid sleep 60 & false")
"""Seen from outside: whether anything is left."""
ATTACKS: Final = (
    Attack("read another process's environment", "cat /proc/[0-9]*/environ | grep -aq {canary}"),
    Attack("see the machine's processes", "cat /proc/[0-9]*/cmdline | grep -aq victi[m]-{mark}"),
    Attack("kill a process of the machine", "kill -9 {victim}"),
    Attack("read a file of the service", "cat {outside}/secret"),
    Attack("follow a link out", "ln -s {outside}/secret link && cat link"),
    Attack("write into another workspace", "echo x >{outside}/written"),
    Attack("read secrets of /etc", "cat /etc/shadow || ls /etc/ssl/private"),
    Attack("reach the machine's sockets", "test -e /run || test -e /var/run"),
    Attack("write to /usr", "touch /usr/{mark} && rm /usr/{mark}"),
    Attack("fill the memory with files of the root", "touch /{mark} || touch /dev/{mark}"),
    Attack("connect to the machine", "exec 3<>/dev/tcp/127.0.0.1/{tcp}"),
    Attack(
        "exchange datagrams with the machine",
        "exec 3<>/dev/udp/127.0.0.1/{udp}; echo x >&3; read -r -N 1 -t 2 -u 3",
    ),
    Attack("reach the metadata address", "echo x >/dev/udp/169.254.169.254/80"),
    Attack("be root", 'test "$(id -u)" = 0'),
    Attack("have capabilities", "! grep -q '^CapEff:[[:space:]]*0*$' /proc/self/status"),
    Attack("mount", "mount -t tmpfs none /tmp"),
    Attack("make namespaces", f"unshare -Ur true || perl -e '{CLONES}' -- {_CALLS[0]} {_CALLS[1]}"),
    Attack("change the kernel's settings", _writes("/proc/sys")),
    Attack("write elsewhere below /proc", _writes("/proc -path /proc/sys -prune -o")),
    Attack("write below /sys", _writes("/sys")),
    Attack("make a device", "mknod device c 1 3"),
    Attack(
        "make system calls without a filter",
        "! grep -q '^Seccomp:[[:space:]]*2$' /proc/self/status",
    ),
    OUTLIVE,
    Attack(
        "start processes without end",
        "sh -c 'for i in $(seq 100); do sleep 9 & done'",
        seconds=5.0,
        may_hang=True,
    ),
    Attack(
        "take memory without end", 'test "$(head -c 96M /dev/zero | tail -c 96M | wc -c)" -gt 0'
    ),
    Attack("write a file without end", "head -c 2M /dev/zero >large"),
    Attack(
        "fill the disk with many files",
        "for n in $(seq 24); do head -c 512K /dev/zero >part-$n; test $n -lt 6 || sleep 0.5; done",
        tries=3,
    ),
    Attack(
        "make files without end",
        "touch {{1..400}}; for n in $(seq 18); do touch $n-{{1..50}}; sleep 0.5; done",
        tries=3,
    ),
)


@dataclass(frozen=True, slots=True)
class Broken:
    """An attack that got through."""

    attack: str
    why: str


@dataclass(frozen=True, slots=True)
class Bait:
    """What there is to be reached outside."""

    outside: Path
    """A directory with a secret."""
    victim: int
    """A process, with the mark in its environment and in its command line."""
    tcp: int
    """A port that takes connections."""
    udp: int
    """A port that answers."""
    mark: str

    def names(self) -> Mapping[str, object]:
        """By which the attacks call it."""
        return {
            "outside": self.outside,
            "victim": self.victim,
            "tcp": self.tcp,
            "udp": self.udp,
            "canary": f"CANARY={self.mark}",
            "mark": self.mark,
        }


async def broken_walls(walls: Processes, plain: Processes, directory: Path) -> list[Broken]:
    """The attacks that get through `walls`, within seconds; none: they hold.

    `plain` runs what there is to be reached. All lies below `directory`, and is gone afterwards.
    Raises `OSError` if nothing can be laid out there.
    """
    if (broken := await attacked(START, {}, walls, directory)) is not None:
        return [broken]
    places = asyncio.Semaphore(_AT_ONCE)
    async with laid_out(plain, directory) as bait:

        async def tried(attack: Attack) -> Broken | None:
            broken = None
            async with places:
                for _ in range(attack.tries):
                    broken = await attacked(attack, bait.names(), walls, directory)
                    if broken is None:
                        break
            return broken

        found = await asyncio.gather(*(tried(each) for each in reversed(ATTACKS)))
    return [each for each in found if each is not None]


async def attacked(
    attack: Attack, names: Mapping[str, object], walls: Processes, directory: Path
) -> Broken | None:
    """One attack, on bait of these names; None: it was held."""
    room = directory / f"room-{secrets.token_hex(8)}"
    marker = f"attack:{room.name}"
    command = attack.command.format(**names)
    for name in ("workspace", "home", "tmp"):
        (room / name).mkdir(parents=True)
    try:
        ended = await walls.run(
            ["bash", "-c", f"echo {_STARTED}; {{ {command}\n}} >/dev/null 2>&1 && echo {_REACHED}"],
            cwd=room / "workspace",
            environment={
                "PATH": os.environ.get("PATH", os.defpath),
                "HOME": str(room / "home"),
                "LANG": "C.UTF-8",
                SEGMENT_VARIABLE: marker,
            },
            timeout_seconds=attack.seconds,
        )
        if attack is OUTLIVE:
            await asyncio.sleep(_DYING_SECONDS)
        is_outlived = await walls.kill_marked(marker) > 0 and attack is OUTLIVE
    except OSError as error:
        return Broken(attack.name, f"it cannot be started: {error.strerror}: {error.filename}")
    finally:
        shutil.rmtree(room)
    if _STARTED not in ended.output:
        said = " / ".join(ended.output.split("\n"))[:_MOST_SAID]
        return Broken(attack.name, f"nothing runs in the sandbox: {said}")
    if _REACHED in ended.output or is_outlived:
        return Broken(attack.name, "it can be done from inside the sandbox")
    if ended.exit_code is None and not (attack.may_hang or ended.excess):
        return Broken(attack.name, f"undecided after {attack.seconds:g} s: is the machine busy?")
    return None


@asynccontextmanager
async def laid_out(plain: Processes, directory: Path) -> AsyncIterator[Bait]:
    """Something to be reached, of every kind. Raises `OSError`."""
    mark = f"squadron-{secrets.token_hex(8)}"
    outside = directory / f"outside-{mark}"
    async with AsyncExitStack() as stack:
        outside.mkdir(parents=True)
        stack.callback(shutil.rmtree, outside)
        (outside / "secret").write_text(mark)
        loop = asyncio.get_running_loop()
        answers, _ = await loop.create_datagram_endpoint(_Answers, ("127.0.0.1", 0))
        stack.callback(answers.close)
        udp: int = answers.get_extra_info("sockname")[1]
        server = await asyncio.start_server(_hangs_up, "127.0.0.1", 0)
        await stack.enter_async_context(server)
        tcp: int = server.sockets[0].getsockname()[1]
        victim = asyncio.create_task(
            plain.run(
                ["bash", "-c", "echo $$ >pid; sleep 60; true", f"victim-{mark}"],
                cwd=outside,
                environment={"PATH": os.environ.get("PATH", os.defpath), "CANARY": mark},
                timeout_seconds=60,
            )
        )
        stack.push_async_callback(_ended, victim)
        yield Bait(outside, await _pid_of(outside / "pid"), tcp, udp, mark)


async def _ended(victim: asyncio.Task[Ended]) -> None:
    victim.cancel()
    await asyncio.wait([victim])


async def _pid_of(file: Path) -> int:
    """What a process that has just been started says of itself."""
    for _ in range(round(LAID_OUT_SECONDS / _LOOK_AGAIN_SECONDS)):
        said = file.read_text() if file.exists() else ""  # noqa: ASYNC240 (a line)
        if said.endswith("\n"):
            return int(said)
        await asyncio.sleep(_LOOK_AGAIN_SECONDS)
    raise TimeoutError(f"no process could be started within {LAID_OUT_SECONDS:g} s to try walls on")


async def _hangs_up(_: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    writer.close()


class _Answers(asyncio.DatagramProtocol):
    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast(asyncio.DatagramTransport, transport)

    def datagram_received(self, data: bytes, addr: tuple[str, int]) -> None:
        self._transport.sendto(data, addr)
