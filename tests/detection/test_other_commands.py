"""What other commands of a line, and the line itself, do to the evidence about its tests."""

from __future__ import annotations

import pytest

from app.adapters.shell import parse
from app.testruns import Outcome, Suite, outcome_of, suite_of

PASSED, FAILED = Outcome.PASSED, Outcome.FAILED
DID_NOT_RUN, UNKNOWN = Outcome.DID_NOT_RUN, Outcome.UNKNOWN


def suite(command: str) -> Suite:
    found = suite_of(parse(command))
    assert found is not None
    return found


BEFORE = [
    "ruff check . && pytest",
    "cargo fmt --check && cargo clippy && cargo test",
    "npm run lint && npm test",
    "cd web && npm run lint && npm test",
    "(ruff check .) && pytest",
    "bash -c 'ruff check . && pytest'",
    "ruff check . || exit 1; pytest",
    "set -e; npm run build; npm test",
    "set -e\nmake lint\nmake test",
    "grep -q x setup.cfg && pytest",
    "[ -f setup.py ] && pytest",
    "which pytest && pytest",
    "pip install -e . && pytest && mypy app",
    "if ! ruff check .; then exit 1; fi; pytest",
]
NOT_BEFORE = [
    "pytest",
    "cd x && pytest",
    "export A=1 && pytest",
    "source .venv/bin/activate && pytest",
    ". .venv/bin/activate && pytest",
    "mkdir -p out && pytest",
    "true && echo start && sleep 1 && pytest",
    "ruff check .; pytest",
    "ruff check . | head && pytest",
    "ruff check . || true; pytest",
    "timeout 60 env A=1 pytest",
    "pytest a && pytest b",
    "pytest && ruff check .",
    "ruff check . && pytest | tail",
]
BEHIND = [
    "pytest && ruff check .",
    "pytest && git commit -am done",
    "set -e; pytest; mypy app",
    "pytest || exit 1; ruff check .",
]
NOT_BEHIND = [
    "pytest",
    "pytest && echo done",
    "pytest; ruff check .",
    "ruff check . && pytest",
    "pytest a && ruff check . && pytest b",
    "pytest && ruff check . | head",
]


@pytest.mark.parametrize("command", BEFORE)
def test_a_command_before_the_tests_may_end_the_line(command: str) -> None:
    assert suite(command).others_before


@pytest.mark.parametrize("command", NOT_BEFORE)
def test_nothing_before_the_tests_ends_the_line(command: str) -> None:
    assert not suite(command).others_before


@pytest.mark.parametrize("command", BEHIND)
def test_a_command_behind_the_tests_may_fail_the_line(command: str) -> None:
    assert suite(command).others_behind


@pytest.mark.parametrize("command", NOT_BEHIND)
def test_nothing_behind_the_tests_fails_the_line(command: str) -> None:
    assert not suite(command).others_behind


def test_so_many_other_commands_are_thought_through_and_no_more() -> None:
    assert suite("true && " + "cd x && " * 20 + "make && pytest").others_before
    assert suite("pytest; true && " + "make | cat; " * 7 + "make && pytest").status_visible is False
    lint = "make | cat; "
    assert suite(f"{lint * 7}make && pytest").others_before
    assert not suite(f"{lint * 8}make && pytest").others_before


@pytest.mark.parametrize(
    ("command", "status", "output", "outcome"),
    [
        (
            "cargo fmt --check && cargo test",
            1,
            "Diff in /repo/src/main.rs:1:\n-fn a(){}",
            DID_NOT_RUN,
        ),
        (
            "npm run lint && npm test",
            1,
            "> x@1 lint\n> eslint .\n\n  3:7  error  unused\n\n✖ 1 problem (1 error, 0 warnings)",
            DID_NOT_RUN,
        ),
        ("ruff check . && pytest", 1, "a.py:1:8: F401 unused\nFound 1 error.", DID_NOT_RUN),
        ("ruff check . && pytest", 2, "error: unexpected argument '--foo'", DID_NOT_RUN),
        ("black --check . && pytest", 1, "would reformat a.py", DID_NOT_RUN),
        ("go build ./... && go test ./...", 1, "# x\n./x.go:3:2: undefined: foo", DID_NOT_RUN),
        ("npx tsc && npx jest", 2, "src/a.ts(3,5): error TS2322: no.", DID_NOT_RUN),
        ("make lint && make test", 2, "make: *** [Makefile:5: lint] Error 1", DID_NOT_RUN),
        ("grep -q x setup.cfg && pytest", 1, "", DID_NOT_RUN),
        ("ruff check . && pytest", 1, "warming up", UNKNOWN),
        ("ruff check . && pytest > log 2>&1", 1, "", UNKNOWN),
        ("ruff check . && pytest", 1, "All checks passed!\n1 failed in 0.1s", FAILED),
        ("ruff check . && pytest", 1, "All checks passed!\ncollected 3 items\nerror: x", FAILED),
        (
            "npm run lint && npm test",
            1,
            "> x@1 lint\n> eslint .\n\n> x@1 test\n> node t.js",
            FAILED,
        ),
        ("ruff check . && pytest", 0, "All checks passed!", PASSED),
        ("cd x && pytest", 1, "", FAILED),
        ("cd x && pytest", 1, "Found 1 error.", FAILED),
        ("source a && pytest", 1, "", FAILED),
        ("pytest && ruff check .", 1, "3 passed in 0.1s\nFound 1 error.", PASSED),
        ("pytest && ruff check .", 1, "1 failed in 0.1s", FAILED),
        ("pytest && ruff check .", 1, "", FAILED),
        ("pytest && ruff check .", 124, "3 passed in 0.1s", FAILED),
        ("pytest && ruff check .", -9, "3 passed in 0.1s", FAILED),
        ("pytest && ruff check .", 123, "3 passed in 0.1s", PASSED),
        ("pytest && echo done", 1, "3 passed in 0.1s", FAILED),
        (
            "pytest --cov && ruff check .",
            1,
            "FAIL Required test coverage of 80% not reached.\n3 passed in 0.1s",
            FAILED,
        ),
    ],
)
def test_a_status_that_may_be_that_of_another_command(
    command: str, status: int, output: str, outcome: Outcome
) -> None:
    assert outcome_of(suite(command), status, output) is outcome


