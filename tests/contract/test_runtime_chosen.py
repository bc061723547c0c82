"""A role's runtime: which one runs a session, and what is said where it cannot be had."""

import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest

from app.adapters.runtimes.chosen import ChosenRuntime
from app.adapters.runtimes.claude import missing
from app.ports import Gate, ReportedComplete, Session, SessionOrder
from app.scripted.script import Call, calls
from tests.contract.embedded import World, story
from tests.support.waiting import MOST_SECONDS

PROJECT = Path(__file__).parents[2]


class Other:
    """A runtime that notes what it is asked for."""

    def __init__(self) -> None:
        self.orders: list[SessionOrder] = []

    async def open(self, order: SessionOrder, gate: Gate) -> Session:
        self.orders.append(order)
        raise ValueError("the other one")


async def test_an_order_names_its_runtime(tmp_path: Path) -> None:
    world = World(tmp_path, story(calls(Call("report_complete", {"summary": "fixed"}))))
    world.workspace.mkdir()
    other = Other()
    chosen = ChosenRuntime({"embedded": world.runtime(), "claude": other})
    session = await chosen.open(world.order(), world.gate)
    assert await session.turn("SCENARIO:story") == ReportedComplete("fixed")
    await session.close()
    with pytest.raises(ValueError, match="the other one"):
        await chosen.open(world.order(runtime="claude"), world.gate)
    assert len(other.orders) == 1


WITHOUT = """
import sys
sys.modules["claude_agent_sdk"] = None
from app.cli.main import main
main()
"""


def test_config_check_names_the_command_that_installs_a_runtime(tmp_path: Path) -> None:
    (tmp_path / ".squadron").mkdir()
    (tmp_path / ".squadron" / "config.yaml").write_text("roles: {bug-fix: {runtime: claude}}\n")
    done = subprocess.run(
        [sys.executable, "-c", WITHOUT, "config", "check", str(tmp_path), "--json"],
        env={"PYTHONPATH": str(PROJECT), "PATH": "/usr/bin:/bin"},
        capture_output=True, text=True, timeout=MOST_SECONDS, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert '"runtime": "claude"' in done.stdout
    assert done.stderr == (
        "note: the runtime claude is not installed: pip install 'squadron[claude]'\n"
    )


def test_what_is_installed_is_not_missing() -> None:
    assert bool(missing()) == (find_spec("claude_agent_sdk") is None)
