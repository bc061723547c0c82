"""The first thing that anybody runs: `squadron demo`."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from app.adapters.runtimes import copilot
from app.core.agents.lifecycle import State
from tests.support.clis import COPILOT_CLI, RUNTIMES
from tests.support.sandbox import path_without_bubblewrap

pytestmark = pytest.mark.full

MOST_SECONDS = 600.0
"""Far more than it takes."""


def demo(*words: str, **environment: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "app.cli.main", "demo", "--once", "--json", *words]
    return subprocess.run(
        command,
        env={**os.environ, **environment},
        capture_output=True,
        text=True,
        timeout=MOST_SECONDS,
        check=False,
    )


@pytest.mark.parametrize("runtime", RUNTIMES)
def test_the_demo_ends_by_itself_with_every_agent_where_it_should_be(
    runtime: str, tmp_path: Path
) -> None:
    """Two are merged; hook, timer and reconciliation stop one each, and a human is called. All of
    it without bubblewrap, which it says."""
    cli = {} if COPILOT_CLI is None else {"SQUADRON_COPILOT_CLI": str(COPILOT_CLI)}
    done = demo("--runtime", runtime, PATH=path_without_bubblewrap(tmp_path), **cli)
    assert done.returncode == 0, done.stderr
    assert "WITHOUT A SANDBOX" in done.stderr
    agents = json.loads(done.stdout)["agents"]
    stopped = {"feat-dev": "hook", "architect": "timer", "release": "reconciliation"}
    assert {one["role"]: one["state"] for one in agents} == {
        "bug-fix": State.COMPLETED,
        "docs": State.COMPLETED,
        **dict.fromkeys(stopped, State.ESCALATED),
    }
    for one in agents:
        calls = one["urls"]["escalation_issues"]
        if one["role"] in stopped:
            assert (one["trip"]["layer"], len(calls)) == (stopped[one["role"]], 1)
        else:
            assert not calls and one["urls"]["pull_request"]


def test_without_the_copilot_cli_nothing_starts_and_it_says_what_installs_it(
    tmp_path: Path,
) -> None:
    cli = tmp_path / "nothing-here"
    done = demo("--runtime", "copilot", TMPDIR=str(tmp_path), SQUADRON_COPILOT_CLI=str(cli))
    assert (done.returncode, done.stdout, done.stderr) == (1, "", f"{copilot.missing(cli)}\n")
    assert not list(tmp_path.iterdir())


def test_without_claude_code_nothing_starts_and_it_says_what_installs_it(tmp_path: Path) -> None:
    modules, scratch = tmp_path / "modules", tmp_path / "scratch"
    modules.mkdir()
    scratch.mkdir()
    (modules / "claude_agent_sdk.py").touch()  # an SDK that came without its CLI
    done = demo("--runtime", "claude", TMPDIR=str(scratch), PYTHONPATH=str(modules))
    assert (done.returncode, done.stdout) == (1, "")
    assert "pip install 'squadron[claude]'" in done.stderr
    assert not list(scratch.iterdir())
