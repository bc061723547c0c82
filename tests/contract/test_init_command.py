"""`squadron init`: the starter configuration, as a new user meets it."""

import re
import tomllib
from pathlib import Path

import pytest
from typer.testing import CliRunner

from app.cli.main import app
from app.config.operator import OperatorConfig
from app.config.repository import read_repository

FILE = ".squadron/config.yaml"


def squadron(*words: str) -> tuple[int, str]:
    result = CliRunner().invoke(app, words)
    return result.exit_code, result.output


def test_the_starter_is_valid_and_changes_nothing(tmp_path: Path) -> None:
    code, said = squadron("init", str(tmp_path))
    assert (code, FILE in said) == (0, True)
    assert squadron("config", "check", str(tmp_path))[0] == 0
    operator = OperatorConfig()
    written = read_repository({"config.yaml": (tmp_path / FILE).read_text()}, operator)
    assert written == read_repository({}, operator)


def test_every_line_of_it_can_be_taken_into_use(tmp_path: Path) -> None:
    """Prose begins with `# `, a key with `#`: the defaults that are shown are the true ones."""
    squadron("init", str(tmp_path))
    text = re.sub(r"(?m)^#(?=  |\S)", "", (tmp_path / FILE).read_text())
    operator = OperatorConfig()
    used, unused = (read_repository(files, operator) for files in ({"config.yaml": text}, {}))
    assert used.problems == ()
    assert used.plan is not None and unused.plan is not None
    assert used.plan.labels == {"bug": "bug-fix"}
    for role in ("bug-fix", "feat-dev"):
        assert used.plan.roles[role].limits == unused.plan.roles[role].limits, role
    for part in ("trust", "branch_naming", "escalation", "suites", "budgets", "enabled", "events"):
        assert getattr(used.plan, part) == getattr(unused.plan, part), part


def test_what_is_there_is_left_alone(tmp_path: Path) -> None:
    (tmp_path / ".squadron").mkdir()
    (tmp_path / FILE).write_text("enabled: false\n")
    code, said = squadron("init", str(tmp_path))
    assert (code, "left as it is" in said) == (1, True)
    assert (tmp_path / FILE).read_text() == "enabled: false\n"


@pytest.mark.parametrize("place", ["missing", "file"])
def test_only_a_directory_can_be_a_repository(tmp_path: Path, place: str) -> None:
    (tmp_path / "file").touch()
    code, said = squadron("init", str(tmp_path / place))
    assert (code, "is not a directory" in said) == (1, True)


def test_a_file_in_place_of_the_directory_is_named(tmp_path: Path) -> None:
    (tmp_path / ".squadron").touch()
    code, said = squadron("init", str(tmp_path))
    assert (code, "Traceback" in said) == (1, False)


def test_the_version_is_that_of_the_package() -> None:
    project = tomllib.loads((Path(__file__).parents[2] / "pyproject.toml").read_text())["project"]
    assert squadron("--version") == (0, f"squadron {project['version']}\n")