THROWN_AWAY = [
    "pytest > /dev/null 2>&1 || true",
    "pytest >/dev/null 2>&1; true",
    "pytest &> /dev/null; git stash pop",
    "pytest >& log || true",
    "pytest > log 2> errors | cat",
    "cd x && pytest > log 2>&1 || :",
    "bash -c 'cd x; pytest' > /dev/null 2>&1 || true",
    "(cd x; pytest) > /dev/null 2>&1 || true",
    "{ cd x; pytest; } > /dev/null 2>&1 || true",
]
NOT_THROWN_AWAY = [
    "pytest || true",
    "pytest > /dev/null || true",
    "pytest 2> /dev/null || true",
    "pytest 2>&1 > log || true",
    "pytest > /dev/stdout 2>&1 || true",
    "pytest < in 2>&1 || true",
    "make > /dev/null 2>&1; pytest || true",
    "npm test > /dev/null 2>&1; pytest || true",
]


@pytest.mark.parametrize("command", THROWN_AWAY)
def test_who_throws_all_evidence_away_has_not_passed(command: str) -> None:
    assert outcome_of(suite(command), 0, "") is FAILED
    assert outcome_of(suite(command), None, "") is UNKNOWN, "the runtime hid the status"
    assert outcome_of(suite(command), 0, "3 passed in 0.1s") is PASSED, "the log was shown"
    assert outcome_of(suite(command), 0, "done") is UNKNOWN


@pytest.mark.parametrize("command", NOT_THROWN_AWAY)
def test_what_is_left_of_the_output_may_be_hidden_by_the_runtime(command: str) -> None:
    assert outcome_of(suite(command), 0, "") is UNKNOWN


PRINTED = [
    'pytest > log 2>&1; echo "EXIT: $?"',
    "pytest -q | tail -5; echo exit code ${PIPESTATUS[0]}",
    'pytest -q; rc=$?; tail log; echo "rc=$rc"',
    "pytest; echo $?",
    "cd x && pytest; printf 'status %s\\n' $?",
]
NOT_PRINTED = [
    "pytest | tail -5; echo $?",
    "pytest; ls; echo $?",
    "pytest; echo $x 0",
    "pytest; true; echo rc=$?",
    "pytest a; echo $?; pytest b; echo $?",
]


@pytest.mark.parametrize("command", PRINTED)
def test_a_printed_status_is_evidence_where_it_is_the_runners_own(command: str) -> None:
    for said in ("0", "EXIT: 0", "some text\nrc=0"):
        assert outcome_of(suite(command), 0, said) is PASSED
        assert outcome_of(suite(command), None, said) is PASSED
    assert outcome_of(suite(command), 0, "EXIT: 1") is FAILED
    assert outcome_of(suite(command), 0, "1") is FAILED
    assert outcome_of(suite(command), 0, "5") is DID_NOT_RUN
    assert outcome_of(suite(command), 0, "127") is DID_NOT_RUN
    assert outcome_of(suite(command), 0, "1 failed in 0.1s\nrc=0") is FAILED
    assert outcome_of(suite(command), 0, "no number") is UNKNOWN
    assert outcome_of(suite(command), 0, "collected 5 items") is UNKNOWN
    assert outcome_of(suite(command), 0, "tests/test_a.py:12") is UNKNOWN


@pytest.mark.parametrize("command", NOT_PRINTED)
def test_another_commands_status_proves_nothing(command: str) -> None:
    assert outcome_of(suite(command), 0, "0") is UNKNOWN
    assert outcome_of(suite(command), 0, "EXIT: 0") is UNKNOWN
