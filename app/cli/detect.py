"""`squadron detect`: which tool calls are test runs?"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterable, Iterator
from typing import Any, Final

import typer

from app.adapters.shell import parse
from app.cli.terminal import say
from app.testruns import Suite, suite_of
from app.testruns.shell_line import SHELL_TOOLS

MALFORMED: Final = 2
"""Exit status for a line that is no tool call."""


class MalformedCall(ValueError):
    """A line of the input is no tool call; says which line and what was expected."""


def answer_stdin() -> None:
    """One line for each call that is read."""
    try:
        for answer in answers(sys.stdin):
            say(json.dumps(answer))
    except MalformedCall as malformed:
        say(str(malformed), err=True)
        raise typer.Exit(MALFORMED) from malformed


def answers(lines: Iterable[str]) -> Iterator[dict[str, Any]]:
    """The answer to each call; `MalformedCall` at the first that cannot be understood.

    Blank lines and the byte order marks of files that were joined are passed over.
    """
    for number, line in enumerate(lines, 1):
        text = line.strip().removeprefix("\ufeff")
        if not text:
            continue
        suite = _suite_in(text, number)
        yield {
            "test_run": suite is not None,
            "runner": suite.runner if suite else None,
            "selectors": list(suite.selectors) if suite else [],
        }


def _suite_in(line: str, number: int) -> Suite | None:
    try:
        call = json.loads(line)
    except json.JSONDecodeError as error:
        where = f"{error.msg}, column {error.colno}"
        raise MalformedCall(f"line {number}: no JSON ({where}); expected {_EXPECTED}") from error
    except (ValueError, RecursionError) as error:
        why = "a number in it is too long, or it is nested too deeply"
        raise MalformedCall(f"line {number}: {why}; expected {_EXPECTED}") from error
    if not isinstance(call, dict):
        raise MalformedCall(f"line {number}: no JSON object; expected {_EXPECTED}")
    tool, args = call.get("tool"), call.get("args")
    if not isinstance(tool, str):
        raise MalformedCall(f'line {number}: "tool" is no string; expected {_EXPECTED}')
    if not isinstance(args, dict):
        raise MalformedCall(f'line {number}: "args" is no object; expected {_EXPECTED}')
    if tool not in SHELL_TOOLS or args.get("command") is None:
        return None
    command = args["command"]
    is_words = isinstance(command, list) and all(isinstance(word, str) for word in command)
    if not isinstance(command, str) and not is_words:
        raise MalformedCall(
            f'line {number}: "command" of {tool} is neither a string nor a list of strings'
        )
    return suite_of(parse(command))


_EXPECTED: Final = '{"tool": NAME, "args": {…}}'
