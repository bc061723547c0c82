"""Did the tests pass? Two witnesses: the exit status, where it is visible, and the output."""

from __future__ import annotations

import re
from dataclasses import dataclass
from enum import StrEnum
from typing import Final

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

_COLLECTION_ERROR: Final = re.compile(
    r"^(?:!+|=+) (?:Interrupted: )?\d+ errors? during collection|^ERROR collecting "
    r"|^(?:_+ )?ERROR collecting |errors? during collection|unittest\.loader\._FailedTest",
    re.MULTILINE,
)
_NO_TESTS: Final = re.compile(
    "|".join(
        (
            r"^collected 0 items",
            r"\bno tests? (?:files? |suites? |cases? |were )?(?:found|collected|specified|to run)",
            r"^Tests are skipped\.",
            r"\bNo test is available\b",
            r"\[no test(?:s to run| files)\]",
            r"\bThere (?:are|were) no tests to run",
            r"^No examples found\.",
            r"^1\.\.0\b",
            r"^(?P<tasks>\d+) actionable tasks?: (?P=tasks) up-to-date",
            r"^> Task :\S*test\S* (?:UP-TO-DATE|NO-SOURCE|SKIPPED|FROM-CACHE)",
        )
    ),
    re.MULTILINE | re.IGNORECASE,
)
_CANNOT_RUN: Final = re.compile(
    r"""(?:command\ not\ found|:\ not\ found$|[Nn]o\ such\ file\ or\ directory|No\ module\ named
    |ModuleNotFoundError|Permission\ denied|cannot\ execute|[Uu]nknown\ command
    |JAVA_HOME\ (?:is\ not|environment\ variable\ is\ not)|Unable\ to\ locate\ a\ Java
    |No\ compiler\ is\ provided|[Mm]issing\ script:|Couldn't\ find\ a\ script
    |Command\ ".*"\ not\ found
    |Could\ not\ read\ package\.json|No\ rule\ to\ make\ target|could\ not\ find\ `Cargo\.toml`
    |no\ such\ (?:sub)?command|cannot\ find\ main\ module|Cannot\ find\ module
    |Could\ not\ (?:resolve\ dependencies|find\ or\ load\ main\ class|find\ (?:gem|task))
    |Cannot\ connect\ to\ the\ Docker\ daemon|No\ such\ (?:container|service)|service\ ".*"\ is\ not
    |could\ not\ compile|COMPILATION\ ERROR|Compilation\ failed|[Bb]uild\ failed|BUILD\ FAILED
    |BUILD\ FAILURE|\[build\ failed\]|\[setup\ failed\]|unrecognized\ arguments
    |file\ or\ directory\ not\ found|^ERROR:\ not\ found|^usage:\ |Executable\ doesn't\ exist
    |is\ not\ recognized\ as\ an\ internal|No\ Rakefile\ found|Could\ not\ open\ input\ file
    |LoadError|error\ TS\d+:|SyntaxError)""",
    re.MULTILINE | re.VERBOSE,
)
_PRINTED_STATUS: Final = re.compile(
    r"^[^\w\n]{0,20}(?:rc|ret|status|exit(?:[ _-]?(?:code|status))?|return[ _-]?code)"
    r"\W{1,3}(\d{1,3})[^\w\n]{0,20}$",
    re.MULTILINE | re.IGNORECASE,
)
_FAILING_BUILD: Final = re.compile(
    r"There (?:were|are) (?:failing tests|test failures)|Some tests failed"
    r"|^FAIL(?:ED|URE)?\b(?!.*\[(?:build|setup) failed\])",
    re.MULTILINE,
)
_SUCCEEDING_BUILD: Final = re.compile(r"BUILD SUCCESS(?:FUL)?\b")


def outcome_of(suite: Suite, exit_code: int | None, output: str) -> Outcome:
    """What became of a test run.

    `exit_code` is that of the whole command as the caller saw it, None if there is none (killed
    with its tool, not recorded). A visible failing status wins over what the text claims; where
    the witnesses disagree otherwise, the worse one is believed.
    """
    said = _said(_plain(output))
    if exit_code is None or not suite.status_visible:
        return said
    if exit_code == 0:
        return Outcome.PASSED if said is Outcome.UNKNOWN else said
    if exit_code in _CANNOT_START:
        return Outcome.FAILED if said is Outcome.FAILED else Outcome.DID_NOT_RUN
    if exit_code in _NOTHING_RAN.get(suite.runner, ()) and said is not Outcome.FAILED:
        return Outcome.DID_NOT_RUN
    return Outcome.DID_NOT_RUN if said is Outcome.DID_NOT_RUN else Outcome.FAILED


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


def _said(text: str) -> Outcome:
    """What the output alone proves."""
    read = list(counts(text))
    passed = sum(count.passed for count in read)
    failed = sum(count.failed for count in read)
    if failed:
        broke_early = not passed and _COLLECTION_ERROR.search(text)
        return Outcome.DID_NOT_RUN if broke_early else Outcome.FAILED
    if _printed_failure(text) or _FAILING_BUILD.search(text):
        return Outcome.FAILED
    if passed:
        worse = "BUILD FAIL" in text
        return Outcome.FAILED if worse else Outcome.PASSED
    if read or _NO_TESTS.search(text) or _CANNOT_RUN.search(text):
        return Outcome.DID_NOT_RUN
    return Outcome.PASSED if _SUCCEEDING_BUILD.search(text) else Outcome.UNKNOWN


def _printed_failure(text: str) -> bool:
    """`; echo "rc=$?"` printed a status that is not 0. A 0 there may be that of a filter."""
    statuses = _PRINTED_STATUS.findall(text)
    return bool(statuses) and int(statuses[-1]) != 0
