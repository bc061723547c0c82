"""What one agent holds of the disk: found whatever it does to it, bounded while something runs."""

import asyncio
import os
import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest

from app.adapters.processes import ProcessGroups
from app.adapters.sandbox import Bounds, SandboxedProcesses
from app.adapters.sandbox.counting import (
    Amount,
    CannotCount,
    free_around,
    gone,
    held_in,
    most_free,
)
from app.adapters.sandbox.disk import LONG_SECONDS
from app.ports import SEGMENT_VARIABLE, Ended, Stay
from tests.support.sandbox import BUBBLEWRAP
from tests.support.waiting import MOST_SECONDS

pytestmark = BUBBLEWRAP
MIB = 1024**2
SMALL = replace(Bounds(), disk_bytes=4 * MIB, files=500)
FILLS = "head -c 5M /dev/zero >{}; echo written; sleep 600"
"""More than the bound, with a new name each time."""
ONE_MIB = "head -c 1M /dev/zero >a"


def is_counting(argv: Sequence[str]) -> bool:
    """Whether a command line is the service's own count."""
    return "CAP_DAC_READ_SEARCH" in argv


class Counted(ProcessGroups):
    """Knows how often was counted."""

    counts = 0

    async def run(self, argv: Sequence[str], **how: Any) -> Ended:
        self.counts += is_counting(argv)
        return await super().run(argv, **how)


class Hasty(ProcessGroups):
    """No count ends in time."""

    async def run(self, argv: Sequence[str], **how: Any) -> Ended:
        if is_counting(argv):
            how["timeout_seconds"] = 0
        return await super().run(argv, **how)


@dataclass
class Agent:
    """Runs commands in directories of its own."""

    walls: SandboxedProcesses
    directory: Path
    marker: str

    def __post_init__(self) -> None:
        self.workspace.mkdir(parents=True)

    @property
    def workspace(self) -> Path:
        return self.directory / "workspace"

    @property
    def environment(self) -> dict[str, str]:
        return {
            "PATH": os.environ["PATH"],
            "HOME": str(self.directory / "home"),
            SEGMENT_VARIABLE: self.marker,
        }

    async def runs(self, command: str) -> Ended:
        return await self.walls.run(
            ["bash", "-c", command],
            cwd=self.workspace,
            environment=self.environment,
            timeout_seconds=MOST_SECONDS,
        )


def agent_of(
    tmp_path: Path,
    name: str = "one",
    bounds: Bounds = SMALL,
    processes: ProcessGroups | None = None,
) -> Agent:
    walls = SandboxedProcesses(processes or ProcessGroups(), tmp_path / "accounts", (), bounds)
    return Agent(walls, tmp_path / name, f"{name}:0:{tmp_path}")


@pytest.fixture
def agent(tmp_path: Path) -> Agent:
    return agent_of(tmp_path)


# --- bounded ---------------------------------------------------------------------------------


@pytest.mark.parametrize("place", ["big", "/tmp/big", "~/big"])
async def test_who_fills_the_disk_is_ended_and_told(agent: Agent, place: str) -> None:
    ended = await agent.runs(FILLS.format(place))
    assert (ended.exit_code, ended.output) == (None, "written\n")
    assert "in the workspace, your home and /tmp, take 5." in ended.excess
    assert "MiB of at most 4 MiB. Delete what you do not need first." in ended.excess
    assert agent.walls.excess(agent.marker) == "", "it is told first"


async def test_who_makes_files_without_end_is_ended_and_told(agent: Agent) -> None:
    ended = await agent.runs("touch {1..600}; sleep 600")
    assert ended.exit_code is None
    told = re.search(r" are (\d+) of at most 500\.", ended.excess)
    assert told is not None, ended.excess
    assert 500 < int(told[1]) <= 610, "the look may come while they are being made"


async def test_what_is_written_in_a_moment_is_told_when_the_command_is_over(agent: Agent) -> None:
    for number in range(10):  # what others give back at the same time hides it
        ended = await agent.runs(f"head -c 5M /dev/zero >big-{number}; echo done; exit 3")
        if ended.excess:
            break
    assert (ended.exit_code, ended.output) == (3, "done\n"), "nobody killed it"
    assert "of at most 4 MiB" in ended.excess


async def test_the_third_time_an_agent_has_to_be_ended(agent: Agent) -> None:
    assert (await agent.runs(FILLS.format("one"))).excess
    cleared = await agent.runs("rm one; sleep 1.5")
    assert (cleared.exit_code, cleared.excess) == (0, "")
    assert (await agent.runs(FILLS.format("two"))).excess
    assert agent.walls.excess(agent.marker) == ""
    last = await agent.runs(FILLS.format("three"))
    assert "Your work ends here." in last.excess
    why = agent.walls.excess(agent.marker)
    assert why.startswith("The files of the agent,") and "take 10" in why
    await agent.walls.kill_marked(agent.marker)
    assert agent.walls.excess(agent.marker) == "", "the next segment begins anew"


async def test_who_holds_too_much_may_go_on_but_add_nothing_to_speak_of(agent: Agent) -> None:
    assert (await agent.runs(FILLS.format("one"))).excess
    goes_on = await agent.runs("echo a note >note; sleep 1.5")
    assert (goes_on.exit_code, goes_on.excess) == (0, "")
    adds = await agent.runs("head -c 512K /dev/zero >two; sleep 600")
    assert adds.exit_code is None and "take 5.5" in adds.excess


