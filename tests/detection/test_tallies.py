"""How many tests ran, and which files hold tests: compared with the default branch, never alone."""

import pytest

from app.testruns import Tally, is_test_file, tally


@pytest.mark.parametrize(
    ("output", "found"),
    [
        ("===== 3 passed, 1 skipped in 0.12s =====", Tally(3, 1)),
        ("===== 1 failed, 2 passed in 0.12s =====\nFAILED tests/test_a.py::test_b\n", Tally(3, 0)),
        ("no tests ran in 0.01s", Tally(0, 0)),
        ("Ran 5 tests in 0.001s\n\nOK (skipped=2)", Tally(3, 2)),
        ("Tests:       1 failed, 2 skipped, 7 passed, 10 total", Tally(8, 2)),
        (
            "      Tests  2 failed | 3 passed | 1 skipped (6)\n Test Files  1 failed (1)",
            Tally(5, 1),
        ),
        ("Tests run: 9, Failures: 1, Errors: 0, Skipped: 2", Tally(7, 2)),
        ("test result: ok. 4 passed; 0 failed; 1 ignored; 0 measured", Tally(4, 1)),
        ("  6 passing (12ms)\n  2 pending\n", Tally(6, 2)),
        ("TAP version 13\n1..3\nok 1 - a\nnot ok 2 - b\nok 3 - c # SKIP later\n", Tally(2, 1)),
        ("5 runs, 9 assertions, 0 failures, 0 errors, 2 skips", Tally(3, 2)),
        ("Passed!  - Failed:     0, Passed:     8, Skipped:     1, Total:     9", Tally(8, 1)),
        ("Tests: 6, Assertions: 9, Skipped: 2.", Tally(4, 2)),
        ("ℹ pass 3\nℹ fail 0\nℹ cancelled 0\nℹ skipped 1\n", Tally(3, 1)),
        ("# pass 3\n# fail 1\n", Tally(4, 0)),
    ],
)
def test_what_a_runner_prints_is_counted(output: str, found: Tally) -> None:
    assert tally(output) == found


@pytest.mark.parametrize("output", ["", "done", "all good: 3 files written", "0 problems found"])
def test_what_says_nothing_of_tests_counts_none(output: str) -> None:
    assert tally(output) is None


def test_of_two_commands_in_one_output_both_count() -> None:
    both = "== 3 passed in 0.1s ==\nTests:  1 skipped, 2 passed, 3 total\n"
    assert tally(both) == Tally(5, 1)


def test_what_two_rows_recognise_is_counted_alike_before_and_after() -> None:
    """RSpec and ShellSpec print the same line."""
    before, after = tally("10 examples, 0 failures"), tally("10 examples, 0 failures, 3 pending")
    assert before is not None and after is not None
    assert (before.ran - after.ran, after.skipped) == (3, 3)


HOLD_TESTS = [
    "test_app.py",
    "app/test_app.py",
    "app/app_test.py",
    "tests/app.py",
    "src/app.test.ts",
    "src/app.spec.jsx",
    "src/__tests__/app.js",
    "pkg/app_test.go",
    "spec/models/user_spec.rb",
    "src/test/java/AppTest.java",
    "src/AppIT.java",
    "src/TestApp.java",
    "Tests/AppTests/AppTests.swift",
    "e2e/login.cy.ts",
    "features/login.feature",
    "t/01-basic.t",
]
HOLD_NONE = [
    "app.py",
    "latest.py",
    "src/contest.go",
    "docs/test.md",
    "tests/data/answers.json",
    "tests/__init__.py",
    "tests/conftest.py",
    "src/Testimonial.tsx",
    "attest.py",
    "src/Split.java",
    "README.md",
]


@pytest.mark.parametrize("path", HOLD_TESTS)
def test_a_file_that_runners_find_holds_tests(path: str) -> None:
    assert is_test_file(path)


@pytest.mark.parametrize("path", HOLD_NONE)
def test_what_no_runner_finds_holds_none(path: str) -> None:
    assert not is_test_file(path)
