"""A whole CLI behind the walls: what its agent's shell tries is held, and does succeed without."""

import shutil
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Final

import pytest

from app.adapters.processes import ProcessGroups
from app.adapters.sandbox import Bounds
from app.adapters.sandbox.attacks import ATTACKS, OUTLIVE, Attack, laid_out
from app.ports import SEGMENT_VARIABLE, Idle, RuntimeFailed
from app.scripted.script import calls, text
from tests.contract.benches import ClaudeBench, CopilotBench
from tests.contract.runtime_contract import CANARY, Bench, empty_server
from tests.support.clis import NEEDS_CLAUDE, NEEDS_COPILOT
from tests.support.sandbox import BUBBLEWRAP

pytestmark = [pytest.mark.full, BUBBLEWRAP]

TRIED: Final = (
    "read another process's environment",
    "see the machine's processes",
    "read a file of the service",
    "follow a link out",
    "write into another workspace",
    "reach the machine's sockets",
    "connect to the machine",
    "exchange datagrams with the machine",
    "make system calls without a filter",
    "kill a process of the machine",
)
"""Those that do no harm to a machine without walls; `test_sandbox` makes all of them."""

TIGHT: Final = Bounds(processes=300, memory_bytes=1024**3, file_bytes=64 * 1024**2)
"""What is left beside a CLI is used up in a moment."""
GREEDY: Final = (
    Attack("write a file without end", "head -c 65M /dev/zero >large"),
    Attack("take memory without end", "dd if=/dev/zero of=/dev/null bs=1200M count=1"),
    Attack("start processes without end", "sh -c 'for i in $(seq 400); do sleep 3 & done'"),
)
"""The attacks on the bounds, as large as `TIGHT` is; the last leaves no room for another."""
OF_BOUNDS: Final = {each.name for each in GREEDY}
OF_DISK: Final = {"fill the disk with many files", "make files without end"}
"""What ends a CLI together with its commands."""


@pytest.fixture(
    params=[
        pytest.param("claude", marks=NEEDS_CLAUDE),
        pytest.param("copilot", marks=NEEDS_COPILOT),
    ]
)
def bench(request: pytest.FixtureRequest, tmp_path: Path, copilot_cache: Path) -> Iterator[Bench]:
    with empty_server() as server:
        made: Bench
        if request.param == "claude":
            made = ClaudeBench(tmp_path, server)
        else:
            made = CopilotBench(tmp_path, server)
            made.cache = copilot_cache
        yield made


async def reached(bench: Bench, attacks: Sequence[Attack]) -> list[str]:
    """Those that succeed when the agent's shell makes them, one after the other."""
    async with laid_out(ProcessGroups(), bench.directory) as bait:
        commands = [
            f"rm -f link; ( {each.command.format(**bait.names())} ) >/dev/null 2>&1"
            " && echo REACHED || echo HELD"
            for each in attacks
        ]
        bench.play(*(calls(bench.shell(each)) for each in commands), text("done"))
        bench.gate.ended.clear()
        async with bench.session() as session:
            assert isinstance(await bench.turn(session), Idle)
    shutil.rmtree(bench.directory / "session")
    said = [result.output for _, result in bench.gate.ended]
    assert len(said) == len(attacks)
    assert all(("REACHED" in each) != ("HELD" in each) for each in said), said
    pairs = zip(attacks, said, strict=True)
    return [attack.name for attack, each in pairs if "REACHED" in each]


async def test_an_attack_by_an_agent_of_a_cli_is_held_and_succeeds_without_walls(
    bench: Bench,
) -> None:
    harmless = [each for each in ATTACKS if each.name in TRIED]
    assert len(harmless) == len(TRIED)
    bench.is_walled = True
    elsewhere = {*OF_BOUNDS, *OF_DISK, OUTLIVE.name}
    walls = [each for each in ATTACKS if each.name not in elsewhere]
    assert len(walls) == len(ATTACKS) - len(elsewhere)
    assert await reached(bench, walls) == []
    bench.is_walled = False
    assert await reached(bench, harmless) == [each.name for each in harmless]


