"""`squadron pause` and `squadron resume`, on a registry that nobody serves."""

import asyncio
import json
import os
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from app.cli.main import app
from tests.support.past import a_past


@pytest.fixture(autouse=True)
def _settings(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    for name in [name for name in os.environ if name.startswith("SQUADRON_")]:
        monkeypatch.delenv(name)
    monkeypatch.setenv("SQUADRON_DATA_DIR", str(tmp_path))
    monkeypatch.setenv("LOGNAME", "olga")
    with a_past(f"sqlite:///{tmp_path / 'squadron.sqlite3'}") as past:
        asyncio.run(past.worked(1))


def squadron(*arguments: str) -> Result:
    return CliRunner().invoke(app, [*arguments])


def test_all_is_what_is_meant_where_nothing_is_said() -> None:
    done = squadron("pause", "--reason", "a leak")
    assert (done.exit_code, done.stdout.splitlines()[0]) == (0, "Paused: all agents.")
    assert "squadron resume --all" in done.stdout
    again = squadron("pause", "--all", "--by", "ada")
    assert again.exit_code == 0
    assert again.stdout.startswith("Nothing was changed: olga paused all agents at ")
    assert "(a leak)" in again.stdout
    assert squadron("resume").stdout.startswith("Resumed: all agents.")
    nothing = squadron("resume")
    assert (nothing.exit_code, "nothing to resume" in nothing.stderr) == (1, True)


def test_each_place_is_paused_and_resumed_by_itself() -> None:
    places = (["--all"], ["--installation", "77"], ["--repo", "Octo/Demo"])
    for place in places:
        assert squadron("pause", *place).exit_code == 0
    shown = json.loads(squadron("resume", "--all", "--json").stdout)
    assert shown["changed"] is True
    assert [(one["scope"], one["name"]) for one in shown["brakes"]] == [
        ("installation", "77"),
        ("repository", "octo/demo"),
    ]
    assert shown["brakes"][0].keys() == {"scope", "name", "by", "since", "reason"}
    told = squadron("resume", "--installation", "77").stdout
    assert "Still: olga paused all agents of octo/demo at " in told
    assert "(squadron resume --repo octo/demo)" in told
    assert squadron("resume", "--repo", "octo/demo").exit_code == 0


@pytest.mark.parametrize("command", ["pause", "resume"])
def test_an_installation_without_any_agent_is_doubted_and_paused_all_the_same(command: str) -> None:
    place = ["--installation", "78"]
    note = "note: no agent of --installation 78 is known here: look at the spelling;"
    squadron("pause", *place)
    done = squadron(command, *place, "--json")
    assert (done.exit_code, done.stderr.startswith(note)) == (0, True)
    assert len(done.stderr.splitlines()) == 1
    brakes = json.loads(done.stdout)["brakes"]
    assert [each["name"] for each in brakes] == ([place[1]] if command == "pause" else [])


def test_a_repository_whose_name_is_written_wrong_is_not_paused() -> None:
    """It would look as if somebody was stopped."""
    refused = squadron("pause", "--repo", "octo/dmeo", "--json")
    assert (refused.exit_code, refused.stdout) == (1, "")
    assert refused.stderr == (
        "Squadron was never let into octo/dmeo (did you mean octo/demo?): nothing was paused\n"
    )
    assert json.loads(squadron("pause", "--repo", "octo/demo", "--json").stdout)["brakes"][1:] == []


def test_a_repository_is_paused_before_its_first_agent(tmp_path: Path) -> None:
    """Squadron has looked at it."""
    with a_past(f"sqlite:///{tmp_path / 'squadron.sqlite3'}") as past:
        asyncio.run(past.looked_at("acme/New"))
    assert squadron("pause", "--repo", "acme/new").stderr == ""


def test_a_place_of_an_agent_is_not_doubted() -> None:
    for place in (["--repo", "Octo/Demo"], ["--installation", "77"], ["--all"]):
        assert squadron("pause", *place).stderr == squadron("resume", *place).stderr == ""


@pytest.mark.parametrize(
    "arguments",
    [
        ["--all", "--repo", "octo/demo"],
        ["--repo", "octo/demo", "--installation", "77"],
        ["--repo", "octo"],
        ["--repo", "octo/demo/more"],
        ["--repo", "https://github.example/octo/demo"],
        ["--installation", "octo"],
    ],
)
@pytest.mark.parametrize("command", ["pause", "resume"])
def test_what_cannot_be_meant_changes_nothing(command: str, arguments: list[str]) -> None:
    assert squadron(command, *arguments).exit_code == 2
    assert json.loads(squadron("pause", "--repo", "octo/demo", "--json").stdout)["brakes"][1:] == []


def test_without_a_registry_it_says_what_is_missing(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("SQUADRON_DATA_DIR", str(tmp_path / "elsewhere"))
    done = squadron("pause")
    assert (done.exit_code, "has `squadron serve` run here?" in done.stderr) == (1, True)
