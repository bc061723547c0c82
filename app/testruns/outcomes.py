"""Did the tests pass? Two witnesses: the exit status, where it is visible, and the output."""

from __future__ import annotations

import re
from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from app.testruns.signs import (
    failed_tasks,
    is_cut_between_summaries,
    marks_a_failure,
    names_a_failure,
    shows_a_start,
    shows_all_passed,
    shows_other_work_failed,
    shows_tests,
)
from app.testruns.suites import Suite
from app.testruns.summaries import counts, summed_up

MAX_OUTPUT_CHARACTERS: Final = 64 * 1024
"""Of the output's end: runners print their summary last."""
MAX_LINE_CHARACTERS: Final = 1_000
"""Of a line's beginning: no summary is longer, and no pattern is slow on less."""


class Outcome(StrEnum):
    PASSED = "passed"
    FAILED = "failed"
    DID_NOT_RUN = "did_not_run"
    """No test was executed: runner missing, usage or collection error, nothing selected."""
    UNKNOWN = "unknown"
    """No evidence. Not a pass."""


_COLOURS: Final = re.compile(r"\x1b(?:\[[0-?]*[ -/]*[@-~]|\][^\x07\x1b]*(?:\x07|\x1b\\)|[@-Z\\-_])")

_CANNOT_START: Final = frozenset({126, 127})
"""The shell's own: found but not executable, not found."""
_NOTHING_RAN: Final = {"pytest": frozenset({2, 3, 4, 5}), "unittest": frozenset({5})}
"""Exit statuses of runners. pytest: 2 interrupted (a collection error), 3 internal error, 4 usage
error, 5 nothing collected; unittest (from 3.12): 5 nothing found."""

