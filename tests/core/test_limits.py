"""The catalogue of limits and the values that an agent may start with."""

import re
from dataclasses import replace
from typing import Any

import pytest

from app.core.limits import (
    CATALOGUE,
    MAX_RUNNING_TOOL_WAIT_SECONDS,
    MAX_SUMMARY_WAIT_SECONDS,
    Action,
    LimitName,
    Limits,
    Trips,
)
from tests.core.onlooker import JUDGED
from tests.core.strategies import NO_LIMITS, only

YEAR_SECONDS = 365 * 24 * 3600

CATALOGUE_OF_THE_ISSUE = """
    max_iterations              5     1  beyond    escalate pause warn request_increase
    max_tool_calls              200   1  beyond    escalate pause warn request_increase
    max_turns                   50    1  beyond    escalate pause warn request_increase
    max_active_duration         7200  1  reached   escalate pause warn request_increase
    max_sleep_duration          86400 1  reached   escalate
    max_model_calls             none  1  beyond    escalate pause warn request_increase
    max_tokens                  none  1  reached   escalate pause warn request_increase
    max_output_tokens_per_call  8192  1  sent      escalate
    max_cost_usd                none  .01 reached  escalate pause warn request_increase
    max_planning_cost_usd       none  .01 reached  escalate pause warn request_increase
    max_execution_cost_usd      none  .01 reached  escalate pause warn request_increase
    max_consecutive_tools       none  1  beyond    escalate pause warn request_increase
    max_tool_calls_per_turn     none  1  beyond    escalate pause warn request_increase
    max_repeated_errors         3     1  repeated  escalate pause warn request_increase
    max_repeated_calls          5     1  repeated  escalate pause warn request_increase
    max_unrunnable_tests        3     1  repeated  escalate pause warn request_increase
    max_spawns                  10    0  beyond    escalate pause warn request_increase
    max_depth                   2     0  beyond    escalate pause warn request_increase
    max_idle_duration           900   1  reached   escalate pause warn request_increase
    max_review_rounds           5     1  beyond    escalate pause warn request_increase
"""
"""Key, default, least value (0 only for sub-agents), when it trips, what may happen then."""

ROWS = [line.split() for line in CATALOGUE_OF_THE_ISSUE.strip().splitlines()]
MONEY = {
    LimitName.MAX_COST_USD,
    LimitName.MAX_PLANNING_COST_USD,
    LimitName.MAX_EXECUTION_COST_USD,
}
DURATIONS = {LimitName.MAX_ACTIVE_DURATION, LimitName.MAX_SLEEP_DURATION}


def with_maximum(name: LimitName, value: Any) -> Limits:
    return replace(Limits(), **{name.value: value})


def test_a_tie_is_decided_in_the_order_of_the_catalogue() -> None:
    assert [row[0] for row in ROWS] == [name.value for name in LimitName]
    assert list(CATALOGUE) == list(LimitName)


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row[0])
def test_the_catalogue_is_the_issues(row: list[str]) -> None:
    """Issue 3, the table of limits; "0 only for spawns and depth"."""
    key, default, least, trips, *actions = row
    info = CATALOGUE[LimitName(key)]
    assert info.name.value == key
    assert info.default == (None if default == "none" else int(default))
    assert Limits().maximum(info.name) == info.default
    assert info.least == float(least)
    assert info.least < info.most
    assert info.trips is Trips(trips)
    assert info.actions == {Action(action) for action in actions}
    assert all((info.unit, info.why, info.counted, info.not_counted))


def test_the_most_that_may_be_configured() -> None:
    """Far beyond any use, so that a slip of the finger is told."""
    assert {name.value: info.most for name, info in CATALOGUE.items()} == {
        "max_iterations": 10_000,
        "max_tool_calls": 1_000_000,
        "max_turns": 100_000,
        "max_active_duration": YEAR_SECONDS,
        "max_sleep_duration": YEAR_SECONDS,
        "max_model_calls": 1_000_000,
        "max_tokens": 10_000_000_000,
        "max_output_tokens_per_call": 1_000_000,
        "max_cost_usd": 1_000_000,
        "max_planning_cost_usd": 1_000_000,
        "max_execution_cost_usd": 1_000_000,
        "max_consecutive_tools": 1_000_000,
        "max_tool_calls_per_turn": 1_000_000,
        "max_repeated_errors": 1_000,
        "max_repeated_calls": 1_000,
        "max_unrunnable_tests": 1_000,
        "max_spawns": 10_000,
        "max_depth": 10,
        "max_idle_duration": YEAR_SECONDS,
        "max_review_rounds": 1_000,
    }


