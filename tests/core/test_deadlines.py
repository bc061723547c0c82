"""Reconciliation's view: who is overdue, at the bound, just before it and just after it."""

from datetime import timedelta

import pytest

from app.core.counters import Counters, fold
from app.core.deadlines import GRACE_SECONDS, overdue, review_is_over, seconds_left
from app.core.events import Layer, SegmentEnded, SegmentStarted, Slept, Waits
from app.core.lifecycle import State
from app.core.limits import LimitName, Limits
from tests.core.strategies import START, after_seconds, agent

LIMITS = Limits(max_active_duration=100, max_sleep_duration=1_000, summary_wait=60)
ACTIVE_AND_GRACE = 100 + 60 + GRACE_SECONDS


def running_since(seconds: float) -> Counters:
    return fold([SegmentStarted(at=after_seconds(seconds), segment=0, attempt=1)])


def asleep_since(seconds: float, waits_for: Waits) -> Counters:
    at = after_seconds(seconds)
    events = [
        SegmentEnded(at=at, why="blocked"),
        Slept(at=at, waits_for=waits_for, blocked_by=(7,), reason=""),
    ]
    return fold(events, running_since(0))


@pytest.mark.parametrize(
    ("seconds", "is_due"),
    [
        (100, False),
        (ACTIVE_AND_GRACE - 0.001, False),
        (ACTIVE_AND_GRACE, True),
        (ACTIVE_AND_GRACE + 0.001, True),
    ],
)
def test_an_active_agent_has_grace_for_its_own_timer(seconds: float, is_due: bool) -> None:
    trip = overdue(agent(limits=LIMITS), running_since(0), after_seconds(seconds))
    assert (trip is not None) is is_due
    if trip is not None:
        assert trip.limit == LimitName.MAX_ACTIVE_DURATION
        assert (trip.observed, trip.maximum) == (seconds, 100)
        assert (trip.layer, trip.at) == (Layer.RECONCILIATION, after_seconds(seconds))


def test_active_time_of_earlier_segments_is_part_of_it() -> None:
    counters = fold(
        [
            SegmentEnded(at=after_seconds(90), why="drained"),
            SegmentStarted(at=after_seconds(10_000), segment=1, attempt=1),
        ],
        running_since(0),
    )
    row = agent(limits=LIMITS)
    assert overdue(row, counters, after_seconds(10_000 + ACTIVE_AND_GRACE - 90.001)) is None
    trip = overdue(row, counters, after_seconds(10_000 + ACTIVE_AND_GRACE - 90))
    assert trip is not None and trip.observed == ACTIVE_AND_GRACE


@pytest.mark.parametrize("waits_for", [Waits.BLOCKER, Waits.ANSWER])
@pytest.mark.parametrize(
    ("seconds", "is_due"), [(0, False), (999.999, False), (1_000, True), (1_000.001, True)]
)
def test_a_sleep_is_over_when_its_bound_is_reached(
    waits_for: Waits, seconds: float, is_due: bool
) -> None:
    row = agent(State.SLEEPING, waits_for=waits_for, limits=LIMITS)
    trip = overdue(row, asleep_since(50, waits_for), after_seconds(50 + seconds))
    assert (trip is not None) is is_due
    if trip is not None:
        assert trip.limit == LimitName.MAX_SLEEP_DURATION
        assert (trip.observed, trip.maximum) == (seconds, 1_000)
        assert trip.reason.startswith("max_sleep_duration reached: 1000 of 1000 seconds")


def test_a_sleep_is_measured_from_the_sleep_not_from_the_last_change_of_the_row() -> None:
    row = agent(
        State.SLEEPING,
        waits_for=Waits.BLOCKER,
        limits=LIMITS,
        updated_at=after_seconds(900),
    )
    assert overdue(row, asleep_since(0, Waits.BLOCKER), after_seconds(1_000)) is not None


def test_waiting_for_a_review_is_never_overdue() -> None:
    row = agent(State.SLEEPING, waits_for=Waits.REVIEW, limits=LIMITS)
    assert overdue(row, asleep_since(0, Waits.REVIEW), after_seconds(10**7)) is None


@pytest.mark.parametrize(
    ("seconds", "is_due"), [(999.999, False), (1_000, True), (1_000.001, True)]
)
def test_a_pause_is_bounded_like_a_sleep(seconds: float, is_due: bool) -> None:
    row = agent(State.PAUSED, limits=LIMITS, updated_at=after_seconds(20))
    trip = overdue(row, running_since(0), after_seconds(20 + seconds))
    assert (trip is not None) is is_due
    if trip is not None:
        assert (trip.limit, trip.observed) == (LimitName.MAX_SLEEP_DURATION, seconds)


@pytest.mark.parametrize("state", [State.QUEUED, State.COMPLETED, State.ESCALATED, State.CANCELLED])
def test_who_neither_works_nor_waits_is_never_overdue(state: State) -> None:
    assert overdue(agent(state, limits=LIMITS), running_since(0), after_seconds(10**7)) is None


def test_a_clock_that_was_set_back_makes_nobody_overdue() -> None:
    before = START - timedelta(days=30)
    for state in State:
        assert overdue(agent(state, limits=LIMITS), running_since(0), before) is None


@pytest.mark.parametrize(("seconds", "is_over"), [(59.999, False), (60, True), (60.001, True)])
def test_a_review_is_waited_for_up_to_its_own_bound(seconds: float, is_over: bool) -> None:
    limits = Limits(max_review_wait=60)
    row = agent(State.SLEEPING, waits_for=Waits.REVIEW, limits=limits)
    assert review_is_over(row, after_seconds(seconds)) is is_over


@pytest.mark.parametrize(
    ("state", "waits_for"),
    [
        (State.SLEEPING, Waits.BLOCKER),
        (State.SLEEPING, Waits.ANSWER),
        (State.ACTIVE, Waits.REVIEW),
        (State.COMPLETED, Waits.REVIEW),
    ],
)
def test_only_a_review_can_be_over(state: State, waits_for: Waits) -> None:
    assert not review_is_over(agent(state, waits_for=waits_for), after_seconds(10**8))


@pytest.mark.parametrize(("at", "left"), [(0, 100.0), (99.5, 0.5), (100, 0.0), (500, 0.0)])
def test_the_time_that_is_left_never_goes_below_nothing(at: float, left: float) -> None:
    assert seconds_left(running_since(0), 100, after_seconds(at)) == left