async def test_the_bounds_hold_for_what_an_agent_of_a_cli_starts_and_the_cli_goes_on(
    bench: Bench,
) -> None:
    """With bounds that are wider, each attack succeeds."""
    bench.is_walled = True
    bench.sandbox_bounds = TIGHT
    assert await reached(bench, GREEDY) == []
    bench.sandbox_bounds = Bounds()
    assert await reached(bench, GREEDY) == [each.name for each in GREEDY]


async def test_a_cli_whose_agent_fills_the_disk_is_ended(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    bench.is_walled = True
    bench.sandbox_bounds = Bounds(disk_bytes=64 * 1024**2)
    walls = bench.walls()
    monkeypatch.setattr(bench, "walls", lambda: walls)
    bench.play(calls(bench.shell("head -c 65M /dev/zero >large; sleep 600")), text("done"))
    async with bench.session() as session:
        assert isinstance(await bench.turn(session), RuntimeFailed)
    why = walls.excess(bench.order().environment[SEGMENT_VARIABLE])
    assert "MiB of at most 64 MiB. All that it ran was ended." in why


async def test_no_secret_lies_where_an_agent_of_a_cli_can_look(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    """In the service's environment and beside the agent's directories: canaries."""
    monkeypatch.setenv("SERVICE_SECRET", CANARY)
    (bench.directory / "key.pem").write_text(CANARY)
    bench.is_walled = True
    looks = (
        "cat /proc/[0-9]*/environ /proc/[0-9]*/cmdline | tr '\\0' '\\n'",
        f"ls {bench.directory} && cat {bench.directory}/*.pem",
        "find / -xdev -name '*.pem' -newer /etc/passwd -exec cat {} + 2>&1 | head -c 5000",
        "id; ls /run /root /home /var 2>&1",
    )
    bench.play(*(calls(bench.shell(each)) for each in looks), text("done"))
    async with bench.session() as session:
        assert isinstance(await bench.turn(session), Idle)
    said = "".join(result.output for _, result in bench.gate.ended)
    assert "uid=1000(agent)" in said and "SQUADRON_SEGMENT=" in said
    assert CANARY not in said and "key.pem" not in said
    kept = [file for file in bench.directory.glob("session/**/*") if file.is_file()]
    assert kept and not any(CANARY.encode() in file.read_bytes() for file in kept)


async def test_a_cli_calls_its_workspace_as_all_do(bench: Bench) -> None:
    """What a setup has written of paths is true for it, and for its tools for files."""
    bench.is_walled = True
    made = bench.write("/agent/workspace/made", "by its name")
    bench.play(calls(bench.shell("pwd; echo $HOME")), calls(made), text("done"))
    async with bench.session() as session:
        assert isinstance(await bench.turn(session), Idle)
    said = [result for _, result in bench.gate.ended]
    assert [each.ok for each in said] == [True, True]
    assert "/agent/workspace\n/agent/home" in said[0].output
    assert (bench.workspace / "made").read_text().strip() == "by its name"


async def test_an_agent_of_a_cli_changes_nothing_that_others_or_its_next_turns_run(
    bench: Bench,
) -> None:
    """What Copilot's CLI unpacked for all agents; the words by which Claude's is instructed."""
    if isinstance(bench, CopilotBench):
        place = bench.cache / "planted"
    else:
        place = bench.directory / "session" / "system-prompt.md"
    bench.is_walled = True
    tries = f"ls {place.parent}; (echo PLANTED >>{place}) 2>&1"
    bench.play(calls(bench.shell(tries)), text("done"))
    async with bench.session() as session:
        assert isinstance(await bench.turn(session), Idle)
    ((_, result),) = bench.gate.ended
    assert "Read-only file system" in result.output or "Permission denied" in result.output
    assert not place.exists() or "PLANTED" not in place.read_text()
