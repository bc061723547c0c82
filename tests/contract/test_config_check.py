"""`squadron config check` on real directories."""

import json
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner, Result

from app.cli.main import app
from app.config.builtin import BUILT_IN_ROLES
from app.config.directory import MAX_FILES, UnreadableDirectory, read_directory
from app.config.jsonschema import FileKind, json_schema
from app.core.limits import LimitName

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
    return CliRunner().invoke(app, ["config", "check", *map(str, arguments)])


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
    settings = ["warning_threshold", "summary_wait", "running_tool_wait", "max_review_wait"]
    assert list(pm["limits"]) == [*LimitName, *settings]
    warns = pm["limits"]["max_unrunnable_tests"]
    assert warns.pop("on_limit") == "warn", "by itself; what escalates says nothing of it"
    assert {frozenset(shown) for shown in pm["limits"].values()} == {
        frozenset({"value", "layer", "capped_by"})
    }


def test_what_is_not_to_escalate_is_shown_with_its_limit(squadron: Path) -> None:
    (squadron / "config.yaml").write_text(
        "circuit_breakers:\n  defaults: {on_limit: {max_turns: pause}, shadow: [max_tokens]}\n"
        "  roles: {pm: {preset: researcher}}\n"
    )
    limits = json.loads(check(squadron, "--json", "--role", "pm").stdout)["roles"]["pm"]["limits"]
    assert limits["max_turns"]["on_limit"] == "pause"
    assert limits["max_tokens"] == {
        "value": None,
        "layer": "built-in",
        "capped_by": None,
        "shadow": True,
    }
    assert limits["max_cost_usd"] == {
        "value": 5.0,
        "layer": "preset",
        "capped_by": None,
        "on_limit": "warn",
    }
    assert "on_limit" not in limits["max_iterations"]
    shown = check(squadron, "--role", "pm").stdout
    assert "preset: researcher" in shown
    assert re.search(r"max_cost_usd .* 5.0 .* preset, on limit: warn", shown)
    assert re.search(r"max_tokens .* off .* built-in, shadow: never acted on", shown)


def test_mistakes_go_to_stderr_with_their_place_and_exit_code_1(squadron: Path) -> None:
    file = squadron / "config.yaml"
    file.write_text("enabled: true\ncircuit_breakers:\n  defaults:\n    max_tool_cals: 3\n")
    message = "circuit_breakers.defaults.max_tool_cals: unknown key (did you mean max_tool_calls?)"
    result = check(squadron)
    assert (result.exit_code, result.stdout) == (1, "1 mistake\n")
    assert result.stderr == f"{file}:4:5: {message}\n"
    result = check(squadron.parent, "--json")
    assert result.exit_code == 1
    assert json.loads(result.stdout) == {
        "valid": False,
        "errors": [{"file": str(file), "line": 4, "column": 5, "message": message}],
        "roles": {},
    }


def test_what_somebody_set_is_shown_and_with_all_the_rest(squadron: Path) -> None:
    """A limit that warns by itself is set by nobody."""
    (squadron / "config.yaml").write_text(
        "circuit_breakers:\n  defaults: {shadow: [max_tokens], on_limit: {max_turns: pause}}\n"
        "  roles: {pm: {max_tool_calls: 9}}\n"
    )
    result = check(squadron, "--role", "pm")
    names = [name for name in LimitName if re.search(rf"\b{name}\b", result.stdout)]
    assert names == ["max_tool_calls", "max_turns", "max_tokens"]
    assert result.stdout.splitlines()[-2:] == [
        "Limits that nobody set are left out: --all shows them.",
        "no mistakes",
    ]
    every = check(squadron, "--role", "pm", "--all").stdout
    assert all(re.search(rf"\b{name}\b", every) for name in LimitName)
    (squadron / "config.yaml").write_text("")
    shown = check(squadron, "--role", "pm").stdout.splitlines()
    assert shown[0] == "pm (embedded, model: the operator's default): every limit is built in"


def test_the_last_line_counts_the_mistakes(squadron: Path) -> None:
    (squadron / "config.yaml").write_text("enabled: 1\nco_author: 1\n")
    result = check(squadron)
    assert (result.exit_code, result.stdout) == (1, "2 mistakes\n")