_BROKE_EARLY: Final = re.compile(
    r"errors? during collection|^(?:_+ )?ERROR collecting |^ERROR \S+\.py(?: - |$)"
    r"|unittest\.loader\._FailedTest|^ *Tests +no tests$|^Tests: +0 total"
    r"|^0 examples, 0 failures, \d+ errors? occurred|\[(?:build|setup) failed\]"
    r"|could not find python interpreter|Failed to import test module"
    r"|● Test suite failed to run|Failed Suites \d",
    re.MULTILINE,
)
"""Files of tests that could not be loaded: where nothing else is said, no test was executed."""
_NO_TESTS: Final = re.compile(
    "|".join(
        (
            r"^collected 0 items",
            r"\bno tests? (?:files? |suites? |cases? |modules? |were )?"
            r"(?:found|collected|specified|to run|matching)",
            r"\bno test target named\b",
            r"^error: 0 test files matching",
            r"^(?:\[INFO\] )?Tests are skipped\.",
            r"\bNo test is available\b",
            r"\bThere (?:are|were) no tests to run",
            r"^No examples found\.",
            r"^1\.\.0\b",
            r"^(?P<tasks>\d+) actionable tasks?: (?P=tasks) up-to-date",
        )
    ),
    re.MULTILINE | re.IGNORECASE,
)
_NO_TESTS_IN_A_PART: Final = re.compile(
    r"\[no test(?:s to run| files)\]"
    r"|^> Task :\S*[tT]est\S* (?:UP-TO-DATE|NO-SOURCE|SKIPPED|FROM-CACHE)",
    re.MULTILINE,
)
"""Of a package or a project; others may have some."""
_TASK_RAN: Final = re.compile(r"^> Task :(?:[\w-]+:)*(?:\w*Test|test)$", re.MULTILINE)
_CANNOT_RUN: Final = re.compile(
    r"""(?:[Cc]ommand\ not\ found|:\ not\ found$|[Nn]o\ such\ file\ or\ directory|No\ module\ named
    |ModuleNotFoundError|Permission\ denied|cannot\ execute|[Uu]nknown\ command
    |JAVA_HOME\ (?:is\ not|environment\ variable\ is\ not)|Unable\ to\ locate\ a\ Java
    |No\ compiler\ is\ provided|[Mm]issing\ script:|Couldn't\ find\ a\ script
    |Command\ ".*"\ not\ found
    |Could\ not\ read\ package\.json|No\ rule\ to\ make\ target|could\ not\ find\ `Cargo\.toml`
    |no\ such\ (?:sub)?command|cannot\ find\ main\ module|Cannot\ find\ module
    |Could\ not\ (?:resolve\ dependencies|find\ or\ load\ main\ class|find\ (?:gem|task))
    |Cannot\ connect\ to\ the\ Docker\ daemon|No\ such\ (?:container|service)|service\ ".*"\ is\ not
    |could\ not\ compile|COMPILATION\ ERROR|Compilation\ fail(?:ed|ure)|maven-compiler-plugin
    |\[build\ failed\]|\[setup\ failed\]|unrecognized\ arguments
    |Unknown\ lifecycle\ phase|there\ is\ no\ POM|Non-resolvable|^Task\ '.*'\ not\ found
    |A\ problem\ occurred\ (?:configuring|evaluating)|Unsupported\ class\ file\ major\ version
    |Could\ not\ determine\ java\ version|does\ not\ contain\ a\ Gradle\ build
    |file\ or\ directory\ not\ found|^ERROR:\ not\ found|^usage:\ |Executable\ doesn't\ exist
    |is\ not\ recognized\ as\ an\ internal|No\ Rakefile\ found|Could\ not\ open\ input\ file
    |LoadError|error\ (?:TS|CS|FS|BC|MSB|NETSDK)\d+:|^error\[E\d+\]:|^error:\ fatalError
    |^\S{1,200}:\d+:\d+:\ (?:fatal\ )?error:|^\S{1,200}\.java:\d+:\ error:|SyntaxError
    |ImportError\ while\ loading\ conftest|^mocha\ \[spec
    |could\ not\ determine\ executable|^●\ (?:Unrecognized\ CLI|Validation\ Error)
    |^Could\ not\ find\ '.*'$|did\ not\ match\ any\ packages|unexpected\ argument\ '.*'\ found
    |^error:\ (?:failed\ to\ (?:get|load|parse|select|download|read)|no\ such\ module|toolchain)
    |No\ \.NET\ SDKs\ were\ found|^\*\*\ \(Mix\)\ |^error:\ TS\d+\ \[ERROR\]
    |no\ makefile\ found|Migrations\ are\ pending|binary\ is\ missing|ERR_PNPM_NO_|^Usage\ Error:
    |Cannot\ find\ package\ '|ERR_MODULE_NOT_FOUND|[Uu]nknown\ (?:option|argument)|bad\ option:
    |[Nn]o\ such\ (?:option|service)|flag\ provided\ but\ not\ defined|no\ Go\ files\ in
    |is\ not\ in\ (?:GOROOT|std)|^go:\ (?:errors\ parsing|go\.mod\ requires|.*:\ no\ matching)
    |^Cannot\ open\ file\ "|^Test\ file\ ".*"\ not\ found|^xcodebuild:\ error:|^xcrun:\ error:
    |version\ solving\ failed|No\ pubspec\.yaml|^error:\ Module\ not\ found
    |Error\ response\ from\ daemon|^ERROR:.*no\ such\ (?:target|package)|cannot\ load\ such\ file
    |could\ not\ be\ found\ within\ PATH|No\ solution\ found\ when\ resolving
    |environments\ not\ found|is\ not\ defined\ by\ project|ImportError:\ cannot\ import\ name
    |^Internal\ Error:\ |Build\ (?:did\ NOT\ complete|FAILED|failed\ with)
    |FAILED\ TO\ BUILD|==\ Compilation\ error)""",
    re.MULTILINE | re.VERBOSE,
)
_PRINTED_STATUS: Final = re.compile(
    r"^[^\w\n]{0,20}(?:\w{0,20}[ _])?(?:rc|ret|status|exit(?:[ _-]?(?:code|status|ed))?"
    r"|return[ _-]?code)(?: with)?\W{1,3}(\d{1,3})[^\w\n]{0,20}$",
    re.MULTILINE | re.IGNORECASE,
)
_LAST_NUMBER: Final = re.compile(r"^\W{0,10}(?:[A-Za-z_ -]{1,30}[:= ]{1,2})?(\d{1,3})\W{0,5}$")
"""A last line that prints a status in words of the line's own."""
_FAILING_BUILD: Final = re.compile(
    r"There (?:were|are) (?:failing tests|test failures)|Some tests failed"
    r"|^ *FAIL +\S+\.(?:test|spec|cy|e2e)\.\w+"
    r"|^FAIL(?:ED|URE)?\b(?!.*\[(?:build|setup) failed\])(?!: Build failed)",
    re.MULTILINE,
)
_SUCCEEDING_BUILD: Final = re.compile(
    r"BUILD SUCCESS(?:FUL)?\b|Build completed successfully|All specs passed!"
)
_KILLED: Final = 124
"""From here on an exit status says that something was stopped: by `timeout`, by a signal."""


