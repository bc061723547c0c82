"""Outcomes: real pytest and unittest, and the other runners' summaries in the shape they print."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from app.testruns import Outcome, Suite, outcome_of

PASSED, FAILED = Outcome.PASSED, Outcome.FAILED
DID_NOT_RUN, UNKNOWN = Outcome.DID_NOT_RUN, Outcome.UNKNOWN
VISIBLE = Suite("pytest", (), status_visible=True)
HIDDEN = Suite("pytest", (), status_visible=False)
RUN_SECONDS = 60

GOOD = "import unittest\nclass T(unittest.TestCase):\n    def test_a(self):\n        pass\n"
BAD = GOOD.replace("pass", "self.fail('x')")
SKIPPED = GOOD.replace("pass", "self.skipTest('x')")
ERROR = GOOD.replace("pass", "raise ValueError('x')")


def run(place: Path, *arguments: str) -> tuple[int, str]:
    done = subprocess.run(
        [sys.executable, "-m", *arguments],
        cwd=place,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=RUN_SECONDS,
        check=False,
    )
    return done.returncode, done.stdout


@pytest.mark.parametrize(
    ("files", "arguments", "outcome"),
    [
        ({"test_a.py": GOOD}, ["pytest"], PASSED),
        ({"test_a.py": GOOD}, ["pytest", "-q", "--color=yes"], PASSED),
        ({"test_a.py": BAD}, ["pytest"], FAILED),
        ({"test_a.py": BAD}, ["pytest", "-qq"], FAILED),
        ({"test_a.py": GOOD, "test_b.py": BAD}, ["pytest", "-q"], FAILED),
        ({"test_a.py": ERROR}, ["pytest", "-x"], FAILED),
        ({"test_a.py": SKIPPED}, ["pytest"], DID_NOT_RUN),
        ({"test_a.py": GOOD}, ["pytest", "-k", "nothing"], DID_NOT_RUN),
        ({"test_a.py": "import nowhere"}, ["pytest"], DID_NOT_RUN),
        ({"test_a.py": GOOD}, ["pytest", "test_none.py"], DID_NOT_RUN),
        ({"test_a.py": GOOD}, ["pytest", "--no-such-option"], DID_NOT_RUN),
        ({}, ["pytest"], DID_NOT_RUN),
        ({"test_a.py": GOOD}, ["unittest"], PASSED),
        ({"test_a.py": GOOD}, ["unittest", "-v"], PASSED),
        ({"test_a.py": BAD}, ["unittest"], FAILED),
        ({"test_a.py": ERROR}, ["unittest"], FAILED),
        ({"test_a.py": SKIPPED}, ["unittest"], DID_NOT_RUN),
        ({"test_a.py": "import nowhere"}, ["unittest"], DID_NOT_RUN),
        ({}, ["unittest"], DID_NOT_RUN),
    ],
)
def test_real_runs(
    tmp_path: Path, files: dict[str, str], arguments: list[str], outcome: Outcome
) -> None:
    for name, text in files.items():
        (tmp_path / name).write_text(text)
    options = ["-p", "no:cacheprovider"] if arguments[0] == "pytest" else []
    status, output = run(tmp_path, arguments[0], *options, *arguments[1:])
    runner = arguments[0]
    assert outcome_of(Suite(runner, (), True), status, output) is outcome, output
    assert outcome_of(Suite(runner, (), False), 0, output) is outcome, output


@pytest.mark.parametrize(
    ("output", "outcome"),
    [
        ("==== 3 passed, 1 skipped in 0.12s ====", PASSED),
        ("==== 1 failed, 2 passed, 1 warning in 3.20s (0:00:03) ====", FAILED),
        ("2 errors in 0.5s", FAILED),
        ("!!!! Interrupted: 1 error during collection !!!!\n1 error in 0.2s", DID_NOT_RUN),
        ("no tests ran in 0.01s", DID_NOT_RUN),
        ("5 deselected in 0.01s", DID_NOT_RUN),
        ("Ran 3 tests in 0.001s\n\nOK", PASSED),
        ("Ran 3 tests in 0.001s\n\nOK (skipped=1)", PASSED),
        ("Ran 3 tests in 0.001s\n\nFAILED (failures=1, errors=1)", FAILED),
        ("Ran 0 tests in 0.000s\n\nOK", DID_NOT_RUN),
        ("# tests 3\n# suites 0\n# pass 3\n# fail 0\n# cancelled 0", PASSED),
        ("ℹ pass 2\nℹ fail 1", FAILED),
        ("Test Suites: 1 passed, 1 total\nTests:       2 passed, 2 total", PASSED),
        ("Tests:       1 failed, 2 passed, 3 total", FAILED),
        ("No tests found, exiting with code 1", DID_NOT_RUN),
        (" Test Files  1 passed (1)\n      Tests  4 passed (4)", PASSED),
        (" Test Files  1 failed | 1 passed (2)\n      Tests  1 failed | 3 passed (4)", FAILED),
        ("No test files found, exiting with code 1", DID_NOT_RUN),
        ("  5 passing (20ms)\n  1 pending", PASSED),
        ("  5 passing (20ms)\n  1 failing\n\n  1) x", FAILED),
        ("  3 passed (2.1s)", PASSED),
        ("  1 failed\n    a.spec.ts:3:1\n  2 passed (4.0s)", FAILED),
        ("ok | 4 passed | 0 failed (12ms)", PASSED),
        ("FAILED | 3 passed | 1 failed (12ms)", FAILED),
        (" 4 pass\n 0 fail\nRan 4 tests across 1 files.", PASSED),
        (" 3 pass\n 1 fail\nRan 4 tests across 1 files.", FAILED),
        ("test result: ok. 3 passed; 0 failed; 0 ignored", PASSED),
        (
            "test result: FAILED. 1 passed; 1 failed; 0 ignored\n\n"
            "test result: ok. 3 passed; 0 failed; 0 ignored",
            FAILED,
        ),
        ("test result: ok. 3 passed; 0 failed\ntest result: ok. 0 passed; 0 failed", PASSED),
        ("running 0 tests\ntest result: ok. 0 passed; 0 failed; 0 ignored", DID_NOT_RUN),
        ("error: could not compile `x` (lib test) due to 1 previous error", DID_NOT_RUN),
        ("     Summary [   0.010s] 3 tests run: 3 passed, 0 skipped", PASSED),
        ("     Summary [   0.010s] 3 tests run: 2 passed, 1 failed, 0 skipped", FAILED),
        ("ok  \texample.com/x\t0.003s", PASSED),
        ("ok  \texample.com/x\t(cached)", PASSED),
        ("--- FAIL: TestA (0.00s)\nFAIL\nFAIL\texample.com/x\t0.003s\nok  \ty\t0.1s", FAILED),
        ("?   \texample.com/x\t[no test files]", DID_NOT_RUN),
        ("ok  \texample.com/x\t0.003s [no tests to run]", DID_NOT_RUN),
        ("x.go:3:1: syntax error\nFAIL\texample.com/x [build failed]", DID_NOT_RUN),
        ("100% tests passed, 0 tests failed out of 3", PASSED),
        ("67% tests passed, 1 tests failed out of 3", FAILED),
        ("No tests were found!!!", DID_NOT_RUN),
        ("All tests successful.\nFiles=1, Tests=3\nResult: PASS", PASSED),
        ("Files=1, Tests=3\nResult: FAIL", FAILED),
        ("Result: NOTESTS", DID_NOT_RUN),
        ("TAP version 13\n1..2\nok 1 - a\nok 2 - b", PASSED),
        ("1..2\nok 1 - a\nnot ok 2 - b", FAILED),
        ("1..2\nok 1 - a\nnot ok 2 - b # TODO later", PASSED),
        ("1..0 # SKIP nothing", DID_NOT_RUN),
        ("[  PASSED  ] 3 tests.", PASSED),
        ("[  PASSED  ] 2 tests.\n[  FAILED  ] 1 test, listed below:", FAILED),
        ("Tests run: 3, Failures: 0, Errors: 0, Skipped: 0\nBUILD SUCCESS", PASSED),
        ("Tests run: 3, Failures: 1, Errors: 0, Skipped: 0\nBUILD FAILURE", FAILED),
        ("COMPILATION ERROR :\nBUILD FAILURE", DID_NOT_RUN),
        ("No tests to run.\nBUILD SUCCESS", DID_NOT_RUN),
        ("12 tests completed, 2 failed\nBUILD FAILED in 3s", FAILED),
        ("> Task :test\nBUILD SUCCESSFUL in 1s\n3 actionable tasks: 3 executed", PASSED),
        ("> Task :test UP-TO-DATE\nBUILD SUCCESSFUL in 1s", DID_NOT_RUN),
        ("BUILD SUCCESSFUL in 1s\n3 actionable tasks: 3 up-to-date", DID_NOT_RUN),
        ("[info] Passed: Total 4, Failed 0, Errors 0, Passed 4", PASSED),
        ("[error] Failed: Total 4, Failed 1, Errors 0, Passed 3", FAILED),
        ("Passed!  - Failed:     0, Passed:     4, Skipped:     0, Total:     4", PASSED),
        ("Failed!  - Failed:     1, Passed:     3, Skipped:     0, Total:     4", FAILED),
        ("3 examples, 0 failures", PASSED),
        ("3 examples, 1 failure, 1 pending", FAILED),
        ("0 examples, 0 failures, 1 error occurred outside of examples", DID_NOT_RUN),
        ("2 examples, 0 failures, 1 error occurred outside of examples", FAILED),
        ("0 examples, 0 failures", DID_NOT_RUN),
        ("OK (5 tests, 9 assertions)", PASSED),
        ("FAILURES!\nTests: 5, Assertions: 9, Failures: 1.", FAILED),
        ("No tests executed!", DID_NOT_RUN),
        ("4 doctests, 12 tests, 0 failures", PASSED),
        ("12 tests, 1 failure", FAILED),
        ("5 runs, 7 assertions, 0 failures, 0 errors, 0 skips", PASSED),
        ("5 runs, 7 assertions, 0 failures, 1 errors, 0 skips", FAILED),
        ("Executed 3 tests, with 0 failures (0 unexpected) in 0.1 seconds", PASSED),
        ("Executed 3 tests, with 1 failure (0 unexpected) in 0.1 seconds", FAILED),
        ("00:01 +3: All tests passed!", PASSED),
        ("00:01 +2 -1: Some tests failed.", FAILED),
        ("3 successes / 0 failures / 0 errors / 0 pending : 0.1 seconds", PASSED),
        ("2 successes / 1 failure / 0 errors / 0 pending : 0.1 seconds", FAILED),
        ("[ FAIL 0 | WARN 0 | SKIP 0 | PASS 7 ]", PASSED),
        ("[ FAIL 2 | WARN 0 | SKIP 0 | PASS 5 ]", FAILED),
        ("     Testing Foo tests passed", PASSED),
        ("ERROR: Some tests did not pass: 3 passed, 1 failed, 0 errored, 0 broken.", FAILED),
        ("Ran 2 tests containing 3 assertions.\n0 failures, 0 errors.", PASSED),
        ("Ran 2 tests containing 3 assertions.\n1 failures, 0 errors.", FAILED),
        ("5 scenarios (1 failed, 4 passed)", FAILED),
        ("5 scenarios (5 passed)", PASSED),
        ("2 tests, 2 passed, 0 failed", PASSED),
        ("bash: pytest: command not found", DID_NOT_RUN),
        ("/usr/bin/python3: No module named pytest", DID_NOT_RUN),
        ("The JAVA_HOME environment variable is not defined correctly", DID_NOT_RUN),
        ('npm error Missing script: "test"', DID_NOT_RUN),
        ("make: *** No rule to make target 'test'.  Stop.", DID_NOT_RUN),
        ("some lines that say nothing", UNKNOWN),
        ("", UNKNOWN),
        ("1 passed in 0.1s\n...\n1 failed in 0.2s", FAILED),
        ("a test prints: 1 failed in 0.2s\n\n=== 7 passed in 0.2s ===", PASSED),
        ("=== 7 passed in 0.2s ===\nrc=1", FAILED),
        ("nothing else\nexit code: 0", UNKNOWN),
        ("\x1b[31m=== \x1b[31m\x1b[1m1 failed\x1b[0m, \x1b[32m2 passed\x1b[0m in 0.1s", FAILED),
        ("3 passed in 1.0s\r\n", PASSED),
        ("10%\r100%\r3 passed in 1.0s\r", PASSED),
        ("3 passed in 1.0s   ", PASSED),
        ("    3 passed (2.0s)  ", UNKNOWN),
        ("ERROR collecting a.py\n1 error in 0.2s", DID_NOT_RUN),
        ("ERROR collecting a.py\n1 passed, 1 error in 0.2s", FAILED),
        ("1 passed, 1 xpassed, 1 xfailed in 0.2s", PASSED),
        ("1 xfailed in 0.2s", PASSED),
        ("2 skipped in 0.2s", DID_NOT_RUN),
        ("Ran 1 test in 0.1s\n\nFAILED (errors=2)", FAILED),
        ("Ran 2 tests in 0.1s\n\nOK (skipped=2)", DID_NOT_RUN),
        ("Ran 2 tests in 0.1s\n\nOK (expected failures=2)", PASSED),
        ("Ran 2 tests in 0.1s\n\nFAILED (unexpected successes=1)", FAILED),
        ("Ran 3 tests in 0.1s\n\nOK (skipped=1, expected failures=1)", PASSED),
        ("Tests run: 3, Failures: 0, Errors: 1, Skipped: 0", FAILED),
        ("Tests run: 3, Failures: 0, Errors: 0, Skipped: 3", DID_NOT_RUN),
        ("Tests run: 3, Failures: 0, Errors: 0, Skipped: 2", PASSED),
        ("Tests run: 3, Failures: 0, Errors: 0, Skipped: 0\nBUILD FAILURE", FAILED),
        ("There were failing tests", FAILED),
        ("rc=0\nrc=1", FAILED),
        ("rc=1\nrc=0", UNKNOWN),
        ("3 passed in 0.1s\nrc=0", PASSED),
        ("BUILD SUCCESSFUL in 2s", PASSED),
        ("test result: ok. 0 passed; 0 failed\ntest result: FAILED. 0 passed; 1 failed", FAILED),
        ("ok  \ta\t0.1s\nok  \tb\t0.1s [no tests to run]", PASSED),
        ("1..1\nok 1 - a # SKIP later", DID_NOT_RUN),
        ("ok 1 - a", UNKNOWN),
        ("  33 failing", FAILED),
        ("  2 passing (3ms)\n  1 pending\n  1 failing", FAILED),
        ("OK (11 tests)", PASSED),
        ("OK (1 test)", PASSED),
        ("FAILURES!!!\nTests run: 3,  Failures: 1", FAILED),
        ("Tests run: 3,  Failures: 0", PASSED),
        ("[         3 tests successful      ]\n[         0 tests failed          ]", PASSED),
        ("[         2 tests successful      ]\n[         1 tests failed          ]", FAILED),
        ("tests/x.py::test_a FAILED [100%]", FAILED),
        ("tests/x.py::test_a ERROR [ 50%]", FAILED),
        ("tests/x.py::test_a FAILED", FAILED),
        ("tests/x.py::test_a PASSED [100%]", PASSED),
        ("tests/x.py::test_a[1-2 3] PASSED [ 50%]\ntests/x.py::test_b XFAIL (no) [100%]", PASSED),
        ("tests/x.py::test_a SKIPPED (no) [100%]", UNKNOWN),
        ("tests/x.py::test_a PASSED [ 50%]", UNKNOWN),
        ("tests/x.py::test_b PASSED [ 66%]\ntests/x.py::test_c PASSED [100%]", UNKNOWN),
        ("tests/x.py::test_a PASSED [ 33%]\ntests/x.py::test_c PASSED [100%]", UNKNOWN),
        ("tests/x.py::test_a PASSED", UNKNOWN),
        ("tests/x.py::test_a PASSED [100%]\nrc=1", FAILED),
        ("tests/test_x.py ..F.. [ 41%]", FAILED),
        ("..E.. [100%]", FAILED),
        ("..... [ 41%]", UNKNOWN),
        ("..... [100%]", UNKNOWN),
        ("..x.. [100%]\n\n===== warnings summary =====", PASSED),
        ("sssss [100%]\n\n===== warnings summary =====", UNKNOWN),
        ("..... [ 99%]\n\n===== warnings summary =====", UNKNOWN),
        ("tests/test_x.py:9: AssertionError", FAILED),
        ("____ TestA.test_b[1] ____", FAILED),
        ("____ summary ____", UNKNOWN),
        ("_____ coverage: platform linux _____", UNKNOWN),
        ("ERROR tests/test_x.py - ImportError: no", DID_NOT_RUN),
        ("ERROR tests/test_x.py::test_a - ValueError: no", FAILED),
        ("ImportError while loading conftest '/srv/app/conftest.py'.", DID_NOT_RUN),
        ("mocha [spec..]\n\nRun tests with Mocha", DID_NOT_RUN),
        ("Internal Error: web@workspace:.: not in your lockfile", DID_NOT_RUN),
        ("✖ loads (1ms)\n  Error: Cannot find module './x'", FAILED),
        ("✔ loads (1ms)\nError: Cannot find module './x'", UNKNOWN),
        ("Error: Cannot find module './x'", DID_NOT_RUN),
        ("✖ 3 problems (3 errors, 0 warnings)", UNKNOWN),
        ("✖ eslint --fix:", UNKNOWN),
        ("✖ refuses\n  12 passing (3ms)", PASSED),
        ("not ok 1 - a", FAILED),
        ("not ok 1 - a # TODO later", UNKNOWN),
        ("test a::b ... FAILED", FAILED),
        ("test a::b ... ok", UNKNOWN),
        ("running 2 tests\ntest result: ok. 2 passed; 0 failed\nrunning 1 test", UNKNOWN),
        ("running 1 test\ntest result: ok. 1 passed; 0 failed", PASSED),
        ("x.go:3:1: no\nFAIL\texample.com/x [build failed]\nFAIL", DID_NOT_RUN),
        ("ok  \ty\t0.1s\nFAIL\texample.com/x [build failed]\nFAIL", FAILED),
        ("    --- FAIL: TestA/sub (0.00s)", FAILED),
        ("> Task :a:test NO-SOURCE\n> Task :b:test\nBUILD SUCCESSFUL in 1s", PASSED),
        ("> Task :a:test NO-SOURCE\n> Task :b:testClasses\nBUILD SUCCESSFUL in 1s", DID_NOT_RUN),
        ("FAILURE: Build failed with an exception.\nTask 'tst' not found in root", DID_NOT_RUN),
        ("Execution failed for task ':app:compileJava'.", DID_NOT_RUN),
        ("Execution failed for task ':app:test'.", FAILED),
        ("FooTest > bar() FAILED", FAILED),
        ("> Task :compileJava FAILED", UNKNOWN),
        ("FAIL src/a.test.js\n  ● Test suite failed to run\n\nTests:       0 total", DID_NOT_RUN),
        ("FAIL src/a.test.js\n  ✕ adds", FAILED),
        (" Test Files  1 failed (1)\n      Tests  no tests", DID_NOT_RUN),
        ("Tests  3 passed (3)\n     Errors  1 error", FAILED),
        ("Executed 0 out of 1 test: 1 test passes.", PASSED),
        ("Executed 2 out of 2 tests: 1 test passes and 1 fails locally.", FAILED),
        ("Executed 0 out of 1 test: 1 fails to build.", DID_NOT_RUN),
        ("make: *** [Makefile:5: lint] Error 1", DID_NOT_RUN),
        ("make: *** [Makefile:5: test] Error 1", FAILED),
        ("make[1]: *** [test] Error 2", FAILED),
        ("make: *** [Makefile:5: test] Error 127", DID_NOT_RUN),
        ("npm ERR! Test failed.  See above for more details.", FAILED),
        ("npm error Lifecycle script `lint` failed with error:", DID_NOT_RUN),
        ("npm error Lifecycle script `test` failed with error:", FAILED),
        ("nox > Session lint failed.", DID_NOT_RUN),
        ("rc=127", DID_NOT_RUN),
        ("EXIT CODE: 1", FAILED),
        ("pytest exit status: 1", FAILED),
        ('Jest: "global" coverage threshold for lines (80%) not met: 5%', FAILED),
        ("FAILED tests/a.py::t - assert", FAILED),
        ("FAILED tests/a.py::t - assert\n\nTAP version 13\nok 1", FAILED),
    ],
)
def test_what_a_summary_says(output: str, outcome: Outcome) -> None:
    assert outcome_of(HIDDEN, 0, output) is outcome
    assert outcome_of(HIDDEN, None, output) is outcome


@pytest.mark.parametrize(
    ("suite", "status", "output", "outcome"),
    [
        (VISIBLE, 0, "", PASSED),
        (VISIBLE, 0, "2 passed in 0.1s", PASSED),
        (VISIBLE, 0, "1 failed in 0.1s", FAILED),
        (VISIBLE, 0, "no tests ran in 0.1s", DID_NOT_RUN),
        (VISIBLE, 1, "", FAILED),
        (VISIBLE, 1, "2 passed in 0.1s", FAILED),
        (VISIBLE, 1, "sh: pytest: command not found", DID_NOT_RUN),
        (VISIBLE, 0, "✗ a line of the program under test", PASSED),
        (VISIBLE, 0, "✓ a\ncat: x: No such file or directory", PASSED),
        (VISIBLE, 0, "FAILED tests/a.py::t - assert", FAILED),
        (VISIBLE, 0, "?   \tx\t[no test files]", DID_NOT_RUN),
        (VISIBLE, 1, "?   \tx\t[no test files]", FAILED),
        (VISIBLE, 126, "", DID_NOT_RUN),
        (VISIBLE, 127, "1 failed in 0.1s", FAILED),
        (VISIBLE, 127, "1 passed in 0.1s", DID_NOT_RUN),
        (VISIBLE, 128, "", FAILED),
        (VISIBLE, 3, "", DID_NOT_RUN),
        (VISIBLE, 3, "1 passed in 0.1s", DID_NOT_RUN),
        (VISIBLE, 6, "", FAILED),
        (Suite("unittest", (), True), 5, "", DID_NOT_RUN),
        (Suite("unittest", (), True), 4, "", FAILED),
        (VISIBLE, 1, "no tests ran in 0.1s", DID_NOT_RUN),
        (VISIBLE, None, "1 failed in 0.1s", FAILED),
        (VISIBLE, 127, "", DID_NOT_RUN),
        (VISIBLE, 124, "2 passed in 0.1s", FAILED),
        (VISIBLE, 137, "", FAILED),
        (VISIBLE, -9, "", FAILED),
        (VISIBLE, 5, "", DID_NOT_RUN),
        (VISIBLE, 4, "", DID_NOT_RUN),
        (VISIBLE, 2, "", DID_NOT_RUN),
        (VISIBLE, 2, "1 failed, 1 passed in 0.2s\n!!! KeyboardInterrupt", FAILED),
        (Suite("make test", (), True), 2, "", FAILED),
        (VISIBLE, None, "", UNKNOWN),
        (HIDDEN, 0, "", UNKNOWN),
        (HIDDEN, 1, "", UNKNOWN),
        (HIDDEN, 127, "2 passed in 0.1s", PASSED),
    ],
)
def test_status_and_output_together(
    suite: Suite, status: int | None, output: str, outcome: Outcome
) -> None:
    assert outcome_of(suite, status, output) is outcome


PROPERTY = settings(deadline=None, derandomize=True, max_examples=200)


@PROPERTY
@given(st.text(), st.integers(min_value=1, max_value=255))
def test_a_visible_failing_status_is_never_a_pass(output: str, status: int) -> None:
    assert outcome_of(VISIBLE, status, output + "\n3 passed in 0.1s\n") is not PASSED


@PROPERTY
@given(st.text())
def test_a_hidden_status_alone_is_never_a_pass(output: str) -> None:
    said = outcome_of(HIDDEN, None, output)
    assert outcome_of(HIDDEN, 0, output) is said


def test_so_much_of_an_output_and_of_a_line_is_read_and_no_more() -> None:
    summary = "1 failed in 0.1s\n"
    rest = "x" * (64 * 1024 - len(summary))
    assert outcome_of(HIDDEN, 0, summary + rest) is FAILED
    assert outcome_of(HIDDEN, 0, summary + rest + "x") is UNKNOWN
    success = "BUILD SUCCESS"
    before = "." * (1000 - len(success))
    assert outcome_of(HIDDEN, 0, f"{before}{success} of a long line") is PASSED
    assert outcome_of(HIDDEN, 0, f".{before}{success}") is UNKNOWN


def test_only_the_end_of_a_long_output_is_read() -> None:
    filler = "x\n" * 100_000
    assert outcome_of(HIDDEN, 0, "1 failed in 0.1s\n" + filler) is UNKNOWN
    assert outcome_of(HIDDEN, 0, filler + "1 failed in 0.1s\n") is FAILED