NOT_READ = {
    "Setup.sh": "call it setup.sh",
    "VERIFY.SH": "call it verify.sh",
    "setup": "call it setup.sh",
    "Config.yaml": "call it config.yaml",
    "config.yml": "config.yaml is there, too: delete one of them",
    "agents/pm.MD": "call it pm.md",
    "agents/pm.markdown": "call it pm.md",
    "agent/pm.md": "call the directory agents",
    "setup.sh/run": "setup.sh has to be a file",
}


@pytest.mark.parametrize("name", NOT_READ)
def test_what_is_called_almost_as_what_is_read_is_told(squadron: Path, name: str) -> None:
    """Such a file would change nothing, and nobody would see why."""
    (squadron / "config.yaml").touch()
    file = squadron / name
    file.parent.mkdir(exist_ok=True)
    file.write_text("x")
    shown = squadron / name.partition("/")[0] if "agents" not in name else file
    result = check(squadron)
    assert result.exit_code == 0, result.output
    assert result.stderr == f"note: {shown}:1:1: not read: {NOT_READ[name]}\n"


def test_names_of_ones_own_are_no_mistake(squadron: Path) -> None:
    for name in ("notes.txt", "README.md", "agents/pm.md", "run-setup.sh"):
        (squadron / name).write_text("Plan.")
    result = check(squadron)
    assert (result.exit_code, result.stderr) == (0, "")


def test_below_squadron_the_whole_of_it_is_meant(squadron: Path) -> None:
    (squadron / "config.yaml").write_text("enabled: 1")
    result = check(squadron / "agents")
    assert (result.exit_code, result.stdout) == (1, "1 mistake\n")


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


@pytest.mark.parametrize("kind", ["config", "agent", "operator"])
def test_schema_prints_one_json_schema_and_nothing_else(kind: FileKind) -> None:
    result = CliRunner().invoke(app, ["config", "schema", "--file", kind])
    assert (result.exit_code, result.stderr) == (0, "")
    assert json.loads(result.stdout) == json_schema(kind)
    if kind == "config":
        assert CliRunner().invoke(app, ["config", "schema"]).stdout == result.stdout


def test_schema_of_an_unknown_file_is_a_usage_error() -> None:
    result = CliRunner().invoke(app, ["config", "schema", "--file", "workflow"])
    assert (result.exit_code, result.stdout) == (2, "")
    assert "'workflow' is not one of" in result.stderr


def test_what_cannot_be_checked_is_a_usage_error(squadron: Path) -> None:
    result = check(squadron, "--role", "bugfix")
    assert (result.exit_code, result.stdout) == (2, "")
    assert result.stderr == "there is no role bugfix (did you mean bug-fix?)\n"
    result = check(squadron / "nothing")
    assert (result.exit_code, result.stdout) == (2, "")
    assert "is not a directory" in result.stderr


@pytest.mark.parametrize("git", ["directory", "file", "none"])
def test_a_repository_without_configuration_has_the_built_in_roles(
    tmp_path: Path, git: str
) -> None:
    """Whatever else it holds is not read as configuration, however much it looks like it."""
    (tmp_path / "deep/a/b/c/d/e").mkdir(parents=True)
    (tmp_path / "README.md").symlink_to("deep")
    if git == "directory":
        (tmp_path / ".git").mkdir()
    elif git == "file":  # as in a worktree
        (tmp_path / ".git").write_text("gitdir: elsewhere")
    if git != "none":
        (tmp_path / "config.yaml").write_text("anything: 1")
        (tmp_path / "agents").mkdir()
        (tmp_path / "agents/pm.md").write_text("---\nno: role\n---\n")
    result = check(tmp_path, "--json")
    assert result.exit_code == 0, result.output
    assert tuple(json.loads(result.stdout)["roles"]) == BUILT_IN_ROLES
    words = f"note: there is no .squadron in {tmp_path}: the built-in roles hold\n"
    assert result.stderr == words


@pytest.mark.parametrize("name", ["config.yaml", "agents/pm.md"])
def test_a_directory_that_holds_configuration_may_have_any_name(tmp_path: Path, name: str) -> None:
    (tmp_path / "agents").mkdir()
    (tmp_path / name).write_text("---\nenabled: 1\n---\n")
    result = check(tmp_path)
    assert result.exit_code == 1
    assert result.stderr.startswith(f"{tmp_path}/{name}:")


