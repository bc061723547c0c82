"""Control groups as kernels have them. Where the trees of version 1 hold `memory` and `pids`, what
is special about version 2 is tried on a controller that its tree has."""

import os
import select
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from app.adapters.sandbox import SMALL, in_force
from app.adapters.sandbox.bounds import ControlGroups
from app.adapters.sandbox.hierarchies import CGROUPS, OWN_LEAF, Version2, bases, can_be_used
from tests.support.waiting import MOST_SECONDS

PROJECT = Path(__file__).parents[2]
JOINS = """\
import os, pathlib, sys
root = pathlib.Path(sys.argv[1])
(root / "test-bases" / "cgroup.procs").write_text(str(os.getpid()))
from app.adapters.sandbox.hierarchies import Version2, bases, can_be_used
for attempt in range(2):
    found = list(bases(root, [sys.argv[2]]))
    print(*(each.relative_to(root) for each in found))
    print(can_be_used(Version2(found[0], {}), "squadron-1-trial"))
print(pathlib.Path("/proc/self/cgroup").read_text().split("0::")[1].strip())
"""


def tree() -> tuple[Path, str]:
    """A writable tree of version 2 and a controller that it has; skips without one."""
    for root in (CGROUPS, CGROUPS / "unified"):
        file = root / "cgroup.controllers"
        controllers = file.read_text().split() if file.exists() else []
        for name in ("pids", "memory", "hugetlb"):
            if name in controllers and os.access(root / "cgroup.procs", os.W_OK):
                return root, name
    pytest.skip("needs a tree of control groups, version 2, that can be written")


@pytest.fixture
def group() -> Iterator[tuple[Path, Path, str]]:
    """The tree, a group in it, and a controller."""
    root, controller = tree()
    control = root / "cgroup.subtree_control"
    before = control.read_text().split()
    place = root / "test-bases"
    try:
        place.mkdir()
    except OSError as error:
        pytest.skip(f"needs to make control groups: {error.strerror}")
    try:
        control.write_text(f"+{controller}")
        yield root, place, controller
    finally:
        for each in (place / OWN_LEAF, place):
            if each.exists():
                each.rmdir()
        if controller not in before:
            control.write_text(f"-{controller}")


def run_in(group: tuple[Path, Path, str], script: str) -> list[str]:
    root, _, controller = group
    done = subprocess.run(
        [sys.executable, "-c", script, str(root), controller],
        cwd=PROJECT, capture_output=True, text=True, timeout=MOST_SECONDS, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    return done.stdout.splitlines()


def test_who_is_alone_in_its_group_makes_room_there(group: tuple[Path, Path, str]) -> None:
    """In version 2 only a group without processes hands on: the service goes into a leaf, once."""
    first, usable, second, still, own = run_in(group, JOINS)
    assert first.split()[0] == second.split()[0] == "test-bases"
    assert usable == still == "True"
    assert own == f"/test-bases/{OWN_LEAF}"


def test_who_is_not_alone_moves_nobody(group: tuple[Path, Path, str]) -> None:
    _, place, _ = group
    with subprocess.Popen(["sleep", "60"]) as other:
        try:
            (place / "cgroup.procs").write_text(str(other.pid))
            script = JOINS.partition("for attempt")[0] + (
                "print(*(each.relative_to(root) for each in bases(root, [sys.argv[2]])))\n"
                'print(pathlib.Path("/proc/self/cgroup").read_text().split("0::")[1].strip())\n'
            )
            found, own = run_in(group, script)
        finally:
            other.kill()
    assert "test-bases" not in found.split()
    assert own == "/test-bases"


def test_a_tree_that_cannot_be_used_is_not(tmp_path: Path) -> None:
    assert list(bases(tmp_path, ["memory"])) == []
    assert not can_be_used(Version2(tmp_path / "nowhere", {}), "squadron-1-trial")
    assert not can_be_used(Version2(tmp_path, {"pids.max": 3}), "squadron-1-trial"), "no such file"


def test_what_is_in_force_is_said() -> None:
    version = ControlGroups(SMALL).version
    groups = f"control groups of version {version}: "
    wanted = "resource limits alone: " if version is None else groups
    assert in_force(SMALL).startswith(wanted)


STAYS = """\
import asyncio, os, subprocess
from app.adapters.sandbox import SMALL
from app.adapters.sandbox.bounds import ControlGroups

async def starts():
    async with ControlGroups(SMALL).joined({}) as join:
        command = [*join, "sh", "-c", "echo $$; exec >&- 2>&-; exec sleep 600"]
        stays = subprocess.Popen(command, start_new_session=True, stdout=subprocess.PIPE)
        print(int(stays.stdout.readline()), *(word for word in join if word.startswith("/sys")))
        os.sys.stdout.flush()
        os._exit(0)

asyncio.run(starts())
"""


def test_the_next_service_kills_what_a_dead_one_has_left() -> None:
    if ControlGroups(SMALL).version is None:
        pytest.skip("no control group can be made here")
    done = subprocess.run(
        [sys.executable, "-c", STAYS],
        cwd=PROJECT, capture_output=True, text=True, timeout=MOST_SECONDS, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    pid, *places = done.stdout.split()
    left = os.pidfd_open(int(pid))
    try:
        ControlGroups(SMALL)
        assert select.select([left], [], [], MOST_SECONDS)[0], "it has ended"
        assert [each for each in places if Path(each).parent.exists()] == []
    finally:
        signal.pidfd_send_signal(left, signal.SIGKILL)
        os.close(left)


async def test_agents_share_the_processors() -> None:
    """Whatever number of processes they start: each group is given as much."""
    groups = ControlGroups(SMALL)
    if not groups.has_share:
        pytest.skip("needs a controller of processors")
    async with groups.joined({}) as join:
        places = [Path(word).parent for word in join if word.endswith("/cgroup.procs")]
        shares = {
            name: int((place / name).read_text())
            for place in places
            for name in ("cpu.shares", "cpu.weight")
            if (place / name).exists()
        }
    assert shares in ({"cpu.shares": 1024}, {"cpu.weight": 100})
    assert "share of the processors" in in_force(SMALL)
