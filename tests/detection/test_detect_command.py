"""`squadron detect`: JSON lines in, JSON lines out, in order; the first bad line ends it."""

from __future__ import annotations

import json

import pytest
from typer.testing import CliRunner, Result

from app.cli.main import app


def run_detect(*lines: str) -> Result:
    return CliRunner().invoke(app, ["detect"], input="".join(f"{line}\n" for line in lines))


def call(tool: str, **args: object) -> str:
    return json.dumps({"tool": tool, "args": args})


def test_answers_in_order() -> None:
    result = run_detect(
        call("bash", command="pytest -q tests/a.py"),
        call("edit", command="pytest"),
        call("shell", command=["npm", "test"]),
        call("bash", restart=True),
    )
    assert result.exit_code == 0
    assert [json.loads(line) for line in result.stdout.splitlines()] == [
        {"test_run": True, "runner": "pytest", "selectors": ["tests/a.py"]},
        {"test_run": False, "runner": None, "selectors": []},
        {"test_run": True, "runner": "npm test", "selectors": []},
        {"test_run": False, "runner": None, "selectors": []},
    ]


@pytest.mark.parametrize(
    ("line", "complaint"),
    [
        ("{", "no JSON"),
        ('{"tool": NaN', "no JSON"),
        (f'{{"tool": "bash", "args": {{"n": {"7" * 5_000}}}}}', "a number in it is too long"),
        ("[" * 100_000, "nested too deeply"),
        ("[]", "no JSON object"),
        ('{"args": {}}', '"tool" is no string'),
        ('{"tool": "bash"}', '"args" is no object'),
        ('{"tool": "bash", "args": {"command": 7}}', "neither a string nor a list of strings"),
        ('{"tool": "bash", "args": {"command": ["a", 1]}}', "neither a string nor a list"),
    ],
)
def test_a_malformed_line_ends_it_with_its_number(line: str, complaint: str) -> None:
    result = run_detect(call("bash", command="ls"), line, call("bash", command="pytest"))
    assert result.exit_code == 2
    assert "line 2: " in result.stderr
    assert complaint in result.stderr
    assert "digits" not in result.stderr, "Python's own limits are no business of people"
    assert len(result.stdout.splitlines()) == 1


def test_blank_lines_and_byte_order_marks_are_passed_over_and_still_counted() -> None:
    asked = call("bash", command="pytest")
    result = run_detect(f"\ufeff{asked}", "", "  ", f"\ufeff{asked}", "\ufeff", "{")
    assert result.exit_code == 2
    assert "line 6: no JSON" in result.stderr
    assert [json.loads(line)["runner"] for line in result.stdout.splitlines()] == ["pytest"] * 2
