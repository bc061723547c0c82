"""The catalogue of limits and the values that an agent may start with."""

import re
from dataclasses import fields, replace

import pytest

from app.core.limits import CATALOGUE, MAX_SUMMARY_WAIT_SECONDS, LimitName, Limits, Trips

YEAR_SECONDS = 365 * 24 * 3600


def with_maximum(name: LimitName, value: int | None) -> Limits:
    return replace(Limits(), **{name.value: value})


def test_the_defaults_are_the_designs() -> None:
    limits = Limits()
    assert limits.max_iterations == 5
    assert limits.max_tool_calls == 200
    assert limits.max_turns == 50
    assert limits.max_active_duration == 7_200
    assert limits.max_sleep_duration == 86_400
    assert limits.warning_threshold == 0.80
    assert limits.summary_wait == 60
    assert limits.max_review_wait == 604_800
    assert limits.iteration_mode == "fix_cycles"


@pytest.mark.parametrize("name", LimitName)
def test_the_catalogue_describes_each_limit(name: LimitName) -> None:
    info = CATALOGUE[name]
    assert info.name is name
    assert info.least <= info.default <= info.most
    assert Limits().maximum(name) == info.default
    assert name.value in {field.name for field in fields(Limits)}
    assert all((info.unit, info.why, info.counted, info.not_counted))


def test_a_tie_is_decided_in_the_order_of_the_catalogue() -> None:
    assert tuple(CATALOGUE) == tuple(LimitName)


def test_counts_trip_beyond_and_time_when_reached() -> None:
    reached = {name for name, info in CATALOGUE.items() if info.trips is Trips.REACHED}
    assert reached == {LimitName.MAX_ACTIVE_DURATION, LimitName.MAX_SLEEP_DURATION}


@pytest.mark.parametrize("name", LimitName)
def test_the_range_of_each_limit_ends_where_the_catalogue_says(name: LimitName) -> None:
    info = CATALOGUE[name]
    for value in (info.least, info.most):
        assert with_maximum(name, value).maximum(name) == value
    for value in (info.least - 1, info.most + 1, 0, -1):
        expected = f"{name} must be {info.least} to {info.most}, not {value}"
        with pytest.raises(ValueError, match=re.escape(expected)):
            with_maximum(name, value)


@pytest.mark.parametrize("name", LimitName)
def test_only_counts_can_be_switched_off(name: LimitName) -> None:
    if CATALOGUE[name].trips is Trips.BEYOND:
        assert with_maximum(name, None).maximum(name) is None
    else:
        with pytest.raises(ValueError, match=f"{name} cannot be switched off"):
            with_maximum(name, None)


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


@pytest.mark.parametrize("seconds", [1, YEAR_SECONDS])
def test_a_review_may_be_waited_for_up_to_a_year(seconds: int) -> None:
    assert Limits(max_review_wait=seconds).max_review_wait == seconds


@pytest.mark.parametrize("seconds", [0, YEAR_SECONDS + 1])
def test_a_review_is_never_waited_for_without_a_bound(seconds: int) -> None:
    with pytest.raises(ValueError, match="max_review_wait"):
        Limits(max_review_wait=seconds)
