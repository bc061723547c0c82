"""Counters: the fold of an agent's event log.

`fold(log)` is all that a restart needs; the counters kept live are the same fold, one event at a
time. Rules of counting are DESIGN section 1's; the test-fix cycle is `facts/detection.md` 6.2's.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from functools import reduce
from typing import Final, assert_never

from app.core.events import (
    AgentEvent,
    Created,
    Finished,
    Kept,
    ModelCalled,
    Reported,
    SegmentEnded,
    SegmentStarted,
    Slept,
    SuiteAsked,
    Summarised,
    Ticked,
    ToolAsked,
    ToolDenied,
    ToolEnded,
    Trip,
    Tripped,
    TurnAsked,
    Waits,
    Warned,
    Woken,
)
from app.core.limits import LimitName, Limits
from app.core.testruns import Outcome, Suite, covers

_MILLISECOND: Final = timedelta(milliseconds=1)


@dataclass(frozen=True, slots=True)
class RunningSuite:
    """A test run that was asked for and has not ended."""

    call: str
    asked: SuiteAsked
    is_cycle: bool
    """Whether it was counted as a fix cycle, to be given back if it passes."""
    is_suspect: bool
    """Counted only because its own command line may have changed something."""


@dataclass(frozen=True, slots=True)
class Tests:
    """What is known of the tests: which selections are red, and on which content."""

    __test__ = False

    red: frozenset[Suite] = frozenset()
    """Selections whose last run did not pass, unless a run as wide has passed since."""
    red_fingerprint: str | None = None
    """The workspace of the last run that did not pass."""
    running: tuple[RunningSuite, ...] = ()


@dataclass(frozen=True, slots=True)
class Counters:
    """What an agent has used so far."""

    tool_calls: int = 0
    turns: int = 0
    fix_cycles: int = 0
    test_runs: int = 0
    model_calls: int = 0
    input_tokens: int = 0
    output_tokens: int = 0
    active: timedelta = timedelta()
    """Active time up to `clock`, over all segments."""
    clock: datetime | None = None
    """The last instant seen while a segment is running; None while none runs."""
    asleep_since: datetime | None = None
    """Start of the present sleep for a blocker or an answer; None otherwise."""
    tests: Tests = field(default_factory=Tests)
    warned: frozenset[LimitName] = frozenset()
    trip: Trip | None = None


def fold(log: Iterable[AgentEvent], start: Counters | None = None) -> Counters:
    """Counters after all events of `log`, in order."""
    return reduce(after, log, start if start is not None else Counters())


def amounts(counters: Counters, limits: Limits, at: datetime) -> Mapping[LimitName, float]:
    """What each limit compares with its maximum, as of `at`. Durations are seconds."""
    iterations = (
        counters.fix_cycles if limits.iteration_mode == "fix_cycles" else counters.test_runs
    )
    asleep_since = counters.asleep_since if counters.asleep_since is not None else at
    return {
        LimitName.MAX_ITERATIONS: iterations,
        LimitName.MAX_TOOL_CALLS: counters.tool_calls,
        LimitName.MAX_TURNS: counters.turns,
        LimitName.MAX_ACTIVE_DURATION: seconds(active_until(counters, at)),
        LimitName.MAX_SLEEP_DURATION: seconds(at - asleep_since),
    }


def seconds(duration: timedelta) -> float:
    """A duration as limits compare it: to the millisecond, and never more than it was."""
    return max(duration // _MILLISECOND, 0) / 1000


def active_until(counters: Counters, at: datetime) -> timedelta:
    """Active time as of `at`, if the segment that is running still runs then."""
    if counters.clock is None:
        return counters.active
    return counters.active + max(at - counters.clock, timedelta())


def after(counters: Counters, event: AgentEvent) -> Counters:
    """Counters after one more event. Total: every event is accepted in every state."""
    counters = _passed_time(counters, event)
    match event:
        case SegmentStarted(at=at):
            return replace(counters, clock=at, asleep_since=None, tests=_cut_off(counters.tests))
        case SegmentEnded() | Finished():
            return replace(counters, clock=None)
        case TurnAsked():
            return replace(counters, turns=counters.turns + 1)
        case ModelCalled(input_tokens=input_tokens, output_tokens=output_tokens):
            return replace(
                counters,
                model_calls=counters.model_calls + 1,
                input_tokens=counters.input_tokens + input_tokens,
                output_tokens=counters.output_tokens + output_tokens,
            )
        case ToolAsked(call=call, suite=suite):
            counted = replace(counters, tool_calls=counters.tool_calls + 1)
            return counted if suite is None else _suite_asked(counted, call, suite)
        case ToolEnded():
            return _suite_ended(counters, event)
        case Warned(limit=limit):
            return replace(counters, warned=counters.warned | {limit})
        case Tripped(trip=trip):
            return counters if counters.trip is not None else replace(counters, trip=trip)
        case Slept(at=at, waits_for=waits_for):
            asleep_since = None if waits_for is Waits.REVIEW else at
            return replace(counters, clock=None, asleep_since=asleep_since)
        case Woken():
            return replace(counters, asleep_since=None)
        case Created() | ToolDenied() | Ticked() | Reported() | Summarised() | Kept():
            return counters
        case _:
            assert_never(event)


def _passed_time(counters: Counters, event: AgentEvent) -> Counters:
    """Time counts from event to event while a segment runs.

    A segment that starts again after a crash counts nothing for the time in which no process
    was running; a clock that was set back counts nothing either.
    """
    if counters.clock is None or isinstance(event, SegmentStarted):
        return counters
    return replace(
        counters,
        active=active_until(counters, event.at),
        clock=max(counters.clock, event.at),
    )


def _suite_asked(counters: Counters, call: str, asked: SuiteAsked) -> Counters:
    tests = counters.tests
    was_changed = asked.fingerprint != tests.red_fingerprint
    is_cycle = bool(tests.red) and (was_changed or asked.may_change)
    run = RunningSuite(call, asked, is_cycle, is_suspect=is_cycle and not was_changed)
    return replace(
        counters,
        test_runs=counters.test_runs + 1,
        fix_cycles=counters.fix_cycles + is_cycle,
        tests=replace(tests, running=(*tests.running, run)),
    )


def _suite_ended(counters: Counters, ended: ToolEnded) -> Counters:
    tests = counters.tests
    run = next((run for run in tests.running if run.call == ended.call), None)
    if run is None:
        return counters
    suite = run.asked.suite
    others = tuple(other for other in tests.running if other is not run)
    if ended.outcome is Outcome.PASSED:
        still_red = frozenset(red for red in tests.red if not covers(suite, red))
        return replace(
            counters,
            fix_cycles=counters.fix_cycles - run.is_cycle,
            tests=Tests(still_red, tests.red_fingerprint if still_red else None, others),
        )
    fingerprint = ended.fingerprint if ended.fingerprint is not None else run.asked.fingerprint
    changed_nothing = run.is_suspect and fingerprint == run.asked.fingerprint
    return replace(
        counters,
        fix_cycles=counters.fix_cycles - changed_nothing,
        tests=Tests(tests.red | {suite}, fingerprint, others),
    )


def _cut_off(tests: Tests) -> Tests:
    """A test run whose process died has not passed."""
    if not tests.running:
        return tests
    asked = [run.asked for run in tests.running]
    return Tests(tests.red | {one.suite for one in asked}, asked[-1].fingerprint, ())
