"""What the Copilot runtime does when its CLI or its model fails."""

import asyncio
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("copilot", reason="needs squadron[copilot]")

from app.adapters.runtimes.copilot import Bounds, missing, options
from app.adapters.runtimes.copilot.installed import CLI_VERSION, files
from app.ports import RuntimeFailed, ToolCall, ToolResult
from app.scripted.script import Answer as Said
from app.scripted.script import calls
from tests.contract.copilot import MakeBench
from tests.contract.embedded import RecordingGate, bash, processes_holding, story, until
from tests.support.clis import NEEDS_COPILOT, NEEDS_COPILOT_SDK
from tests.support.waiting import MOST_SECONDS

pytestmark = pytest.mark.full

GO = "SCENARIO:story go"
MANY = 60.0
PROJECT = Path(__file__).parents[2]
ANSWERS = '#!/bin/sh\n[ "$1" != --version ] || { echo 0.0.100; exit; }\n'
OLD_PROTOCOL = """\
#!/usr/bin/env python3
import json, sys
while "--version" not in sys.argv and (header := sys.stdin.buffer.readline()):
    asked = json.loads(sys.stdin.buffer.read(int(header.split()[1]) + 2))
    said = {"message": "", "timestamp": 0, "protocolVersion": 1}
    unknown = {"error": {"code": -32601, "message": "no such method"}}
    how = {"result": said} if asked["method"] == "ping" else unknown
    told = json.dumps({"jsonrpc": "2.0", "id": asked["id"], **how}).encode()
    sys.stdout.buffer.write(b"Content-Length: %d\\r\\n\\r\\n" % len(told) + told)
    sys.stdout.buffer.flush()
"""
ANOTHER = f"another version than {CLI_VERSION} may not fit: npm install -g @github/copilot@"
NOT_ONE = {
    "knows no such option": (f"{ANSWERS}echo unknown option >&2; exit 1\n", ANOTHER),
    "speaks an old protocol": (OLD_PROTOCOL, ANOTHER),
    "prints garbage": (
        f"{ANSWERS}yes garbage | head -c 100000; exec sleep 600\n",
        "did not start|ended as soon",
    ),
    "says nothing": (f"{ANSWERS}exec sleep 600\n", "did not start within 3 s"),
    "has no version": ("#!/bin/sh\nexit 7\n", "--version` does not answer but ended with 7"),
}
"""How it does not start, and what is said of it."""


def test_what_is_missing_is_said_with_the_command_that_brings_it(tmp_path: Path) -> None:
    words = missing(tmp_path / "nothing-here")
    assert words is not None and ("npm install" in words or "pip install" in words)


@NEEDS_COPILOT_SDK
def test_a_cli_that_may_not_be_run(tmp_path: Path) -> None:
    cli = tmp_path / "copilot"
    cli.write_text("#!/bin/sh\n")
    assert missing(cli) == f"SQUADRON_COPILOT_CLI: {cli} is not executable: chmod +x {cli}"


def test_a_sandbox_is_shown_the_clis_packages_and_what_runs_them(tmp_path: Path) -> None:
    node = tmp_path / "bin" / "node"
    node.parent.mkdir()
    node.write_text("#!/bin/sh\n")
    node.chmod(0o755)
    packages, script = tmp_path / "lib" / "node_modules", "@github/copilot/npm-loader.js"
    assert files(packages / script, str(node.parent)) == (packages, node)
    assert files(tmp_path / "copilot", "/nowhere") == (tmp_path / "copilot",)
    assert files(Path("/usr/lib/node_modules", script), "/usr/bin") == ()


@NEEDS_COPILOT_SDK
@pytest.mark.parametrize("kind", NOT_ONE)
async def test_what_is_no_copilot_cli(copilot: MakeBench, tmp_path: Path, kind: str) -> None:
    made = copilot(story())
    made.cli = tmp_path / "copilot"
    script, words = NOT_ONE[kind]
    made.cli.write_text(script)
    made.cli.chmod(0o755)
    made.bounds = Bounds(start_seconds=3.0)
    with pytest.raises(RuntimeError, match=rf"the Copilot CLI at .*({words})"):
        async with made.session():
            pass
    assert not processes_holding(str(tmp_path / "copilot"))


@NEEDS_COPILOT
async def test_a_killed_cli_is_noticed_and_leaves_nothing(
    copilot: MakeBench, tmp_path: Path
) -> None:
    mark = f"87{abs(hash(str(tmp_path))) % 10_000:04}"
    made = copilot(story(calls(bash(f"touch STARTED; sleep {mark}", description="d"))))
    assert made.cli is not None
    async with made.session() as session:
        turn = asyncio.create_task(session.turn(GO))
        await until((made.workspace / "STARTED").exists, MANY)
        await until(lambda: options.was_begun(made.order()), MANY)  # the CLI saves when it likes
        for pid in processes_holding("--headless"):
            if of_this_test(pid, tmp_path):
                os.kill(pid, signal.SIGKILL)
        end = await asyncio.wait_for(turn, MANY)
        assert end == RuntimeFailed("the Copilot CLI died in the middle of a turn (signal 9)")
        assert not processes_holding(mark)  # before the session is closed
        assert isinstance(await session.turn("more"), RuntimeFailed)
    async with made.session() as again:
        assert again.is_resumed


@NEEDS_COPILOT
async def test_what_could_not_be_recorded_ends_the_turn(copilot: MakeBench) -> None:
    made = copilot(story(calls(bash("true", description="d")), Said("never said")))
    made.gate = Forgetting()
    async with made.session() as session:
        end = await session.turn(GO)
    assert isinstance(end, RuntimeFailed) and "could not be recorded" in end.reason
    assert len(made.server.requests) == 1


class Forgetting(RecordingGate):
    """Cannot record how a tool ended."""

    async def after_tool(self, call: ToolCall, result: ToolResult) -> str:
        raise OSError("the store is away")


def of_this_test(pid: int, directory: Path) -> bool:
    return str(directory).encode() in Path(f"/proc/{pid}/environ").read_bytes()


def test_config_check_says_what_a_role_lacks_here(tmp_path: Path) -> None:
    (tmp_path / ".squadron").mkdir()
    (tmp_path / ".squadron" / "config.yaml").write_text("roles: {bug-fix: {runtime: copilot}}\n")
    cli = tmp_path / "nothing-here"
    done = subprocess.run(
        [sys.executable, "-m", "app.cli.main", "config", "check", str(tmp_path), "--json"],
        env={"PYTHONPATH": str(PROJECT), "PATH": "/usr/bin:/bin", "SQUADRON_COPILOT_CLI": str(cli)},
        capture_output=True, text=True, timeout=MOST_SECONDS, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert done.stderr == f"note: {missing(cli)}\n"
    assert '"runtime": "copilot"' in done.stdout
