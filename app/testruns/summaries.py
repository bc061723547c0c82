"""What test runners print at their end.

Each row recognises the summary of one runner (or of a family that prints alike) and says how many
tests passed and failed. Sources: the runners' own output and documentation.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from enum import Enum
from typing import Final

from app.testruns.wordset import word_set


class Scope(Enum):
    LAST = "last"
    """The last match is the summary; earlier ones may be a test's own output."""
    ALL = "all"
    """One line a package, crate, file or module: they add up."""


@dataclass(frozen=True, slots=True)
class Summary:
    """One form of summary. Groups of `pattern`, all optional: `passed`, `failed`, `errors`,
    `total`, `skipped` are numbers; `bad` and `good` are words that say it without a number;
    `tally` is text such as `2 failed, 3 passed`; `none` says that no test ran."""

    runner: str
    pattern: re.Pattern[str]
    scope: Scope = Scope.LAST
    counts_tests: bool = True
    """Else it counts files of them, and another row their tests."""


@dataclass(frozen=True, slots=True)
class Count:
    """How many tests one runner says have passed and failed; neither: none was executed."""

    passed: int
    failed: int
    skipped: int = 0
    """Where it says so."""


def _last(runner: str, pattern: str) -> Summary:
    return Summary(runner, re.compile(pattern, re.MULTILINE))


def _all(runner: str, pattern: str) -> Summary:
    return Summary(runner, re.compile(pattern, re.MULTILINE), Scope.ALL)