def test_the_other_settings_are_the_designs() -> None:
    limits = Limits()
    assert limits.warning_threshold == 0.80
    assert (limits.summary_wait, limits.running_tool_wait) == (60, 300)
    assert limits.max_review_wait == 604_800
    assert limits.iteration_mode == "fix_cycles"
    assert (limits.default_action, limits.actions) == (Action.ESCALATE, {})
    assert (limits.shadow, limits.ceilings) == (frozenset(), {})


def test_only_rows_warn_by_a_figure_of_their_own() -> None:
    warns = {name: info.warns_at for name, info in CATALOGUE.items() if info.warns_at is not None}
    assert warns == {LimitName.MAX_REPEATED_CALLS: 3, LimitName.MAX_UNRUNNABLE_TESTS: 2}


def test_money_is_in_usd_and_time_in_seconds() -> None:
    assert {name for name, info in CATALOGUE.items() if info.is_money} == MONEY
    assert {name for name, info in CATALOGUE.items() if info.unit == "USD"} == MONEY
    seconds = {name for name, info in CATALOGUE.items() if info.unit == "seconds"}
    assert seconds == DURATIONS | {LimitName.MAX_IDLE_DURATION}


@pytest.mark.parametrize("name", LimitName)
def test_the_range_of_each_limit_ends_where_the_catalogue_says(name: LimitName) -> None:
    info = CATALOGUE[name]
    step = 0.001 if info.is_money else 1
    for value in (info.least, info.most):
        right = value if info.is_money else int(value)
        assert with_maximum(name, right).maximum(name) == right
    for value in (info.least - step, info.most + step, -1):
        wrong = value if info.is_money else int(value)
        expected = rf"^{name} must be {info.least:.9g} to {info.most:.15g}, not {wrong}$"
        with pytest.raises(ValueError, match=expected):
            with_maximum(name, wrong)


@pytest.mark.parametrize(("name", "least", "most"), [("max_cost_usd", "0.01", "1000000")])
def test_a_range_reads_as_people_write_it(name: str, least: str, most: str) -> None:
    with pytest.raises(ValueError, match=rf"{name} must be {least} to {most}, not 0$"):
        with_maximum(LimitName(name), 0)


@pytest.mark.parametrize("name", sorted(set(LimitName) - MONEY))
@pytest.mark.parametrize("value", [1.5, 2.0, True, False, "7"])
def test_what_is_counted_is_a_whole_number(name: LimitName, value: object) -> None:
    expected = re.escape(f"{name} must be a whole number, not {value!r}")
    with pytest.raises(ValueError, match=expected):
        with_maximum(name, value)


@pytest.mark.parametrize("name", sorted(MONEY))
def test_money_may_have_a_fraction(name: LimitName) -> None:
    assert with_maximum(name, 0.125).maximum(name) == 0.125
    assert with_maximum(name, 3).maximum(name) == 3
    with pytest.raises(ValueError, match=f"{name} must be"):
        with_maximum(name, True)


@pytest.mark.parametrize("name", sorted(MONEY))
@pytest.mark.parametrize("value", [float("nan"), float("inf"), -float("inf")])
def test_money_without_an_end_is_refused(name: LimitName, value: float) -> None:
    with pytest.raises(ValueError, match=f"{name} must be"):
        with_maximum(name, value)


@pytest.mark.parametrize("name", LimitName)
def test_all_but_the_two_durations_can_be_switched_off(name: LimitName) -> None:
    if name in DURATIONS:
        with pytest.raises(ValueError, match=f"^{name} cannot be switched off$"):
            with_maximum(name, None)
    else:
        assert with_maximum(name, None).maximum(name) is None


# --- what happens at a limit ------------------------------------------------------------------


def test_an_action_of_its_own_wins_over_the_default() -> None:
    limits = Limits(
        default_action=Action.PAUSE, actions={LimitName.MAX_TURNS: Action.REQUEST_INCREASE}
    )
    assert limits.action(LimitName.MAX_TURNS) is Action.REQUEST_INCREASE
    assert limits.action(LimitName.MAX_TOOL_CALLS) is Action.PAUSE


@pytest.mark.parametrize("action", Action)
def test_a_default_action_reaches_only_limits_that_can_have_it(action: Action) -> None:
    limits = Limits(default_action=action)
    for name, info in CATALOGUE.items():
        expected = action if action in info.actions else Action.ESCALATE
        assert limits.action(name) is (info.own_action or expected)


