"""How much an agent's processes may take of the machine: a control group where one can be made
(`memory` and `pids`, and `cpu` where it is to be had), resource limits beside it, and alone where
there is none."""

import asyncio
import hashlib
import os
import secrets
import time
from collections import Counter
from collections.abc import AsyncIterator, Iterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from app.adapters.sandbox.hierarchies import (
    CGROUPS,
    PREFIX,
    Hierarchy,
    Version1,
    Version2,
    bases,
    can_be_used,
)
from app.ports import SEGMENT_VARIABLE

CONTROLLERS: Final = ("pids", "memory")
SHARE: Final = "cpu"
"""Of the processors: the controller that a machine need not have."""
_SHARE_V1, _SHARE_V2 = {"cpu.shares": 1024}, {"cpu.weight": 100}
"""What the kernel gives anybody: all of an agent's processes together compute no more than one
other process does (version 1), or than the service (version 2), while those want to."""
LEAVE_SECONDS: Final = 10.0
"""How long a group is kept for what was killed in it and is not gone yet."""
_FIRST_LOOK_SECONDS: Final = 0.001
"""Who waits is the agent: the kernel often needs a moment, and seldom more."""
_LOOK_AGAIN_SECONDS: Final = 0.02
MOST_LOOKS_AT_THE_DEAD: Final = 50
"""A second: what was killed is gone long before."""
_JOIN: Final = 'until [ "$1" = -- ]; do echo $$ >"$1" || exit 125; shift; done; shift; exec "$@"'
"""Become a member, then the command: nothing of it ever runs outside the group."""


@dataclass(frozen=True, slots=True)
class Bounds:
    """Of all processes of one agent together, unless it says otherwise."""

    processes: int = 512
    """Threads included."""
    memory_bytes: int = 4 * 1024**3
    """Where there is no control group: of one process."""
    file_bytes: int = 2 * 1024**3
    """Of one file."""
    disk_bytes: int = 10 * 1024**3
    """Workspace, home, /tmp and what a CLI keeps; watched while something runs (`disk.py`)."""
    files: int = 1_000_000
    """In the same directories, directories and links included."""
    open_files: int = 4096
    """Of one process."""
    cpu_seconds: int = 8 * 3600
    """Of one process: what its threads have computed, on whatever processor."""


def limits(bounds: Bounds) -> list[str]:
    """What stands before a command inside the walls. There, a limit of processes counts only
    those of the sandbox; for a service that runs as root the kernel does not count at all, and
    the control group does. The limit of memory is each process's own."""
    return [
        "/usr/bin/prlimit",
        f"--nproc={bounds.processes}",
        f"--data={bounds.memory_bytes}",
        f"--fsize={bounds.file_bytes}",
        f"--nofile={bounds.open_files}",
        f"--cpu={bounds.cpu_seconds}",
        "--core=0",
        "--",
    ]


class ControlGroups:
    """One group for each agent with a command under way. Use it from one event loop only."""

    def __init__(self, bounds: Bounds) -> None:
        """Finds out whether groups can be made here, and takes away those of dead processes."""
        self._members: Counter[str] = Counter()
        self._name = f"{PREFIX}{os.getpid()}-"
        self._hierarchy = next(
            (each for each in _hierarchies(bounds) if can_be_used(each, f"{self._name}trial")), None
        )
        if self._hierarchy is not None:
            _forget_the_dead(self._hierarchy)

    @property
    def has_share(self) -> bool:
        """Whether the kernel shares the processors out between agents and the service."""
        return self._hierarchy is not None and self._hierarchy.has(SHARE)

    @property
    def version(self) -> int | None:
        """Of the control groups; None: there are none, and resource limits stand alone."""
        return None if self._hierarchy is None else self._hierarchy.version

    @asynccontextmanager
    async def joined(self, environment: Mapping[str, str]) -> AsyncIterator[list[str]]:
        """What stands before a command so that it joins its agent's group; nothing where there are
        none. The group goes with its last command, and with it what has stayed there. Raises
        `OSError`: nothing runs unbound."""
        hierarchy = self._hierarchy
        if hierarchy is None:
            yield []
            return
        marker = environment.get(SEGMENT_VARIABLE) or secrets.token_hex(8)
        name = self._name + hashlib.sha256(marker.encode()).hexdigest()[:16]
        self._members[name] += 1
        try:
            yield ["/bin/sh", "-c", _JOIN, "sh", *map(str, hierarchy.make(name)), "--"]
        finally:
            self._members[name] -= 1
            await self._leave(hierarchy, name)

    async def _leave(self, hierarchy: Hierarchy, name: str) -> None:
        waited, wait = 0.0, _FIRST_LOOK_SECONDS
        while waited < LEAVE_SECONDS:
            if self._members[name] > 0:
                return
            hierarchy.kill(name)
            if hierarchy.remove(name):
                del self._members[name]
                return
            await asyncio.sleep(wait)
            waited, wait = waited + wait, min(2 * wait, _LOOK_AGAIN_SECONDS)


def in_force(bounds: Bounds) -> str:
    """What bounds agents' processes here, in words for people."""
    return (
        f"{_groups_in_force(bounds)}; {bounds.disk_bytes / 1024**3:g} GiB of disk and"
        f" {bounds.files:,} files for each agent, counted while it works"
    )


def _groups_in_force(bounds: Bounds) -> str:
    groups = ControlGroups(bounds)
    if groups.version is None:
        return (
            "resource limits alone: memory is bounded for each process, not for all of an agent's"
            " together; no control group can be made here"
        )
    share = "; an equal share of the processors" if groups.has_share else ""
    return (
        f"control groups of version {groups.version}:"
        f" memory and processes of each agent together{share}"
    )


def _hierarchies(bounds: Bounds) -> Iterator[Hierarchy]:
    """What this machine may have, in the order in which it is tried."""
    first = {
        "pids": {"pids.max": bounds.processes},
        "memory": {"memory.limit_in_bytes": bounds.memory_bytes},
    }
    yield Version1({**first, SHARE: _SHARE_V1})
    yield Version1(first)
    figures = {"pids.max": bounds.processes, "memory.max": bounds.memory_bytes}
    for root in (CGROUPS, CGROUPS / "unified"):
        for base in bases(root, (*CONTROLLERS, SHARE)):
            yield Version2(base, {**figures, **_SHARE_V2})
        for base in bases(root, CONTROLLERS):
            yield Version2(base, figures)


def _forget_the_dead(hierarchy: Hierarchy) -> None:
    """Groups of processes that were killed before they could take them away, with what they have
    left there."""
    for name in set(hierarchy.names()):
        pid = name.removeprefix(PREFIX).partition("-")[0]
        if pid.isdigit() and not Path("/proc", pid).exists():
            for _ in range(MOST_LOOKS_AT_THE_DEAD):
                hierarchy.kill(name)
                if hierarchy.remove(name):
                    break
                time.sleep(_LOOK_AGAIN_SECONDS)