SUMMARIES: Final[tuple[Summary, ...]] = (
    _last(
        "pytest",
        r"^(?:=+ )?(?P<tally>\d+ (?:failed|passed|skipped|errors?|xfailed|xpassed|"
        r"deselected|warnings?|rerun)\b[^\n]{0,200}?) in \d[\d.]*s",
    ),
    _last("pytest", r"^(?:=+ )?(?P<none>no tests (?:ran|collected)) in \d"),
    _last(
        "unittest",
        r"^Ran (?P<total>\d+) tests? in [\d.]+s\n\s*\n?(?:OK|FAILED)"
        r"(?: \((?P<tally>[^)\n]*)\))?",
    ),
    _last("unittest", r"^(?P<none>NO TESTS RAN)\b"),
    _last(
        "node",
        r"^(?:#|ℹ) pass (?P<passed>\d+)\n(?:#|ℹ) fail (?P<failed>\d+)"
        r"(?:\n(?:#|ℹ) cancelled \d+)?(?:\n(?:#|ℹ) skipped (?P<skipped>\d+))?",
    ),
    _last(
        "tape", r"^# tests +(?P<total>\d+)\n# pass +(?P<passed>\d+)(?:\n# fail +(?P<failed>\d+))?"
    ),
    _last("jest", r"^Tests: +(?P<tally>\d[^\n]*), \d+ total"),
    _last("jest", r"^Tests: +(?P<none>0 total)"),
    _last("vitest", r"^ *Tests +(?P<tally>\d+ (?:passed|failed|skipped|todo)[^\n]*?) ?\(\d+\)"),
    replace(_last("vitest", r"^ *Errors +(?P<failed>\d+) errors?$"), counts_tests=False),
    replace(_last("vitest", r"^ *Test Files +(?P<failed>\d+) failed"), counts_tests=False),
    _last("pest", r"^ *Tests: +(?P<tally>\d+ [^\n]*?)\(\d+ assertions\)"),
    _all(
        "mocha",
        r"^ +(?P<passed>\d+) passing\b(?: \([^\n]*\))?"
        r"(?:\n +(?P<skipped>\d+) pending)?",
    ),
    _all("mocha", r"^ +(?P<failed>\d+) failing$"),
    _last("playwright", r"^ {2}(?P<failed>\d+) (?:failed|interrupted)$"),
    _last("playwright", r"^ {2}(?P<passed>\d+) passed \([\d.]+m?s\)"),
    _last("ava", r"^ +(?P<passed>\d+) tests? passed$"),
    _last("ava", r"^ +(?P<failed>\d+) (?:tests? failed|uncaught exceptions?)$"),
    _last("jasmine", r"^(?P<total>\d+) specs?, (?P<failed>\d+) failures?"),
    _last("karma", r"Executed (?P<total>\d+) of \d+ (?:\((?P<failed>\d+) FAILED\))?"),
    _last("deno", r"^(?:ok|FAILED) \| (?P<passed>\d+) passed[^|\n]*\| (?P<failed>\d+) failed"),
    _last("bun", r"^ *(?P<passed>\d+) pass\n(?:[^\n]*\n)?? *(?P<failed>\d+) fail$"),
    _all(
        "cargo",
        r"^test result: (?:ok|FAILED)\. (?P<passed>\d+) passed; (?P<failed>\d+) failed"
        r"(?:; (?P<skipped>\d+) ignored)?",
    ),
    _last(
        "nextest",
        r"^ *Summary \[[^\]]*\] +\d+(?:/\d+)? tests? run: (?P<passed>\d+) passed[^\n]*?"
        r"(?:, (?P<failed>\d+) (?:failed|timed out))?(?:, |$)",
    ),
    _all(
        "go",
        r"^(?P<good>ok) +\t?\S+\s+(?:\(cached\)|[\d.]+s)(?! *\[no tests to run\])"
        r"(?!.*\[no tests to run\])",
    ),
    _all("go", r"^(?P<bad>--- FAIL: |FAIL\t\S+\t[\d.]+s|panic: )"),
    _last(
        "gotestsum",
        r"^DONE (?P<total>\d+) tests?(?:, \d+ skipped)?(?:, (?P<failed>\d+) failures?)?"
        r"(?:, (?P<errors>\d+) errors?)?",
    ),
    _last(
        "ginkgo",
        r"(?:SUCCESS|FAIL)! (?:-- |\S+ )?.*?(?P<passed>\d+) Passed \| (?P<failed>\d+) Failed",
    ),
    _last("ctest", r"^\d+% tests passed, (?P<failed>\d+) tests? failed out of (?P<total>\d+)"),
    _last("prove", r"^Result: (?:(?P<good>PASS)|(?P<bad>FAIL)|(?P<none>NOTESTS))$"),
    _last(
        "automake",
        r"^# PASS: +(?P<passed>\d+)\n(?:# (?:SKIP|XFAIL): +\d+\n)*"
        r"# FAIL: +(?P<failed>\d+)(?:\n# XPASS: +\d+)?(?:\n# ERROR: +(?P<errors>\d+))?",
    ),
    _last("meson", r"^Ok: +(?P<passed>\d+) *\n(?:Expected Fail: +\d+ *\n)?Fail: +(?P<failed>\d+)"),
    _all("gtest", r"^\[ {2}PASSED {2}\] (?P<passed>\d+) tests?"),
    _all("gtest", r"^\[ {2}FAILED {2}\] (?P<failed>\d+) tests?"),
    _last(
        "catch2", r"^test cases: +(?P<total>\d+) \|(?:[^\n|]*passed \|)? +(?P<failed>\d+) failed"
    ),
    _last("catch2", r"^(?P<good>All tests passed) \([1-9]"),
    _last(
        "doctest", r"^\[doctest\] test cases: +\d+ \| +(?P<passed>\d+) passed \| +(?P<failed>\d+) f"
    ),
    _last(
        "bazel",
        r"^Executed \d+ out of \d+ tests?:(?: (?P<passed>\d+) tests? pass(?:es)?)?"
        r"[^\n]*?(?:(?P<failed>\d+) fails? (?!to build)[^\n]*)?$",
    ),
    _last(
        "maven",
        r"Tests run: (?P<total>\d+), +Failures: (?P<failed>\d+)(?:, +Errors: (?P<errors>\d+))?"
        r"(?:, Skipped: (?P<skipped>\d+))?(?!.*(?:Time elapsed|in \S+$))",
    ),
    _last("junit", r"^OK \((?P<total>\d+) tests?\)$"),
    _last("junit", r"^\[ +(?P<passed>\d+) tests successful +\]$"),
    _last("junit", r"^\[ +(?P<failed>\d+) tests failed +\]$"),
    _last("gradle", r"^(?P<total>\d+) tests? completed, (?P<failed>\d+) failed"),
    _last(
        "sbt",
        r"(?:Passed|Failed|Error): Total (?P<total>\d+), Failed (?P<failed>\d+), "
        r"Errors (?P<errors>\d+)",
    ),
    _last("scalatest", r"Tests: succeeded (?P<passed>\d+), failed (?P<failed>\d+)"),
    _last(
        "clojure",
        r"^Ran (?P<total>\d+) tests? containing \d+ assertions?\.\n(?P<failed>\d+) "
        r"failures, (?P<errors>\d+) errors",
    ),
    _last(
        "kaocha",
        r"^(?P<total>\d+) tests, \d+ assertions(?:, (?P<errors>\d+) errors)?, "
        r"(?P<failed>\d+) failures\.$",
    ),
    _all(
        "dotnet",
        r"(?:Passed|Failed)! +- Failed: +(?P<failed>\d+), Passed: +(?P<passed>\d+)"
        r"(?:, Skipped: +(?P<skipped>\d+))?",
    ),
    _last(
        "dotnet", r"^Total tests: (?P<total>\d+)\s+(?:Passed: \d+\s+)?(?:Failed: (?P<failed>\d+))?"
    ),
    _last("dotnet", r"^Test summary: total: (?P<total>\d+), failed: (?P<failed>\d+)"),
    _last(
        "rspec",
        r"^(?P<total>\d+) examples?, (?P<failed>\d+) failures?"
        r"(?:, (?P<skipped>\d+) pending)?(?:, (?P<errors>\d+) errors? occurred)?",
    ),
    _last(
        "minitest",
        r"^(?P<total>\d+) (?:runs|tests), \d+ assertions, (?P<failed>\d+) failures, "
        r"(?P<errors>\d+) errors(?:, (?P<skipped>\d+) skips)?",
    ),
    _last("phpunit", r"^OK(?:, but[^(\n]*)? ?\((?P<total>\d+) tests?, "),
    _last(
        "phpunit",
        r"^Tests: (?P<total>\d+), Assertions: \d+(?:, Errors: (?P<errors>\d+))?"
        r"(?:, Failures: (?P<failed>\d+))?(?:[^\n]*?, Skipped: (?P<skipped>\d+))?",
    ),
    _last("phpunit", r"^(?P<none>No tests executed!)"),
    _all(
        "exunit",
        r"^(?:\d+ (?:doctests?|properties|property), )*(?P<total>\d+) tests?, "
        r"(?P<failed>\d+) failures?\b",
    ),
    _last("eunit", r"^ +(?P<good>All \d+ tests passed\.|Test passed\.)$"),
    _last("eunit", r"^ +Failed: (?P<failed>\d+)\. +Skipped: \d+\. +Passed: (?P<passed>\d+)\."),
    _last(
        "xctest",
        r"Executed (?P<total>\d+) tests?, with (?:\d+ tests? skipped and )?"
        r"(?P<failed>\d+) failures?",
    ),
    _last(
        "swift-testing",
        r"Test run with (?P<total>\d+) tests?[^\n]* (?:passed|failed after "
        r"[^\n]*with (?P<failed>\d+) issues?)",
    ),
    _last("xcodebuild", r"^\*\* TEST (?:(?P<good>SUCCEEDED)|(?P<bad>FAILED)) \*\*"),
    _last("dart", r"(?P<good>All tests passed!)|(?P<bad>Some tests failed\.)"),
    _last(
        "busted",
        r"^(?P<passed>\d+) success(?:es)? / (?P<failed>\d+) failures? / "
        r"(?P<errors>\d+) errors?",
    ),
    _last("julia", r"^ *Testing \S+ (?P<good>tests passed)"),
    _last(
        "julia",
        r"Some tests did not pass: (?P<passed>\d+) passed, (?P<failed>\d+) failed, "
        r"(?P<errors>\d+) errored",
    ),
    _last(
        "testthat", r"\[ FAIL (?P<failed>\d+) \| WARN \d+ \| SKIP \d+ \| PASS (?P<passed>\d+) \]"
    ),
    _last("R", r"^Status: (?:(?P<good>OK)|[^\n]*(?P<bad>\d+ ERRORs?))"),
    _last("tasty", r"^All (?P<passed>\d+) tests passed"),
    _last("tasty", r"^(?P<failed>\d+) out of \d+ tests failed"),
    _last(
        "cabal", r"^(?P<passed>\d+) of (?P<total>\d+) test suites \(\d+ of \d+ test cases\) passed"
    ),
    _last("behave", r"^(?P<passed>\d+) scenarios? passed, (?P<failed>\d+) failed"),
    _last("cucumber", r"^\d+ scenarios? \((?P<tally>[^)\n]+)\)"),
    _last("robot", r"^(?P<total>\d+) tests?, (?P<passed>\d+) passed, (?P<failed>\d+) failed"),
    _last(
        "zig",
        r"^(?:All )?(?P<passed>\d+) (?:tests )?passed(?:[.;] |\.)"
        r"(?:\d+ skipped; (?P<failed>\d+) failed)?",
    ),
    _last("alcotest", r"^(?P<good>Test Successful) in |^(?P<failed>\d+) failures?! in "),
    _last("forge", r"\b(?P<passed>\d+) tests? passed, (?P<failed>\d+) failed, \d+ skipped"),
    _last("gleam", r"^(?P<passed>\d+) passed, (?:no|(?P<failed>\d+)) failures?"),
    _last("shellspec", r"^(?P<total>\d+) examples?, (?P<failed>\d+) failures?"),
    _last("tox", r"^ {2}(?:(?P<good>congratulations :\))|(?P<bad>evaluation failed :\())"),
)