def outcome_of(suite: Suite, exit_code: int | None, output: str) -> Outcome:
    """What became of a test run.

    `exit_code` is that of the whole command as the caller saw it, None if there is none (killed
    with its tool, not recorded). A visible failing status wins over what the text claims; where
    the witnesses disagree otherwise, the worse one is believed. A status that may be that of
    another command of the line proves no failure: where that command stands before the tests, the
    output has to show that they began. A line that takes both the status and the output away has
    FAILED: whoever throws the evidence away has not passed. UNKNOWN is left for what the runtime
    hides, and for what an output that it cut no longer shows.
    """
    text = _plain(output)
    said = _said(text, exit_code if suite.status_visible else None)
    if exit_code is None or not suite.status_visible:
        is_told = exit_code is not None
        return _without_status(suite, text, is_told) if said is Outcome.UNKNOWN else said
    if exit_code == 0:
        return Outcome.PASSED if said is Outcome.UNKNOWN else said
    if said is Outcome.FAILED:
        return said
    if said is Outcome.PASSED and suite.others_behind and 0 < exit_code < _KILLED:
        return said
    if exit_code in _CANNOT_START or exit_code in _NOTHING_RAN.get(suite.runner, ()):
        return Outcome.DID_NOT_RUN
    if said is Outcome.UNKNOWN and suite.others_before and not shows_a_start(text):
        is_shown = not suite.silent and shows_other_work_failed(text)
        return Outcome.DID_NOT_RUN if is_shown else Outcome.UNKNOWN
    return Outcome.DID_NOT_RUN if said is Outcome.DID_NOT_RUN else Outcome.FAILED


def _without_status(suite: Suite, text: str, is_told: bool) -> Outcome:
    """Of a run whose own status is not seen, and whose output says nothing plainly; `is_told`: the
    runtime told the status of the line, so that it is the line that hides it."""
    last_line = text.strip().rpartition("\n")[2]
    printed = _LAST_NUMBER.search(last_line) if suite.status_printed else None
    if printed is not None:
        return _meaning(suite, int(printed[1]))
    return Outcome.FAILED if is_told and suite.silent and not last_line else Outcome.UNKNOWN


def _meaning(suite: Suite, status: int) -> Outcome:
    """Of the runner's own status, where nothing else is known."""
    if status in _CANNOT_START or status in _NOTHING_RAN.get(suite.runner, ()):
        return Outcome.DID_NOT_RUN
    return Outcome.FAILED if status else Outcome.PASSED


@dataclass(frozen=True, slots=True)
class Tally:
    """How many tests ran, and how many were left out."""

    ran: int
    skipped: int


def tally(output: str) -> Tally | None:
    """What the runners in an output say of that, all together; None: none of them says anything.
    Only good for a comparison with another output of the same commands: one test may be counted
    twice, in both.
    """
    read = list(summed_up(_plain(output), only_tests=True))
    if not read:
        return None
    ran = sum(each.passed + each.failed for each in read)
    return Tally(ran, sum(each.skipped for each in read))


def _plain(output: str) -> str:
    text = _COLOURS.sub("", output[-MAX_OUTPUT_CHARACTERS:])
    lines = text.replace("\r", "\n").split("\n")
    return "\n".join(line[:MAX_LINE_CHARACTERS].rstrip() for line in lines)


def _said(text: str, status: int | None) -> Outcome:
    """What the output alone proves; `status` is the runner's own, where it is known, and only says
    which signs are to be taken for what they look like."""
    read = list(counts(text))
    passed = sum(count.passed for count in read)
    is_named = names_a_failure(text) or _FAILING_BUILD.search(text)
    is_marked = not passed and status != 0 and marks_a_failure(text)
    if is_named or is_marked or any(count.failed for count in read):
        broke_early = not passed and not shows_tests(text) and _BROKE_EARLY.search(text)
        return Outcome.DID_NOT_RUN if broke_early else Outcome.FAILED
    if passed and not is_cut_between_summaries(text):
        worse = "BUILD FAIL" in text or _printed_status(text)
        return Outcome.FAILED if worse else Outcome.PASSED
    if shows_all_passed(text):
        return Outcome.FAILED if _printed_status(text) else Outcome.PASSED
    if not passed and (read or _NO_TESTS.search(text) or (not status and _has_none(text))):
        return Outcome.DID_NOT_RUN
    tasks = list(failed_tasks(text))
    could_not = _CANNOT_RUN.search(text) or _BROKE_EARLY.search(text) or (tasks and not any(tasks))
    if could_not and not shows_tests(text):
        return Outcome.DID_NOT_RUN
    printed = _printed_status(text)
    if any(tasks) or printed:
        return Outcome.DID_NOT_RUN if printed in _CANNOT_START else Outcome.FAILED
    return Outcome.PASSED if _SUCCEEDING_BUILD.search(text) else Outcome.UNKNOWN


def _has_none(text: str) -> bool:
    """Whether parts of the project have no tests, and no other part is seen to have some."""
    return _NO_TESTS_IN_A_PART.search(text) is not None and not _TASK_RAN.search(text)


def _printed_status(text: str) -> int:
    """What `; echo "rc=$?"` printed last. A 0, also where none was printed, says nothing: it may be
    that of a filter."""
    statuses = _PRINTED_STATUS.findall(text)
    return int(statuses[-1]) if statuses else 0
