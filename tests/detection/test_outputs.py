"""What runners print, whole and cut as agents' tools cut it: seldom unknown, hardly ever wrong.

Each row of `outputs.jsonl` is an output of one runner with its exit status and what became of the
tests; with `command` where the line decides too. The outputs are this project's own, in the shape
that the runners print.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import pytest

from app.adapters.shell import parse
from app.testruns import Outcome, Suite, outcome_of, suite_of

CUT: Final = 500
"""Characters that a tool leaves of an output's beginning or end."""
LEAST_KNOWN: Final = 0.85


@dataclass(frozen=True, slots=True)
class Printed:
    name: str
    command: str | None
    runner: str
    exit_code: int
    outcome: Outcome
    output: str

    @property
    def suite(self) -> Suite:
        if self.command is None:
            return Suite(self.runner, (), status_visible=True)
        found = suite_of(parse(self.command))
        assert found is not None
        return found


def printed() -> list[Printed]:
    table = Path(__file__).with_name("outputs.jsonl").read_text(encoding="utf-8")
    rows = [json.loads(line) for line in table.splitlines()]
    return [Printed(**{**row, "outcome": Outcome(row["outcome"])}) for row in rows]


PRINTED: Final = printed()
ALONE: Final = [each for each in PRINTED if each.command is None]
"""Outputs of a runner and of nothing else."""


def pieces(each: Printed) -> list[str]:
    return [each.output[:CUT], each.output[-CUT:]] if len(each.output) > CUT else []


@pytest.mark.parametrize("each", PRINTED, ids=lambda each: each.name)
def test_a_whole_output_with_its_status_is_read(each: Printed) -> None:
    assert outcome_of(each.suite, each.exit_code, each.output) is each.outcome


@pytest.mark.parametrize("each", ALONE, ids=lambda each: each.name)
def test_without_a_status_an_output_is_never_misread(each: Printed) -> None:
    for output in (each.output, *pieces(each)):
        assert outcome_of(each.suite, None, output) in {each.outcome, Outcome.UNKNOWN}


@pytest.mark.parametrize("each", ALONE, ids=lambda each: each.name)
def test_a_cut_output_with_its_status_is_read(each: Printed) -> None:
    for output in pieces(each):
        assert outcome_of(each.suite, each.exit_code, output) is each.outcome


def test_most_outputs_without_a_status_are_known_even_if_they_are_cut() -> None:
    outputs = [(each, output) for each in ALONE for output in (each.output, *pieces(each))]
    known = [
        outcome_of(each.suite, None, output) is not Outcome.UNKNOWN for each, output in outputs
    ]
    assert len(outputs) > 150
    assert sum(known) / len(known) > LEAST_KNOWN
