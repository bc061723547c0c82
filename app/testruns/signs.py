"""Single lines that show what became of tests where no summary does: an output may be cut.

A test that is named as failed proves a failure; one that passed only proves that tests ran.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

from app.testruns.names import names_tests

_NAMED_AS_FAILED: Final = (
    # pytest
    r"[^\s:]+\.py::\S.*? (?:FAILED|ERROR)(?: +\[ *\d+%\])?$",
    r"(?:\[gw\d+\] )?\[ *\d+%\] FAILED \S",
    r"\S+\.py (?=[.sxX]*[FE])[.sxXFE]+(?: +\[ *\d+%\])?$",
    r"(?=[.sxX]*[FE])[.sxXFE]+ +\[ *\d+%\]$",
    r"=+ FAILURES =+$",
    r"_{3,} (?:ERROR at (?:setup|teardown) of )?(?:\w+\.)*test\w*(?:\[.*\])? _{3,}$",
    r"\S+\.py:\d+: (?:AssertionError|Failed)$",
    # unittest, Rust, Deno, QUnit and their like: `name ... FAILED`
    r"(?:FAIL|ERROR): \w+ \((?!unittest\.loader)",
    r"\S.* \.\.\. (?:FAIL|ERROR|FAILED(?: \(.*\))?)$",
    r"(?:error: )?test failed, to rerun pass ",
    r"---- \S.* stdout ----$",
    r" +(?:FAIL|TIMEOUT) \[ +[\d.]+s\]",
    # Go
    r" *--- FAIL: ",
    # JavaScript
    r" *FAIL +\S+\.\w+ > ",
    r" *❯ [^(\n]*\(\d+ tests? \|[^)\n]*\b\d+ failed",
    r"\(fail\) \S",
    # JVM
    r".*<<< (?:FAILURE|ERROR)!",
    r"(?!> )\S[^>\n]* > .* FAILED$",
    r"FAILURES!!!$",
    # Ruby, PHP, Elixir
    r"rspec \./\S+:\d+",
    r"rspec '\./\S+\[[\d:]+\]'",
    r"(?:bin/)?rails test \S+:\d+$",
    r"There (?:was|were) \d+ (?:failures?|errors?):",
    r"(?:FAILURES|ERRORS)!$",
    r" +\d+\) (?:test|property|doctest) .+ \([\w.]+\)$",
    # .NET, Swift, C++, Bazel
    r" +Failed \S.* \[(?:< )?[\d.,]+ ?m?s\]",
    r"Test (?:Case|Suite) .* failed (?:\(|at )",
    r"\[ {2}FAILED {2}\] ",
    r"The following tests FAILED:",
    r".*\*\*\*(?:Failed|Exception|Timeout)\b",
    r"//\S+ +(?:\(cached\) )?(?:FAILED|TIMEOUT) in ",
    r"(?:FAIL|TIMEOUT): //",
    r".*Build completed, \d+ tests? FAILED",
    # a threshold that tests did not reach, after they ran
    r".*(?:coverage threshold for .* not met|Required test coverage of .* not reached)",
    r"ERROR: Coverage for .* does not meet",
)
_MARKED_AS_FAILED: Final = (
    r"E {3,}assert ",
    r" *[×✕✘✗✖⨯] +(?!\d+ (?:problems?|errors?|warnings?)\b)"
    r"(?!.*(?:lint|prettier|tsc\b)|No solution found|Failed to \w+ )\S",
    r" +● (?!Console|Test suite failed|Deprecation|Validation).* › ",
    r" *\+ expected - actual$",
    r" *not ok \d+\b(?!.*# *(?:TODO|SKIP|skip|todo))",
    r" {2,}Failure/Error: ",
    r" *(?:\d+\) )?(?:Failure|Error):$",
    r".*\[FAIL\]$",
    r"\S+: error: .* : XCTAssert",
    r" +\d+\) (?:\[[^\]]+\] › )?\S+\.(?:spec|test)\.\w+:\d+",
)
"""Signs that programs other than test runners print too, and runners of a first try of several."""
_RAN: Final = (
    r"[^\s:]+\.py(?:::\S.*?)? (?:PASSED|SKIPPED|XFAIL|XPASS|[.sxX]+)(?: +\[ *\d+%\])?$",
    r"[.sxX]+ +\[ *\d+%\]$",
    r"(?:\[gw\d+\] )?\[ *\d+%\] PASSED \S",
    r"\S.* \.\.\. ok(?: \(.*\))?$",
    r"running [1-9]\d* tests?$",
    r" *(?:=== RUN|--- PASS:) ",
    r" *[✓✔] +(?!.*(?:lint|prettier|tsc\b))\S",
    r" *PASS +\S+\.(?:test|spec|cy|e2e)\.\w+",
    r" *ok \d+\b",
    r"\(pass\) \S",
    r"(?:\[INFO\] )?Running \S*(?:Test|IT|Spec)\w*$",
    r"(?!> )\S[^>\n]* > .* PASSED$",
    r"Test Case .* (?:passed|started)",
    r"\[ +(?:RUN|OK) +\] ",
    r" +Passed \S.* \[(?:< )?[\d.,]+ ?m?s\]",
    r"//\S+ +(?:\(cached\) )?PASSED in ",
)
_STARTED: Final = (
    r"=+ test session starts =+",
    r"collected \d+ items?",
    r"> (?!.*\b(?:lint|build|format)\b).*\btests?\b",
    r"\$ .*\b(?:jest|vitest|mocha|ava|pytest|playwright|cypress)\b",
    r" +(?:Running (?:unittests|tests)|Doc-tests) ",
    r"running \d+ tests?$",
    r" *(?:RUN|DEV) +v\d",
    r"TAP version \d+",
    r".* T E S T S$",
    r"Test run for ",
    r"> Task :\S*[tT]est\b",
    r"(?:ok|FAIL|\?) +\t",
    r"Run options: ",
    r"Running \d+ tests? (?:using|in) ",
    r"PHPUnit \d",
)


def _any(patterns: tuple[str, ...]) -> re.Pattern[str]:
    return re.compile(rf"^(?:{'|'.join(patterns)})", re.MULTILINE)


_FAILED_TEST: Final = _any(_NAMED_AS_FAILED)
_MARKED_TEST: Final = _any(_MARKED_AS_FAILED)
_RAN_TEST: Final = _any(_RAN)
_STARTED_TESTS: Final = _any(_STARTED)
_VERBOSE: Final = re.compile(
    r"^[^\s:]+\.py::\S.*? (PASSED|SKIPPED|XFAIL|XPASS)(?: \([^)\n]*\))? +\[ *(\d+)%\]$",
    re.MULTILINE,
)
_ALL_GREEN: Final = re.compile(
    r"^(?:\S+\.py )?(?=[sxX]*\.)[.sxX]+ +\[100%\]\n+[=_-]{3,} (?:warnings summary|slowest|PASSES"
    r"|coverage|tests coverage|generated)",
    re.MULTILINE,
)
"""pytest names failures before anything else, right behind the dots."""
_TASK_FAILED: Final = re.compile(
    r"^g?make(?:\[\d+\])?: \*\*\* \[(?:[^\]\n]{0,200}: )?(?P<make>[\w./-]+)\] Error (?P<status>\d+)"
    r"|Lifecycle script `(?P<npm>[^`\n]{1,100})` failed"
    r"|Failed at the \S{1,100} (?P<old_npm>\S{1,100}) script"
    r"|error: Recipe `(?P<just>[^`\n]{1,100})` failed"
    r"|Failed to run task \"(?P<task>[^\"\n]{1,100})\""
    r"|^nox > Session (?P<nox>\S{1,100}) failed"
    r"|Execution failed for task '(?::[\w-]{1,100}){0,20}:(?P<gradle>[\w-]{1,100})'"
    r"|(?P<test>Test failed\. {1,2}See above)",
    re.MULTILINE,
)
_OTHER_WORK_FAILED: Final = re.compile(
    r"\b(?<!\b0 )(?:errors?|failed|failure|fatal|problems?|would reformat|would be reformatted|"
    r"not formatted|code style issues|offenses? detected)\b|^Diff in |\bERR! "
    r"|^\S{1,200}\.\w{1,10}:\d+(?::\d+)?:? |^In \S{1,200} line \d+:",
    re.MULTILINE | re.IGNORECASE,
)
_LAST_LINES: Final = 15


def names_a_failure(text: str) -> bool:
    """Whether a line says that one test, or one file of tests, failed."""
    return _FAILED_TEST.search(text) is not None


def marks_a_failure(text: str) -> bool:
    """Whether a line looks as if a test failed: no evidence against a summary or a status."""
    return _MARKED_TEST.search(text) is not None


def shows_tests(text: str) -> bool:
    """Whether a test was executed."""
    return any(signs.search(text) for signs in (_RAN_TEST, _FAILED_TEST, _MARKED_TEST))


def shows_a_start(text: str) -> bool:
    """Whether a test runner at least began."""
    return _STARTED_TESTS.search(text) is not None or shows_tests(text)


def shows_all_passed(text: str) -> bool:
    """Whether all tests are there to see and none failed, though the summary is not.

    pytest's verbose lines count in percent: `[ 50%]`, `[100%]` are two of two.
    """
    lines = _VERBOSE.findall(text)
    shares = [int(percent) for _, percent in lines]
    wanted = [(i + 1) * 100 // len(lines) for i in range(len(lines))]
    is_whole = shares == wanted and any(word == "PASSED" for word, _ in lines)
    return is_whole or _ALL_GREEN.search(text) is not None


def is_cut_between_summaries(text: str) -> bool:
    """Whether Cargo began further tests after its last summary: it prints one for each crate."""
    begun = list(_CRATE_BEGUN.finditer(text))
    return bool(begun) and "test result: " not in text[begun[-1].start() :]


_CRATE_BEGUN: Final = re.compile(
    r"^ +(?:Running (?:unittests|tests)|Doc-tests) |^running \d+ tests?$", re.MULTILINE
)


def failed_tasks(text: str) -> Iterator[bool]:
    """Of each task that a build tool or a task runner names as failed, whether it is one that
    runs tests and could start them."""
    for match in _TASK_FAILED.finditer(text):
        status = match["status"] or ""
        name = next(filter(None, (match[group] for group in _TASK_NAMES)), "")
        yield (match["test"] is not None or names_tests(name)) and status not in {"126", "127"}


_TASK_NAMES: Final = ("make", "npm", "old_npm", "just", "task", "nox", "gradle")


def shows_other_work_failed(text: str) -> bool:
    """Whether the last lines speak of an error, or nothing was printed at all."""
    last = "\n".join(text.strip().split("\n")[-_LAST_LINES:])
    return not last or _OTHER_WORK_FAILED.search(last) is not None