_TAP: Final = re.compile(r"^ *(?P<not>not )?ok \d+\b(?!.*# *(?:TODO|SKIP|skip|todo))", re.MULTILINE)
_TAP_SKIPPED: Final = re.compile(r"^ *ok \d+\b.*# *(?:SKIP|skip)", re.MULTILINE)
_TAP_PLAN: Final = re.compile(r"^(?:TAP version \d+|1\.\.\d+)", re.MULTILINE)
_FAILED_ID: Final = re.compile(r"^(?:FAILED|ERROR) \S+\.py(?:::\S+)?", re.MULTILINE)
_PAIR: Final = re.compile(r"(\d+) +([a-z]+)|(?<!expected )\b((?:unexpected )?[A-Za-z]+)=(\d+)")
"""`2 failed`, `failures=2`; unittest's `expected failures=2` are none."""
_GOOD: Final = frozenset(
    {"passed", "pass", "passes", "passing", "xfailed", "xpassed", "ok", "success"}
)
_SKIPPED: Final = frozenset({"skipped", "pending", "todo", "ignored", "disabled"})
_BAD: Final = word_set(
    """failed fail fails failure failures error errors failing errored undefined broken"""
) | {"unexpected successes"}


def counts(text: str) -> Iterator[Count]:
    """What each summary in `text` (no colours) says, and each test that is named as failed."""
    yield from summed_up(text)
    failed_ids = _FAILED_ID.findall(text)
    if failed_ids:
        yield Count(0, len(failed_ids))


