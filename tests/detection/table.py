"""Tables of tool calls with their answers, one JSON object a line, and the detector's score on one.

`expect` is true, false or "policy" (reasonable people differ: any answer is right).
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from app.adapters.shell import parse
from app.cli.detect import answers
from app.testruns import suite_of

DEVELOPMENT: Final = Path(__file__).with_name("development.jsonl")
"""The calls that the rules were made with."""
OWN: Final = Path(__file__).with_name("commands.jsonl")
"""Further ones: lists written before the detector saw them, and what came up since."""


@dataclass(frozen=True, slots=True)
class Row:
    tool: str
    args: dict[str, Any]
    expect: bool | str
    group: str


@dataclass(frozen=True, slots=True)
class Score:
    found: int
    correctly_none: int
    missed: tuple[Row, ...]
    false: tuple[Row, ...]

    @property
    def decided(self) -> int:
        return self.found + self.correctly_none + len(self.missed) + len(self.false)

    @property
    def precision(self) -> float:
        return self.found / (self.found + len(self.false))

    @property
    def recall(self) -> float:
        return self.found / (self.found + len(self.missed))


def rows(table: Path) -> list[Row]:
    read = [json.loads(line) for line in table.read_text(encoding="utf-8").splitlines()]
    return [Row(row["tool"], row["args"], row["expect"], row["lang"]) for row in read]


def score(table: Iterable[Row]) -> Score:
    """What `squadron detect` says to the rows of a table, compared with their answers."""
    decided = [row for row in table if row.expect != "policy"]
    calls = [json.dumps({"tool": row.tool, "args": row.args}) for row in decided]
    said = [answer["test_run"] for answer in answers(calls)]
    judged = list(zip(decided, said, strict=True))
    return Score(
        found=sum(1 for row, found in judged if row.expect and found),
        correctly_none=sum(1 for row, found in judged if not row.expect and not found),
        missed=tuple(row for row, found in judged if row.expect and not found),
        false=tuple(row for row, found in judged if not row.expect and found),
    )


def lines_of_text(expect: bool) -> list[str]:
    """The one-line command strings of shell tools with this answer, of both tables."""
    return [
        row.args["command"]
        for row in [*rows(DEVELOPMENT), *rows(OWN)]
        if row.expect is expect
        and row.group != "tool"
        and isinstance(row.args.get("command"), str)
        and "\n" not in row.args["command"]
    ]


def said(command: str | list[str]) -> str:
    """What the detector says of a command, in short: `pytest: tests/a.py, -k x`; `-`: no tests."""
    suite = suite_of(parse(command))
    if suite is None:
        return "-"
    return f"{suite.runner}: {', '.join(suite.selectors)}" if suite.selectors else suite.runner
