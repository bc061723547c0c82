"""Help and completion: of every command, and without what only its work needs."""

import os
import subprocess
import sys
from pathlib import Path
from typing import Final, get_args

import pytest

from app.cli.commands.trying import FORMATS
from app.config.jsonschema import FileKind
from app.core.history.transcript import Format
from app.core.rules.plan import RuntimeName

PROJECT = Path(__file__).parents[2]
SLOW: Final = ("sqlalchemy", "httpx", "fastapi", "app.adapters", "app.config", "app.services")
"""To import them takes longer than all of the help."""
EVERY_HELP: Final = f"""
import sys
from typer.main import get_command
from typer.testing import CliRunner
from app.cli.main import app

def helped(command, *words):
    told = CliRunner().invoke(app, [*words, "--help"])
    assert told.exit_code == 0 and "Usage: " in told.output, told.output
    print(" ".join(words))
    for name in getattr(command, "commands", ()):
        helped(command.commands[name], *words, name)

helped(get_command(app))
slow = [name for name in sys.modules if name.startswith({SLOW!r})]
assert not slow, slow[:5]
"""


def run(command: list[str], **environment: str) -> str:
    path = {"PYTHONPATH": str(PROJECT), "PATH": os.environ["PATH"]}
    done = subprocess.run(
        command, env={**path, **environment}, capture_output=True, text=True,
        timeout=120, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_help_of_every_command_imports_nothing_that_takes_long() -> None:
    told = run([sys.executable, "-c", EVERY_HELP]).splitlines()
    assert {"", "serve", "config check", "limits suggest", "workers drain"} <= {*told}
    assert len(told) > 25


@pytest.mark.parametrize(
    ("typed", "completed"),
    [
        ("squadron con", ["config"]),
        ("squadron config ch", ["check"]),
        ("squadron costs --by re", ["repository"]),
    ],
)
def test_a_shell_completes_it(typed: str, completed: list[str]) -> None:
    words = {"COMP_WORDS": typed, "COMP_CWORD": str(len(typed.split()) - 1)}
    script = str(Path(sys.executable).parent / "squadron")
    told = run([script], _SQUADRON_COMPLETE="complete_bash", **words)
    assert told.split() == completed


def test_words_that_are_written_out_for_the_help_are_those_there_are() -> None:
    assert tuple(Format) == FORMATS
    assert get_args(FileKind) == ("config", "agent", "operator")
    assert get_args(RuntimeName) == ("embedded", "copilot", "claude")
