"""The detector's score on the table of commands, asked through `squadron detect`'s own path."""

from __future__ import annotations

import json

from app.cli.detect import answers
from tests.detection.table import rows

MIN_PRECISION = 0.99
MIN_RECALL = 0.98


def test_precision_and_recall() -> None:
    table = rows()
    calls = [json.dumps({"tool": row.tool, "args": row.args}) for row in table]
    judged = [
        (row, answer["test_run"])
        for row, answer in zip(table, answers(calls), strict=True)
        if row.expect != "policy"
    ]
    found = sum(1 for row, said in judged if said and row.expect)
    false = [row.args for row, said in judged if said and not row.expect]
    missed = [row.args for row, said in judged if not said and row.expect]
    precision = found / (found + len(false))
    recall = found / (found + len(missed))
    print(f"{len(judged)} decided: precision {precision:.4f}, recall {recall:.4f}")
    assert precision >= MIN_PRECISION, false
    assert recall >= MIN_RECALL, missed
    assert not false  # on the project's own table every answer is known, so none may be wrong
    assert not missed


def test_the_table_has_enough_of_both_answers() -> None:
    answers_wanted = [row.expect for row in rows()]
    assert answers_wanted.count(True) > 500
    assert answers_wanted.count(False) > 500
