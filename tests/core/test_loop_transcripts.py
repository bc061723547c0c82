"""Loops in recorded runs: stories that a person would call a loop, and such that are work.

Each story is a transcript, replayed against the documented defaults: three equal errors, five
rounds. The eight labelled runs are real ones, and what a human wrote beside each call decides.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from app.adapters.pricing import price_of
from app.adapters.shell import parse
from app.adapters.transcripts import load, read
from app.core.history.onward import Mark
from app.core.history.replay import Rules, replay
from app.core.history.transcript import Transcript
from app.core.limits import LimitName, Limits
from app.testruns import SuiteRules
from tests.support.transcripts import DATA, LABELS, answered, asked, json_lines

ERRORS, CALLS = LimitName.MAX_REPEATED_ERRORS, LimitName.MAX_REPEATED_CALLS
LABELLED = [each for each in LABELS if "labels" in each]
RULES = Rules(
    limits=Limits(),
    suites=SuiteRules(),
    parse=parse,
    price_of=partial(price_of, overrides={}),
)
Event = dict[str, Any]


def stops(transcript: Transcript) -> list[Mark]:
    """Where the two limits on loops would have stopped a run."""
    return [mark for mark in replay(transcript, RULES).stops if mark.limit in (ERRORS, CALLS)]


def told(*calls: Iterable[Event]) -> list[Mark]:
    return stops(read(json_lines(*(event for call in calls for event in call))))


def shell(command: str, output: str, *, failed: bool = False) -> list[Event]:
    return [asked(command), answered(output, ok=not failed, exit_code=int(failed))]


def edit(text: str, output: str = "done", *, failed: bool = False) -> list[Event]:
    args = {"path": "a.py", "text": text}
    call = asked(tool="edit", kind="write", args=args)
    return [call, answered(output, ok=not failed, exit_code=None)]


def look(path: str, output: str, *, failed: bool = False) -> list[Event]:
    call = asked(tool="view", kind="read", args={"path": path})
    return [call, answered(output, ok=not failed, exit_code=None)]


def book(day: int, output: str, *, failed: bool = False) -> list[Event]:
    """A tool that is no shell, and neither looks at files nor changes them."""
    call = asked(tool="calendar", kind="other", args={"day": day})
    return [call, answered(output, ok=not failed, exit_code=None)]


def is_stop(found: list[Mark], limit: LimitName, observed: int, tool_call: int) -> bool:
    return [(each.limit, each.observed, each.tool_call) for each in found] == [
        (limit, observed, tool_call)
    ]


# --- exact -----------------------------------------------------------------------------------


def test_the_fourth_command_after_three_equal_errors_is_stopped() -> None:
    build = shell("./build", "error: no compiler", failed=True)
    assert told(*[build] * 3) == []
    assert is_stop(told(*[build] * 4), ERRORS, 3, 3)


def test_a_wall_is_the_same_wall_for_every_command() -> None:
    words = "Cannot connect to the daemon."
    calls = [shell(f"docker {verb}", words, failed=True) for verb in ("ps", "images", "info")]
    assert told(*calls) == []
    assert is_stop(told(*calls, shell("docker run x", words, failed=True)), ERRORS, 3, 3)


def test_a_service_that_is_down_is_down_for_every_question() -> None:
    calls = [book(day, "503 Service Unavailable", failed=True) for day in range(1, 4)]
    assert told(*calls) == []
    assert is_stop(told(*calls, book(4, "booked")), ERRORS, 3, 3)


def test_the_fourth_time_of_the_same_refused_edit_is_stopped() -> None:
    refused = edit("x = 1", "old text not found", failed=True)
    assert told(*[refused] * 3) == []
    assert is_stop(told(*[refused] * 4), ERRORS, 3, 3)


def test_the_sixth_equal_call_is_stopped() -> None:
    same = look("a.py", "x = 1")
    assert told(*[same] * 5) == []
    assert is_stop(told(*[same] * 6), CALLS, 5, 5)


def test_the_sixth_round_of_a_cycle_is_stopped_at_its_first_call() -> None:
    round_ = [*look("a.py", "x = 1"), *shell("grep x b.py", "x")]
    assert told(*[round_] * 5) == []
    assert is_stop(told(*[round_] * 6), CALLS, 5, 10)


def test_a_failing_test_without_an_edit_is_stopped_after_five() -> None:
    red = shell("pytest -q", "1 failed, 3 passed in 0.51s", failed=True)
    assert told(*[red] * 5) == []
    assert is_stop(told(*[red] * 6), CALLS, 5, 5)


# --- equal all the same ----------------------------------------------------------------------

SAME_BUT_FOR_THE_TIME = [
    "2026-03-01 09:00:0{n},120 ERROR no space left",
    "[09:1{n}:01] no space left",
    "Sun Mar  {n} 09:00:01 UTC 2026: no space left",
    "01/Mar/2026:09:00:0{n} +0000 no space left",
    "176000000{n} no space left",
    "2026030{n}T090000Z no space left",
    "2026/03/0{n} 09:00:01 no space left",
    "no space left for pid 41{n} after 0.{n}s in /tmp/build-{n}/x at 0x7f{n}",
]


@pytest.mark.parametrize("words", SAME_BUT_FOR_THE_TIME)
def test_times_and_processes_do_not_hide_a_loop(words: str) -> None:
    failing = [shell("make", words.format(n=n), failed=True) for n in range(1, 5)]
    assert is_stop(told(*failing), ERRORS, 3, 3)
    same = [shell("df", words.format(n=n)) for n in range(1, 7)]
    assert is_stop(told(*same), CALLS, 5, 5)


def test_an_error_that_moves_on_is_another_error() -> None:
    calls = [shell("make", f"a.c:{n}:{n + 10}: error: bad", failed=True) for n in range(1, 20)]
    assert told(*calls) == []


# --- work ------------------------------------------------------------------------------------


def test_red_green_test_driven_work_goes_on() -> None:
    run = "pytest -q"
    story = [
        [
            *edit(f"test {n}"),
            *shell(run, "1 failed in 0.1s", failed=True),
            *edit(f"code {n}"),
            *shell(run, "ok: 1 passed in 0.1s"),
        ]
        for n in range(12)
    ]
    assert told(*story) == []


def test_an_edit_between_equal_errors_is_another_try() -> None:
    story = [
        [*edit(f"try {n}"), *shell("python a.py", "ValueError: bad", failed=True)]
        for n in range(12)
    ]
    assert told(*story) == []


def test_writing_the_same_again_is_no_other_try() -> None:
    """The first edit is news, the next ones are a part of the circle."""
    round_ = [*edit("x = 1"), *shell("python a.py", "ValueError: bad", failed=True)]
    assert is_stop(told(*[round_] * 5), ERRORS, 3, 7)


def test_asking_otherwise_is_another_try() -> None:
    """Of a tool that searches or edits, each question is one of its own."""
    failed = "too many matches"
    assert told(*[look(f"name {n}", failed, failed=True) for n in range(12)]) == []
    assert told(*[edit(f"x = {n}", "not found", failed=True) for n in range(12)]) == []


def test_three_equal_failures_may_be_followed_by_something_else() -> None:
    refused = edit("x = 1", "not found", failed=True)
    assert told(*[refused] * 3, edit("x = 2"), *[refused] * 3, look("a.py", "y = 1")) == []


@pytest.mark.parametrize(
    "command", ["sleep 30; cat progress", "gh run watch 7", "curl -sf localhost:80/health; sleep 1"]
)
@pytest.mark.parametrize("failed", [False, True])
def test_waiting_goes_on_as_long_as_anything_changes(command: str, failed: bool) -> None:
    """To the letter: the seconds that a waiting command reports are news."""
    calls = [shell(command, f"pending since {n}s", failed=failed) for n in range(30)]
    assert told(*calls) == []


def test_waiting_for_what_does_not_move_is_stopped() -> None:
    assert is_stop(told(*[shell("sleep 30; cat progress", "12 %")] * 7), CALLS, 5, 5)


def test_a_search_that_finds_nothing_fails_without_a_word() -> None:
    calls = [shell(f"grep -r name{n} .", "", failed=True) for n in range(12)]
    assert told(*calls) == []


# --- labelled by a human ---------------------------------------------------------------------

CAUGHT = {"repairagent-Closure_141.jsonl": (ERRORS, 10), "repairagent-Math_28.jsonl": (ERRORS, 21)}
MISSED = {"repairagent-Lang_36.jsonl"}
"""Two edits in turn, three rounds long: five may happen."""


@pytest.mark.parametrize("label", LABELLED, ids=lambda label: Path(label["file"]).stem)
def test_labelled_runs_are_stopped_only_if_they_loop(label: dict[str, Any]) -> None:
    found = stops(load(DATA / label["file"]))
    name = Path(label["file"]).name
    assert bool(found) == (label["loop"] and name not in MISSED)
    if found:
        assert (found[0].limit, found[0].tool_call) == CAUGHT[name]


def test_all_loops_are_named() -> None:
    loops = {Path(label["file"]).name for label in LABELLED if label["loop"]}
    assert loops == CAUGHT.keys() | MISSED


def test_a_healthy_agent_may_get_an_edit_wrong_three_times() -> None:
    """Three refused edits that are not the same, then a good one: this run solved its task."""
    assert stops(load(DATA / "swe-agent" / "pydicom-1458-gpt4.traj")) == []