async def test_all_commands_of_one_agent_are_ended_and_of_others_none(tmp_path: Path) -> None:
    one, two = agent_of(tmp_path), agent_of(tmp_path, "two")
    others = asyncio.create_task(two.runs("until [ -e go ]; do sleep 0.05; done; echo on"))
    waits, fills = await asyncio.gather(one.runs("sleep 600"), one.runs(FILLS.format("big")))
    (two.workspace / "go").touch()
    other = await others
    assert (waits.exit_code, fills.exit_code) == (None, None)
    assert waits.excess == fills.excess != ""
    assert (other.exit_code, other.output, other.excess) == (0, "on\n", "")


async def test_a_program_that_goes_on_is_not_told_but_ended(agent: Agent) -> None:
    shared = agent.directory / "shared"
    (agent.directory / "home").mkdir()
    shared.mkdir()
    stay = Stay(agent.workspace, agent.environment, writable=(shared,))
    async with agent.walls.around(stay) as entered:
        ended = await ProcessGroups().run(
            [*entered.before, "bash", "-c", FILLS.format(shared / "big")],
            cwd=Path("/"),
            environment=agent.environment,
            timeout_seconds=MOST_SECONDS,
        )
    assert ended.exit_code not in (0, None), "it was killed"
    assert "All that it ran was ended." in agent.walls.excess(agent.marker)


async def test_what_cannot_be_counted_in_time_is_too_much(tmp_path: Path) -> None:
    agent = agent_of(tmp_path, bounds=Bounds(), processes=Hasty())
    ended = await agent.runs("sleep 600")
    assert ended.exit_code is None
    assert "cannot be counted (that takes longer than 120 s)" in ended.excess


async def test_nothing_is_counted_for_a_command_that_is_over_in_a_moment(tmp_path: Path) -> None:
    processes = Counted()
    bounds = replace(Bounds(), disk_bytes=2**50, files=2**40)
    agent = agent_of(tmp_path, bounds=bounds, processes=processes)
    loop = asyncio.get_running_loop()
    for _ in range(20):
        before, began = processes.counts, loop.time()
        assert (await agent.runs("echo short >file; sleep 0.3")).exit_code == 0
        if loop.time() - began < LONG_SECONDS:
            assert processes.counts == before
            break
    else:
        pytest.skip("nothing is over in a moment: the machine is too busy")
    processes.counts = 0
    waits = asyncio.create_task(agent.runs("until [ -e go ]; do sleep 0.05; done"))
    async with asyncio.timeout(MOST_SECONDS):
        while not processes.counts:  # noqa: ASYNC110 (a task of the walls makes it true)
            await asyncio.sleep(0.01)
    (agent.workspace / "go").touch()
    assert (await waits).exit_code == 0


# --- counted ---------------------------------------------------------------------------------


async def held(directory: Path) -> Amount:
    return await held_in([directory], ProcessGroups())


@pytest.mark.parametrize(
    ("command", "size_mib", "files"),
    [
        (ONE_MIB, 1, 1),
        ("mkdir shut && head -c 1M /dev/zero >shut/a && chmod 000 shut", 1, 2),
        (f"{ONE_MIB} && ln a b && ln a c", 1, 1),
        ("truncate -s 1G sparse", 0, 1),
        ("ln -s /usr usr", 0, 1),
        ("mkdir -p d/d/d && mkfifo d/d/d/fifo", 0, 4),
        (f"for n in {{1..120}}; do mkdir {'d' * 50} && cd $_; done; {ONE_MIB}", 1, 121),
    ],
    ids=["file", "shut", "links", "sparse", "symbolic", "directories", "deep"],
)
async def test_what_an_agent_makes_is_counted(
    tmp_path: Path, command: str, size_mib: int, files: int
) -> None:
    agent = agent_of(tmp_path, bounds=Bounds())
    before = await held(agent.workspace)
    assert (await agent.runs(command)).exit_code == 0
    after = await held(agent.workspace)
    for shut in agent.workspace.glob("shut"):
        shut.chmod(0o700)
    assert after.files - before.files == files
    assert size_mib <= (after.size_bytes - before.size_bytes) / MIB < size_mib + 0.6


async def test_directories_are_counted_together_and_a_missing_one_holds_nothing(
    tmp_path: Path,
) -> None:
    one, two = tmp_path / "one", tmp_path / "two"
    one.mkdir()
    alone = await held_in([one], ProcessGroups())
    two.mkdir()
    (two / "a").write_bytes(bytes(MIB))
    together = await held_in([one, tmp_path / "missing", two], ProcessGroups())
    assert together.files >= alone.files + 2
    assert together.size_bytes >= alone.size_bytes + MIB


async def test_a_count_that_fails_says_why(tmp_path: Path) -> None:
    with pytest.raises(CannotCount, match="that takes longer than 120 s"):
        await held_in([tmp_path], Hasty())


def test_what_is_written_is_gone_from_the_free_space(tmp_path: Path) -> None:
    before = free_around([tmp_path, tmp_path / "missing"])
    assert len(before) == 1
    taken = {system: Amount(free.size_bytes - 5, free.files - 2) for system, free in before.items()}
    assert gone(before, taken) == Amount(5, 2)
    assert gone(taken, before) == Amount(0, 0), "given back"
    assert gone({}, taken) == Amount(0, 0)
    assert gone(most_free(before, taken), taken) == Amount(5, 2)
    assert most_free({}, before) == most_free(before, {}) == before
