"""A breaker that lets everything pass: each limit is told of, at the step at which it speaks."""

from datetime import timedelta

from app.core.agents.counters import Counters
from app.core.agents.events import ToolKind
from app.core.history.onward import Mark, Onward
from app.core.limits import Action, LimitName
from tests.core.recorded import Run, stop
from tests.core.strategies import START, only

ACTIVE = LimitName.MAX_ACTIVE_DURATION


def instants(marks: tuple[Mark, ...]) -> list[tuple[str, float]]:
    """Limits, and the seconds after the start at which they spoke."""
    return [(mark.limit, (mark.at - START).total_seconds()) for mark in marks]


def test_limits_that_are_reached_together_are_told_of_together() -> None:
    result = Run().times(5, "calls").under(only(max_tool_calls=3, max_consecutive_tools=3))
    assert [stop(mark) for mark in result.stops] == [
        ("max_tool_calls", 3, 3, 3),
        ("max_consecutive_tools", 3, 3, 3),
    ]


def without_pytest(times: int) -> Run:
    run = Run()
    for _ in range(times):
        run.edits().calls(
            "bash", ToolKind.SHELL, ok=False, code=127, output="pytest: command not found",
            command="pytest",
        )  # fmt: skip
    return run


def test_tests_that_cannot_run_hide_no_other_limit() -> None:
    run = without_pytest(4)
    limits = only(max_tool_calls=7, max_unrunnable_tests=3, default_action=Action.PAUSE)
    result = run.under(limits)
    assert [stop(mark) for mark in result.passed] == [("max_unrunnable_tests", 3, 3, 8)]
    assert [stop(mark) for mark in result.stops] == [("max_tool_calls", 7, 7, 7)]


def test_what_stops_again_is_told_once() -> None:
    unrunnable = LimitName.MAX_UNRUNNABLE_TESTS
    limits = only(max_unrunnable_tests=3, actions={unrunnable: Action.ESCALATE})
    result = without_pytest(9).under(limits)
    assert [stop(mark) for mark in result.stops] == [("max_unrunnable_tests", 3, 3, 7)]


def test_what_a_limit_said_is_marked_by_what_it_would_have_done() -> None:
    calls = LimitName.MAX_TOOL_CALLS
    watched = Run().times(9, "calls").under(only(max_tool_calls=5, shadow=frozenset({calls})))
    assert [mark.action for mark in watched.warnings] == ["warning"]
    assert [mark.action for mark in watched.passed] == ["shadow"]


def test_time_before_the_first_segment_is_nobodys() -> None:
    onward = Onward(only(max_active_duration=1))
    onward.pass_time(START)
    assert (onward.counters, onward.stops) == (Counters(), [])


def test_a_bound_on_time_speaks_in_the_middle_of_a_long_step() -> None:
    limits = only(max_active_duration=600, max_idle_duration=500)
    result = Run().calls(takes_seconds=100).calls(takes_seconds=1_000).under(limits)
    assert instants(result.warnings) == [
        ("max_active_duration", 480),
        ("max_idle_duration", 500),
    ]
    assert instants(result.stops) == [("max_active_duration", 600), ("max_idle_duration", 600)]


def test_both_bounds_on_time_speak_in_one_silence_each_at_its_own_instant() -> None:
    limits = only(max_active_duration=600, max_idle_duration=100)
    result = Run().calls(takes_seconds=1_000).under(limits)
    assert instants(result.warnings) == [("max_idle_duration", 80), ("max_active_duration", 480)]
    assert instants(result.stops) == [("max_idle_duration", 100), ("max_active_duration", 600)]


def test_a_step_just_before_a_warning_does_not_move_it() -> None:
    run = Run().calls(takes_seconds=479.5).calls(takes_seconds=300)
    result = run.under(only(max_active_duration=600))
    assert instants(result.warnings) == [("max_active_duration", 480)]


def test_a_bound_on_time_that_only_warns_stops_at_its_ceiling() -> None:
    limits = only(max_active_duration=10, default_action=Action.WARN, ceilings={ACTIVE: 20})
    result = Run().calls(takes_seconds=30).under(limits)
    assert instants(result.warnings) == [("max_active_duration", 8)]
    assert instants(result.passed) == [("max_active_duration", 10)]
    assert instants(result.stops) == [("max_active_duration", 20)]
    assert result.trip is not None and result.trip.at == START + timedelta(seconds=20)