def test_tests_that_cannot_run_are_a_warning_unless_something_else_is_said_of_them() -> None:
    own = {name: info.own_action for name, info in CATALOGUE.items() if info.own_action is not None}
    assert own == {LimitName.MAX_UNRUNNABLE_TESTS: Action.WARN}
    limits = Limits(actions={LimitName.MAX_UNRUNNABLE_TESTS: Action.PAUSE})
    assert limits.action(LimitName.MAX_UNRUNNABLE_TESTS) is Action.PAUSE


@pytest.mark.parametrize("action", [Action.PAUSE, Action.WARN, Action.REQUEST_INCREASE])
def test_a_sleep_cannot_be_paused(action: Action) -> None:
    expected = f"^max_sleep_duration cannot {action}: it always escalates$"
    with pytest.raises(ValueError, match=expected):
        Limits(actions={LimitName.MAX_SLEEP_DURATION: action})


def test_only_what_has_a_bound_is_armed() -> None:
    armed = {limit.name: (limit.maximum, limit.ceiling) for limit in NO_LIMITS.armed}
    assert armed == {
        LimitName.MAX_ACTIVE_DURATION: (YEAR_SECONDS, None),
        LimitName.MAX_SLEEP_DURATION: (YEAR_SECONDS, None),
    }


def test_a_ceiling_arms_a_limit_that_is_switched_off() -> None:
    limits = only(ceilings={LimitName.MAX_TOKENS: 1_000})
    armed = {limit.name: (limit.maximum, limit.ceiling) for limit in limits.armed}
    assert armed[LimitName.MAX_TOKENS] == (None, 1_000)


def test_what_the_provider_keeps_to_is_never_armed() -> None:
    name = LimitName.MAX_OUTPUT_TOKENS_PER_CALL
    limits = replace(Limits(), ceilings={name: 100})
    assert name not in {limit.name for limit in limits.armed}
    assert [limit.name for limit in Limits().armed] == [
        name for name in LimitName if CATALOGUE[name].default is not None and name in JUDGED
    ]


# --- the other settings -----------------------------------------------------------------------


@pytest.mark.parametrize("threshold", [0.0001, 0.5, 1])
def test_a_warning_threshold_is_a_part_of_the_maximum(threshold: float) -> None:
    assert Limits(warning_threshold=threshold).warning_threshold == threshold


@pytest.mark.parametrize("threshold", [0, -0.1, 1.0001, float("nan"), float("inf")])
def test_any_other_warning_threshold_is_refused(threshold: float) -> None:
    with pytest.raises(ValueError, match="warning_threshold"):
        Limits(warning_threshold=threshold)


@pytest.mark.parametrize("seconds", [0, MAX_SUMMARY_WAIT_SECONDS])
def test_the_summary_may_be_waited_for_up_to_its_bound(seconds: int) -> None:
    assert Limits(summary_wait=seconds).summary_wait == seconds


@pytest.mark.parametrize("seconds", [-1, MAX_SUMMARY_WAIT_SECONDS + 1])
def test_a_summary_is_never_waited_for_without_a_bound(seconds: int) -> None:
    with pytest.raises(ValueError, match="summary_wait"):
        Limits(summary_wait=seconds)


@pytest.mark.parametrize("seconds", [0, MAX_RUNNING_TOOL_WAIT_SECONDS])
def test_running_tools_may_have_up_to_ten_minutes(seconds: int) -> None:
    assert Limits(running_tool_wait=seconds).running_tool_wait == seconds


@pytest.mark.parametrize("seconds", [-1, MAX_RUNNING_TOOL_WAIT_SECONDS + 1])
def test_another_wait_for_running_tools_is_refused(seconds: int) -> None:
    with pytest.raises(ValueError, match="running_tool_wait must be 0 to 600"):
        Limits(running_tool_wait=seconds)


@pytest.mark.parametrize("seconds", [1, YEAR_SECONDS])
def test_a_review_may_be_waited_for_up_to_a_year(seconds: int) -> None:
    assert Limits(max_review_wait=seconds).max_review_wait == seconds


@pytest.mark.parametrize("seconds", [0, YEAR_SECONDS + 1])
def test_a_review_is_never_waited_for_without_a_bound(seconds: int) -> None:
    with pytest.raises(ValueError, match="max_review_wait"):
        Limits(max_review_wait=seconds)
