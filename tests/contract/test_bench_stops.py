"""`python -m bench stops`: what each limit stopped of good and of bad runs, as a table."""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from bench import stops

Line = dict[str, Any]


def call(number: int, tool: str, kind: str, ok: bool = True, **args: object) -> list[Line]:
    at = f"2026-03-01T09:{number // 60:02}:{number % 60:02}Z"
    asked = {"type": "tool_call", "at": at, "id": f"c{number}", "tool": tool, "kind": kind}
    said = {"ok": ok, "exit_code": None, "output": "" if ok else f"error {number}"}
    return [{**asked, "args": args}, {"type": "tool_result", "id": f"c{number}", **said}]


def looks(first: int, *commands: str, ok: bool = True) -> list[Line]:
    numbered = enumerate(commands, first)
    return [line for n, each in numbered for line in call(n, "bash", "shell", ok, command=each)]


EDIT = call(0, "edit", "write", path="a.py", content="42")
LOOP = looks(1, *["ls"] * 7)
RUNS: dict[str, tuple[bool, Sequence[Line]]] = {
    "good-work": (True, [*EDIT, *looks(1, *(f"cat {n}" for n in range(20)))]),
    "good-loop-at-the-end": (True, [*EDIT, *LOOP]),
    "bad-loop": (False, [*LOOP, *call(20, "edit", "write", path="a.py", content="41")]),
    "bad-loop-too": (False, LOOP),
    "bad-failing": (False, looks(0, *(f"false {n}" for n in range(8)), ok=False)),
}


@pytest.fixture
def recorded(tmp_path: Path) -> Path:
    """A directory of recordings, with `outcomes.jsonl`."""
    outcomes = []
    for name, (resolved, lines) in RUNS.items():
        (tmp_path / f"{name}.jsonl").write_text("\n".join(map(json.dumps, lines)))
        outcomes.append({"file": f"{name}.jsonl", "resolved": resolved})
    (tmp_path / "torn.jsonl").write_text("{")
    outcomes += [{"file": "torn.jsonl", "resolved": True}, {"file": "unknown.jsonl"}]
    (tmp_path / "outcomes.jsonl").write_text("\n".join(map(json.dumps, outcomes)))
    return tmp_path


def table(recorded: Path, capsys: pytest.CaptureFixture[str], *more: str) -> dict[str, str]:
    stops.main([str(recorded), "--outcomes", str(recorded / "outcomes.jsonl"), *more])
    first, *lines = capsys.readouterr().out.splitlines()
    assert first == "5 runs: 2 good, 3 bad"
    assert lines[0].startswith("not read: torn.jsonl: ")
    return {line[:34].strip(): " ".join(line[34:].split()) for line in lines[2:]}


def test_each_limit_is_told_with_whom_it_stopped(
    recorded: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    rows = table(recorded, capsys)
    assert rows["max_repeated_calls"] == "1 = 50.0% 2 = 66.7% 1.3 1 1 of 1"
    assert rows["any stop"] == rows["max_repeated_calls"]
    assert rows["failing (warns)"] == "0 = 0.0% 1 = 33.3% inf 1 -"
    assert rows["nothing_new (warns)"] == "0 = 0.0% 0 = 0.0% - 1 -"
    assert set(rows) == {
        "max_repeated_calls",
        "any stop",
        "failing (warns)",
        "nothing_new (warns)",
    }


def test_a_limit_can_be_swept(recorded: Path, capsys: pytest.CaptureFixture[str]) -> None:
    rows = table(recorded, capsys, "--sweep", "max_repeated_calls=6,7")
    assert rows["max_repeated_calls = 6"] == "1 = 50.0% 2 = 66.7% 1.3 1 1 of 1"
    assert rows["max_repeated_calls = 7"] == "0 = 0.0% 0 = 0.0% - 1 -"


def test_what_is_no_limit_cannot_be_swept(
    recorded: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit, match="2"):
        table(recorded, capsys, "--sweep", "max_luck=1")
    assert "no limit 'max_luck'" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("counts", "p"),
    [((3, 3, 0, 3), 2 / 20), ((4, 4, 0, 4), 2 / 70), ((1, 10, 2, 10), 1), ((0, 5, 0, 5), 1)],
)
def test_the_probability_is_that_of_fishers_exact_test(
    counts: tuple[int, int, int, int], p: float
) -> None:
    """Of all tables with the same sums, the part that is no more probable than this one."""
    assert stops.fisher(*counts) == pytest.approx(p)