def summed_up(text: str, *, only_tests: bool = False) -> Iterator[Count]:
    """What each summary says; `only_tests`: of those that count tests."""
    for summary in SUMMARIES:
        matches = list(summary.pattern.finditer(text))
        if not matches or (only_tests and not summary.counts_tests):
            continue
        chosen = matches if summary.scope is Scope.ALL else matches[-1:]
        read = [_count(match) for match in chosen]
        yield Count(
            sum(each.passed for each in read),
            sum(each.failed for each in read),
            sum(each.skipped for each in read),
        )
    if _TAP_PLAN.search(text):
        lines = [match["not"] is not None for match in _TAP.finditer(text)]
        yield Count(lines.count(False), lines.count(True), len(_TAP_SKIPPED.findall(text)))


def _count(match: re.Match[str]) -> Count:
    groups = {name: value for name, value in match.groupdict().items() if value is not None}
    numbers = {name: int(groups[name]) for name in _NUMBERED if name in groups}
    failed = numbers.get("failed", 0) + numbers.get("errors", 0) + ("bad" in groups)
    passed = numbers.get("passed", 0) + ("good" in groups)
    skipped = numbers.get("skipped", 0)
    if "tally" in groups:
        for number, word, name, value in _PAIR.findall(groups["tally"]):
            passed += int(number) if word in _GOOD else 0
            failed += int(number or value) if word in _BAD or name in _BAD else 0
            skipped += int(number or value) if word in _SKIPPED or name in _SKIPPED else 0
    if "total" in numbers and "passed" not in numbers:
        passed = max(numbers["total"] - failed - skipped, 0)
    return Count(passed, failed, skipped)


_NUMBERED: Final = ("passed", "failed", "errors", "total", "skipped")
