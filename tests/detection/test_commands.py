"""The detector's score on the tables of commands, asked through `squadron detect`'s own path."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

import app
from app.testruns.table import RUNNERS
from tests.detection.table import DEVELOPMENT, OWN, rows, score

PACKAGE = Path(app.__file__).parent
MIN_PRECISION = 0.99
MIN_RECALL = 0.98


@pytest.mark.parametrize("table", [DEVELOPMENT, OWN], ids=lambda table: table.stem)
def test_precision_and_recall(table: Path) -> None:
    reached = score(rows(table))
    assert reached.precision >= MIN_PRECISION, reached.false
    assert reached.recall >= MIN_RECALL, reached.missed
    assert not reached.false  # on the project's own tables every answer is known
    assert not reached.missed


def test_the_tables_have_enough_of_both_answers() -> None:
    wanted = [row.expect for table in (DEVELOPMENT, OWN) for row in rows(table)]
    assert wanted.count(True) > 3000
    assert wanted.count(False) > 3000


def test_no_command_of_the_tables_stands_in_the_code() -> None:
    """Rules, not answers: neither as data nor in a comment, beyond a runner and its verb."""
    sources = [path.read_text(encoding="utf-8") for path in PACKAGE.rglob("*.py")]
    code = " ".join(" ".join(source.split()) for source in sources)
    commands = {command for table in (DEVELOPMENT, OWN) for command in long_commands(table)}
    assert len(commands) > 4000
    assert not {command for command in commands if command in code}


def long_commands(table: Path) -> Iterator[str]:
    """The commands that say more than a runner's name and what it is asked."""
    for row in rows(table):
        command = row.args.get("command") or ""
        words = tuple(command.split() if isinstance(command, str) else command)
        runners = RUNNERS.get(words[0], ()) if words else ()
        if len(words) > 2 and not any(words[1:] in runner.verbs for runner in runners):
            yield " ".join(words)
