"""`squadron config check` on real directories."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from app.cli.config import config
from app.config.builtin import BUILT_IN_ROLES
from app.config.directory import MAX_FILES, UnreadableDirectory, read_directory

PROJECT = Path(__file__).parents[2]


@pytest.fixture(autouse=True)
def _no_settings(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in [name for name in os.environ if name.startswith("SQUADRON_")]:
        monkeypatch.delenv(name)


@pytest.fixture
def squadron(tmp_path: Path) -> Path:
    directory = tmp_path / ".squadron"
    (directory / "agents").mkdir(parents=True)
    return directory


def check(*arguments: str | Path) -> Result:
    return CliRunner().invoke(config, ["check", *map(str, arguments)])


def test_this_projects_own_configuration_is_valid_and_says_what_002_says() -> None:
    result = check(PROJECT, "--json")
    assert result.exit_code == 0
    answer = json.loads(result.stdout)
    assert (answer["valid"], answer["errors"]) == (True, [])
    assert tuple(answer["roles"]) == BUILT_IN_ROLES
    assert answer["roles"]["pm"]["limits"]["max_tool_calls"] == {
        "value": 50,
        "layer": "repository role",
        "capped_by": None,
    }
    agents = {path.stem for path in (PROJECT / ".squadron/agents").glob("*.md")}
    assert agents == set(BUILT_IN_ROLES)


def test_the_squadron_command_has_it(squadron: Path) -> None:
    (squadron / "config.yaml").write_text("enabled: 1")
    command = [sys.executable, "-m", "app.cli.main", "config", "check", "--json"]
    done = subprocess.run(
        command, cwd=squadron.parent, env={"PYTHONPATH": str(PROJECT)}, capture_output=True,
        timeout=60, check=False,
    )  # fmt: skip
    assert done.returncode == 1
    assert [error["line"] for error in json.loads(done.stdout)["errors"]] == [1]
    assert done.stderr == b".squadron/config.yaml:1:10: enabled: must be true or false, not 1\n"


def test_json_has_exactly_the_documented_shape(squadron: Path) -> None:
    (squadron / "config.yaml").write_text("roles: {pm: {model: 'openai:x'}}")
    answer = json.loads(check(squadron, "--json", "--role", "pm").stdout)
    assert set(answer) == {"valid", "errors", "roles"}
    assert set(answer["roles"]) == {"pm"}
    pm = answer["roles"]["pm"]
    assert (pm["runtime"], pm["model"], set(pm)) == (
        "embedded",
        "openai:x",
        {"runtime", "model", "limits"},
    )
    assert list(pm["limits"]) == [
        "max_iterations",
        "max_tool_calls",
        "max_turns",
        "max_active_duration",
        "max_sleep_duration",
        "warning_threshold",
        "summary_wait",
        "max_review_wait",
    ]


def test_mistakes_go_to_stderr_with_their_place_and_exit_code_1(squadron: Path) -> None:
    file = squadron / "config.yaml"
    file.write_text("enabled: true\ncircuit_breakers:\n  defaults:\n    max_tool_cals: 3\n")
    message = "circuit_breakers.defaults.max_tool_cals: unknown key (did you mean max_tool_calls?)"
    result = check(squadron)
    assert (result.exit_code, result.stdout) == (1, "")
    assert result.stderr == f"{file}:4:5: {message}\n"
    result = check(squadron.parent, "--json")
    assert result.exit_code == 1
    assert json.loads(result.stdout) == {
        "valid": False,
        "errors": [{"file": str(file), "line": 4, "column": 5, "message": message}],
        "roles": {},
    }


def test_the_other_roles_are_shown_beside_a_broken_one(squadron: Path) -> None:
    (squadron / "agents/pm.md").write_text("---\n")
    answer = json.loads(check(squadron, "--json").stdout)
    assert not answer["valid"]
    assert tuple(answer["roles"]) == tuple(role for role in BUILT_IN_ROLES if role != "pm")


def test_people_see_each_limit_with_its_layer_and_ceiling(
    squadron: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    operator = tmp_path / "operator.yaml"
    operator.write_text("ceilings: {max_turns: 7}")
    monkeypatch.setenv("SQUADRON_CONFIG", str(operator))
    monkeypatch.setenv("SQUADRON_WEBHOOK_SECRET_FILE", "/nonexistent")
    result = check(squadron, "--role", "bug-fix")
    assert result.exit_code == 0
    assert "bug-fix (embedded, model: the operator's default)" in result.stdout
    assert "pm (" not in result.stdout
    (turns,) = [line for line in result.stdout.splitlines() if "max_turns" in line]
    assert "7" in turns
    assert "built-in, capped by" in turns


def test_a_broken_operators_file_is_reported_beside_the_repositorys_mistakes(
    squadron: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    operator = tmp_path / "operator.yaml"
    operator.write_text("ceiling: 3")
    monkeypatch.setenv("SQUADRON_CONFIG", str(operator))
    (squadron / "config.yaml").write_text("enabled: 1")
    result = check(squadron)
    assert result.exit_code == 1
    assert result.stderr.splitlines() == [
        f"{operator}:1:1: ceiling: unknown key (did you mean ceilings?)",
        f"{squadron}/config.yaml:1:10: enabled: must be true or false, not 1",
    ]
    operator.write_bytes(b"#" * 262_145)
    assert "operator.yaml:1:1: larger than 256 kB" in check(squadron).stderr
    operator.unlink()
    assert "operator.yaml:1:1: cannot be read: No such file" in check(squadron).stderr


def test_what_cannot_be_checked_is_a_usage_error(squadron: Path) -> None:
    result = check(squadron, "--role", "bugfix")
    assert (result.exit_code, result.stdout) == (2, "")
    assert result.stderr == "there is no role bugfix (did you mean bug-fix?)\n"
    result = check(squadron / "nothing")
    assert (result.exit_code, result.stdout) == (2, "")
    assert "is not a directory" in result.stderr


def test_links_are_refused_because_github_would_not_follow_them(
    squadron: Path, tmp_path: Path
) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "x.md").write_text("Leaked.")
    (squadron / "config.yaml").symlink_to(outside / "x.md")
    (squadron / "agents/pm.md").symlink_to(outside / "x.md")
    (squadron / "more").symlink_to(outside)
    os.mkfifo(squadron / "agents/pipe.md")
    result = check(squadron)
    link = "a link: Squadron reads regular files only"
    assert result.exit_code == 1
    assert sorted(result.stderr.splitlines()) == [
        f"{squadron}/agents/pipe.md:1:1: not a regular file",
        f"{squadron}/agents/pm.md:1:1: {link}",
        f"{squadron}/config.yaml:1:1: {link}",
        f"{squadron}/more:1:1: {link}",
    ]


def test_a_directory_is_read_within_bounds(squadron: Path) -> None:
    (squadron / "agents/big.md").write_bytes(b"x" * 300_000)
    (squadron / "notes.txt").write_text("not read")
    (squadron / "prompts").mkdir()
    (squadron / "prompts/pm.md").write_text("Plan.")
    files = read_directory(squadron)
    assert set(files) == {"agents/big.md", "prompts/pm.md"}
    assert "agents/big.md:1:1: larger than 256 kB" in check(squadron).stderr
    for number in range(MAX_FILES):
        (squadron / f"prompts/{number}.md").touch()
    with pytest.raises(UnreadableDirectory, match=f"more than {MAX_FILES} files"):
        read_directory(squadron)
