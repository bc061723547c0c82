"""Control groups as this machine has them: version 1 has a tree for each controller, version 2 one
tree for all, in which only a group without processes hands its controllers on."""

import os
import signal
import subprocess
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Final, Protocol

CGROUPS: Final = Path("/sys/fs/cgroup")
PREFIX: Final = "squadron-"
OWN_LEAF: Final = f"{PREFIX}service"
"""Where the service itself goes, so that the group that it was started in can hand on."""
JOIN_SECONDS: Final = 10.0


class Hierarchy(Protocol):
    """Where groups of one level are made, by name."""

    @property
    def version(self) -> int: ...

    def has(self, controller: str) -> bool:
        """Whether its groups bound what that controller does."""
        ...

    def make(self, name: str) -> Sequence[Path]:
        """Make a group with its bounds, or set those anew; the files by which one joins it.
        Raises `OSError`."""
        ...

    def kill(self, name: str) -> None:
        """Kill what is in it; that goes on to be there for a moment."""
        ...

    def remove(self, name: str) -> bool:
        """Whether none is left: one with a process in it stays."""
        ...

    def names(self) -> Iterator[str]:
        """Of all groups that a Squadron has made, those of dead processes included."""
        ...


@dataclass(frozen=True, slots=True)
class Version1:
    """A tree for each controller."""

    figures: Mapping[str, Mapping[str, int]]
    """By controller: file → bound."""
    root: Path = CGROUPS

    @property
    def version(self) -> int:
        return 1

    def has(self, controller: str) -> bool:
        """As `Hierarchy.has`."""
        return controller in self.figures

    def make(self, name: str) -> Sequence[Path]:
        """As `Hierarchy.make`."""
        for controller, figures in self.figures.items():
            _make(self.root / controller / name, figures)
        return [self.root / each / name / "cgroup.procs" for each in self.figures]

    def kill(self, name: str) -> None:
        """As `Hierarchy.kill`."""
        for controller in self.figures:
            _kill(self.root / controller / name)

    def remove(self, name: str) -> bool:
        """As `Hierarchy.remove`."""
        left = [each for each in self.figures if not _removed(self.root / each / name)]
        return not left

    def names(self) -> Iterator[str]:
        """As `Hierarchy.names`."""
        for controller in self.figures:
            yield from (each.name for each in (self.root / controller).glob(f"{PREFIX}*-*"))


@dataclass(frozen=True, slots=True)
class Version2:
    """One tree; groups are made in `base`, which has handed the controllers on to them."""

    base: Path
    figures: Mapping[str, int]
    """File → bound."""

    @property
    def version(self) -> int:
        return 2

    def has(self, controller: str) -> bool:
        """As `Hierarchy.has`."""
        return any(file.startswith(f"{controller}.") for file in self.figures)

    def make(self, name: str) -> Sequence[Path]:
        """As `Hierarchy.make`."""
        _make(self.base / name, self.figures)
        return [self.base / name / "cgroup.procs"]

    def kill(self, name: str) -> None:
        """As `Hierarchy.kill`."""
        _kill(self.base / name)

    def remove(self, name: str) -> bool:
        """As `Hierarchy.remove`."""
        return _removed(self.base / name)

    def names(self) -> Iterator[str]:
        """As `Hierarchy.names`."""
        yield from (each.name for each in self.base.glob(f"{PREFIX}*-*"))


def bases(root: Path, controllers: Sequence[str]) -> Iterator[Path]:
    """Groups of a tree of version 2 that hand these controllers on: the one that this process was
    started in, which it leaves for a leaf if it is alone there, and the tree's root."""
    if (own := _own_group(root)) is not None:
        is_ours = own != root and _hands_on(own, controllers)
        if is_ours or (own != root and _makes_room(own) and _hands_on(own, controllers)):
            yield own
    if _hands_on(root, controllers):
        yield root


def can_be_used(hierarchy: Hierarchy, name: str) -> bool:
    """Whether a group of that name can be made and joined, here and now."""
    try:
        files = map(str, hierarchy.make(name))
        line = ["/bin/sh", "-c", 'for each; do echo $$ >"$each" || exit 1; done', "sh", *files]
        done = subprocess.run(line, capture_output=True, timeout=JOIN_SECONDS, check=False)
        return done.returncode == 0
    except (OSError, subprocess.TimeoutExpired):
        return False
    finally:
        hierarchy.remove(name)


def _make(group: Path, figures: Mapping[str, int]) -> None:
    group.mkdir(exist_ok=True)
    for file, most in figures.items():
        with (group / file).open("r+") as bound:  # made by the kernel, or there is none
            bound.write(str(most))


def _kill(group: Path) -> None:
    for pid in _members(group):
        with suppress(ProcessLookupError, PermissionError):
            descriptor = os.pidfd_open(pid)
            try:
                if pid in _members(group):  # else the number is somebody else's by now
                    signal.pidfd_send_signal(descriptor, signal.SIGKILL)
            finally:
                os.close(descriptor)


def _members(group: Path) -> Collection[int]:
    """Processes in it; those that this process cannot name, of another namespace, are left out."""
    with suppress(OSError):
        return {int(each) for each in (group / "cgroup.procs").read_text().split()} - {0}
    return ()


def _removed(group: Path) -> bool:
    with suppress(OSError):
        group.rmdir()
    return not group.exists()


def _own_group(root: Path) -> Path | None:
    """The group that this process was started in; None: it is in no tree of version 2."""
    for line in Path("/proc/self/cgroup").read_text().splitlines():
        if line.startswith("0::/"):
            group = root / line.removeprefix("0::/")
            return group.parent if group.name == OWN_LEAF else group
    return None


def _hands_on(group: Path, controllers: Sequence[str]) -> bool:
    file = group / "cgroup.subtree_control"
    with suppress(OSError):
        if set(controllers) <= set(file.read_text().split()):
            return True
        file.write_text(" ".join(f"+{each}" for each in controllers))
        return True
    return False


def _makes_room(group: Path) -> bool:
    """Leave for a leaf; not where others are as well: they are not ours to move."""
    with suppress(OSError):
        if (group / "cgroup.procs").read_text().split() == [str(os.getpid())]:
            (group / OWN_LEAF).mkdir(exist_ok=True)
            (group / OWN_LEAF / "cgroup.procs").write_text(str(os.getpid()))
            return True
    return False
