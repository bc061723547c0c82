"""`sandbox:` in the operator's file: nobody is made to believe in one that does not hold."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.contract.github_support import app_key
from tests.support import processes
from tests.support.sandbox import BUBBLEWRAP, path_without_bubblewrap
from tests.support.service import Service
from tests.support.waiting import MOST_SECONDS

pytestmark = pytest.mark.full

PROJECT = Path(__file__).parents[2]


def environment(directory: Path, sandbox: str | None) -> dict[str, str]:
    """Of a service whose GitHub cannot be reached, which keeps no service from being ready; None:
    it has no operator's file."""
    operator = directory / "operator.yaml"
    operator.write_text(sandbox or "")
    return {
        "PYTHONPATH": str(PROJECT),
        "SQUADRON_GITHUB_API_URL": "http://127.0.0.1:1",
        "SQUADRON_GITHUB_APP_ID": "1",
        "SQUADRON_GITHUB_PRIVATE_KEY": app_key().get_secret_value(),
        "SQUADRON_WEBHOOK_SECRET": "s",
        "SQUADRON_DATA_DIR": str(directory),
        "SQUADRON_CONFIG": "" if sandbox is None else str(operator),
    }


def served(variables: dict[str, str], directory: Path) -> list[tuple[str, str]]:
    """Level and words of what a service logs of sandboxes from its start to its end."""
    log = directory / "service.log"
    service = Service(variables, processes.free_port(), log)
    try:
        service.start()
    finally:
        service.stop()
        service.close()
    said = [(line["level"], line["message"]) for line in service.lines()]
    return [(level, words) for level, words in said if "sandbox" in words]


def refused(variables: dict[str, str]) -> list[str]:
    """What a service says that does not start."""
    done = subprocess.run(
        [sys.executable, "-m", "app.cli.main", "serve", "--port", "0"],
        env=variables, capture_output=True, text=True, timeout=MOST_SECONDS, check=False,
    )  # fmt: skip
    assert done.returncode == 1
    return done.stderr.splitlines()


@pytest.mark.parametrize(
    ("sandbox", "where"),
    [
        ("sandbox: {mode: required, egress: [], mounts: []}", "{}/operator.yaml"),
        ("reconciliation_interval: 60", "{}/operator.yaml"),
        (None, "by default"),
    ],
)
def test_who_does_not_do_without_a_sandbox_does_not_serve_where_there_is_none(
    tmp_path: Path, sandbox: str | None, where: str
) -> None:
    variables = environment(tmp_path, sandbox)
    [line] = refused({**variables, "PATH": path_without_bubblewrap(tmp_path)})
    assert line.startswith(f"{where.format(tmp_path)}: sandbox.mode: required, but here the")
    assert "start a command: it cannot be started: install bubblewrap, 0.8 or newer: bwrap" in line
    assert "`squadron doctor` says more" in line
    assert "apt-get install bubblewrap" in line and "`sandbox: {mode: off}`" in line
    assert not (tmp_path / "squadron.sqlite3").exists()


def test_the_best_effort_without_a_sandbox_is_said_once(tmp_path: Path) -> None:
    variables = environment(tmp_path, "sandbox: {mode: best_effort}")
    [(level, words)] = served({**variables, "PATH": path_without_bubblewrap(tmp_path)}, tmp_path)
    assert level == "WARNING"
    assert words.startswith("agents run without a sandbox (sandbox: best_effort): start a command")


@BUBBLEWRAP
@pytest.mark.parametrize("sandbox", ["sandbox: {mode: best_effort}", None])
def test_where_the_walls_hold_there_is_nothing_to_say(tmp_path: Path, sandbox: str | None) -> None:
    variables = environment(tmp_path, sandbox)
    assert served({**variables, "PATH": os.environ["PATH"]}, tmp_path) == []
    assert list((tmp_path / "sandbox/trial").iterdir()) == []


def test_who_wants_none_hears_nothing(tmp_path: Path) -> None:
    variables = environment(tmp_path, "sandbox: {mode: off}")
    assert served({**variables, "PATH": path_without_bubblewrap(tmp_path)}, tmp_path) == []


@BUBBLEWRAP
def test_a_way_out_that_holds_is_nothing_to_speak_of(tmp_path: Path) -> None:
    """Also where temporary files have longer paths than a socket may have."""
    variables = environment(tmp_path, "sandbox: {mode: required, egress: [pypi.org]}")
    (long := tmp_path / ("x" * 120)).mkdir()
    variables |= {"PATH": os.environ["PATH"], "TMPDIR": str(long)}
    assert served(variables, tmp_path) == []
    assert not list(long.iterdir())