def test_an_empty_squadron_directory_is_one(
    squadron: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (squadron / "agents").rmdir()
    monkeypatch.chdir(squadron)
    for result in (check(squadron), check(squadron.parent), check()):
        assert (result.exit_code, result.stderr) == (0, "")


def test_a_file_in_place_of_squadron_is_a_mistake(squadron: Path) -> None:
    (squadron / "agents").rmdir()
    squadron.rmdir()
    squadron.touch()
    result = check(squadron.parent)
    assert result.exit_code == 1
    assert result.stderr == f"{squadron}:1:1: cannot be read: Not a directory\n"


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
    (squadron / "setup.sh").write_text("make deps")
    (squadron / "agents/setup.sh").write_text("not read")
    (squadron / "prompts").mkdir()
    (squadron / "prompts/pm.md").write_text("Plan.")
    files = read_directory(squadron)
    assert set(files) == {"agents/big.md", "prompts/pm.md", "setup.sh"}
    assert "agents/big.md:1:1: larger than 256 kB" in check(squadron).stderr
    for number in range(MAX_FILES):
        (squadron / f"prompts/{number}.md").touch()
    with pytest.raises(UnreadableDirectory, match=f"more than {MAX_FILES} files"):
        read_directory(squadron)


def operated(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, content: str) -> None:
    operator = tmp_path / "operator.yaml"
    operator.write_text(content)
    monkeypatch.setenv("SQUADRON_CONFIG", str(operator))


def limits_of(squadron: Path, role: str = "bug-fix") -> Any:
    result = check(squadron, "--json", "--role", role)
    assert result.exit_code == 0, result.output
    return json.loads(result.stdout)["roles"][role]["limits"]


def test_the_files_of_the_examples_pass_word_for_word(
    squadron: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """EXAMPLES, "Configuration files": the repository's as its only file, and the operator's."""
    examples = PROJECT / "tests/data/examples"
    (squadron / "config.yaml").write_bytes((examples / "config.yaml").read_bytes())
    operated(tmp_path, monkeypatch, (examples / "operator.yaml").read_text())
    result = check(squadron, "--json")
    assert (result.exit_code, result.stderr) == (0, "")
    assert tuple(json.loads(result.stdout)["roles"]) == BUILT_IN_ROLES


def test_the_researcher_has_its_preset_without_being_told(squadron: Path) -> None:
    """EXAMPLES shows `researcher: {preset: researcher}` among the defaults."""
    limits = limits_of(squadron, "researcher")
    assert limits["max_tool_calls"] == {
        "value": 50,
        "layer": "preset",
        "capped_by": None,
        "on_limit": "warn",
    }
    (squadron / "config.yaml").write_text(
        "circuit_breakers:\n  defaults: {max_tool_calls: 200}\n"
        "  roles: {researcher: {preset: researcher}}\n"
    )
    written_out = limits_of(squadron, "researcher")
    assert written_out == limits
    (squadron / "config.yaml").write_text("circuit_breakers: {roles: {researcher: {preset: qa}}}")
    assert limits_of(squadron, "researcher")["max_tool_calls"]["value"] == 10


OPEN = {"value": None, "layer": "built-in", "capped_by": None}
BUDGETED = {"value": 1.0, "layer": "built-in", "capped_by": None}


@pytest.mark.parametrize(
    ("scope", "shown"),
    [
        ("scope: repository", BUDGETED),
        ("scope: role", BUDGETED),
        ("scope: role, name: bug-fix", BUDGETED),
        ("scope: issue", BUDGETED),
        ("scope: user", BUDGETED),
        ("scope: role, name: pm", OPEN),
        ("scope: team, name: octo/leads", OPEN),
        ("scope: issue, name: 12", OPEN),
        ("scope: user, name: ada", OPEN),
    ],
)
def test_where_a_budget_counts_every_agent_its_money_is_bounded(
    squadron: Path, scope: str, shown: object
) -> None:
    """The issue, `max_cost_usd`: "none; 1.0 where a money budget applies"."""
    budget = f"{{{scope}, window: day, max_cost_usd: 20}}"
    (squadron / "config.yaml").write_text(f"budgets: [{budget}]")
    assert limits_of(squadron)["max_cost_usd"] == shown


@pytest.mark.parametrize(
    ("scope", "shown"),
    [
        ("scope: installation", BUDGETED),
        ("scope: repository", BUDGETED),
        ("scope: role, name: bug-fix", BUDGETED),
        ("scope: role, name: scout", OPEN),
        ("scope: repository, name: octo/demo", OPEN),
        ("scope: installation, name: octo", OPEN),
    ],
)
def test_the_operators_budgets_bound_money_too(
    squadron: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, scope: str, shown: object
) -> None:
    budget = f"{{{scope}, window: month, max_cost_usd: 1000}}"
    operated(tmp_path, monkeypatch, f"budgets: [{budget}]")
    assert limits_of(squadron)["max_cost_usd"] == shown


BUDGET = "budgets: [{scope: user, window: day, max_cost_usd: 20}]\n"


@pytest.mark.parametrize(
    ("said", "ceiling", "shown"),
    [
        ("", "0.5", {"value": 0.5, "layer": "built-in", "capped_by": "ceiling"}),
        ("", "25", BUDGETED),
        ("{max_cost_usd: null}", "", BUDGETED),
        (
            "{max_cost_usd: 3}",
            "",
            {"value": 3.0, "layer": "repository defaults", "capped_by": None},
        ),
        (
            "{max_cost_usd: null}",
            "25",
            {"value": 25.0, "layer": "repository defaults", "capped_by": "ceiling"},
        ),
        (
            "{max_cost_usd: 3, on_limit: warn, shadow: [max_cost_usd]}",
            "",
            {"value": 3.0, "layer": "repository defaults", "capped_by": None},
        ),
    ],
)
def test_under_a_budget_the_shown_bound_is_the_one_that_an_agent_starts_with(
    squadron: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    said: str,
    ceiling: str,
    shown: object,
) -> None:
    operated(tmp_path, monkeypatch, f"ceilings: {{max_cost_usd: {ceiling}}}")
    (squadron / "config.yaml").write_text(f"{BUDGET}circuit_breakers: {{defaults: {said}}}")
    assert limits_of(squadron)["max_cost_usd"] == shown


def test_a_limit_that_stops_an_agent_at_once_is_a_problem_with_the_least_that_it_takes(
    squadron: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    operated(tmp_path, monkeypatch, "pricing: {'openai:dear': {input: 15, output: 75}}")
    file = squadron / "config.yaml"
    chosen = "circuit_breakers: {roles: {pm: {preset: execution-leaf}}}\n"
    file.write_text(f"roles: {{pm: {{model: 'openai:dear'}}}}\n{chosen}")
    result = check(squadron)
    words = (
        "circuit_breakers.roles.pm.preset: execution-leaf sets max_cost_usd: $0.05 is too little:"
        " one tool call and a return of openai:dear take at least $0.16"
    )
    assert (result.exit_code, result.stderr) == (1, f"{file}:2:41: {words}\n")
    answer = json.loads(check(squadron, "--json").stdout)
    assert answer["errors"] == [{"file": str(file), "line": 2, "column": 41, "message": words}]
    assert not answer["valid"] and "pm" in answer["roles"]
    file.write_text(f"roles: {{pm: {{model: 'openai:unpriced'}}}}\n{chosen}")
    assert check(squadron).exit_code == 0, "nobody knows what it costs"


def test_at_a_ceiling_neither_action_nor_shadow_is_shown_because_it_escalates(
    squadron: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """EXAMPLES: there "`null`, `warn` and `shadow` do not count and the ceiling escalates"."""
    operated(
        tmp_path, monkeypatch, "ceilings: {max_turns: 7, max_tool_calls: 9, max_iterations: 99}"
    )
    (squadron / "config.yaml").write_text(
        "circuit_breakers: {defaults: {on_limit: warn, max_turns: 8, max_tool_calls: 9,"
        " shadow: [max_turns, max_tool_calls, max_iterations]}}"
    )
    limits = limits_of(squadron)
    where = {"layer": "repository defaults", "capped_by": None}
    assert limits["max_turns"] == {"value": 7, **where, "capped_by": "ceiling"}
    assert limits["max_tool_calls"] == {"value": 9, **where}
    told = {"layer": "built-in", "capped_by": None, "on_limit": "warn", "shadow": True}
    assert limits["max_iterations"] == {"value": 5, **told}
    shown = check(squadron, "--role", "bug-fix").stdout
    [turns] = [line for line in shown.splitlines() if "max_turns" in line]
    assert "warn" not in turns and "shadow" not in turns
