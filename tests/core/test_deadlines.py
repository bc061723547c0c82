"""Reconciliation's view: who is overdue, at the bound, just before it and just after it."""

import math
from dataclasses import replace
from datetime import timedelta

import pytest

from app.core.agents.counters import Counters, fold
from app.core.agents.events import (
    AgentEvent,
    HandedOver,
    LostAccess,
    Passed,
    Raised,
    SegmentEnded,
    SegmentStarted,
    Slept,
    Spoke,
    Tripped,
    Waits,
)
from app.core.agents.lifecycle import State
from app.core.agents.stops import Layer, Trip
from app.core.breaker.clocks import (
    GRACE_SECONDS,
    may_be_late,
    overdue,
    review_is_over,
    seconds_left,
    told_to_stop,
)
from app.core.limits import Action, LimitName, Limits
from tests.core.strategies import START, after_seconds, agent, only

LIMITS = Limits(max_active_duration=100, max_sleep_duration=1_000, summary_wait=60)
ACTIVE = LimitName.MAX_ACTIVE_DURATION
ACTIVE_AND_GRACE = 100 + 60 + GRACE_SECONDS


def running_since(seconds: float) -> Counters:
    return fold([SegmentStarted(at=after_seconds(seconds), segment=0, attempt=1)])


def asleep_since(seconds: float, waits_for: Waits) -> Counters:
    at = after_seconds(seconds)
    events: list[AgentEvent] = [
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


@pytest.mark.parametrize(
    ("state", "waits_for", "bound"),
    [
        (State.SLEEPING, Waits.ANSWER, 1_000),
        (State.SLEEPING, Waits.REVIEW, LIMITS.max_review_wait),
        (State.PAUSED, Waits.RAISE, 1_000),
    ],
)
def test_the_row_alone_says_who_cannot_be_late_yet(
    state: State, waits_for: Waits, bound: float
) -> None:
    row = agent(state, waits_for=waits_for, limits=LIMITS)
    at = row.updated_at + timedelta(seconds=bound)
    assert may_be_late(row, at)
    assert not may_be_late(row, at - timedelta(microseconds=1))


@pytest.mark.parametrize("state", [State.QUEUED, State.ACTIVE, State.STOPPING])
def test_who_does_not_wait_is_not_late_by_its_row(state: State) -> None:
    assert not may_be_late(agent(state, limits=LIMITS), after_seconds(10**7))


def test_who_may_sleep_for_ever_is_never_late() -> None:
    row = agent(State.SLEEPING, waits_for=Waits.ANSWER, limits=only())
    assert not may_be_late(row, after_seconds(10**7))


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
    assert review_is_over(row, (), after_seconds(seconds)) is is_over
    late = (HandedOver(at=row.updated_at + timedelta(seconds=30), pull_request=7),)
    assert not review_is_over(row, late, after_seconds(seconds))
    assert review_is_over(row, late, after_seconds(seconds + 30)) is is_over
    early = (HandedOver(at=row.updated_at - timedelta(seconds=30), pull_request=7),)
    assert review_is_over(row, early, after_seconds(seconds)) is is_over


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
    assert not review_is_over(agent(state, waits_for=waits_for), (), after_seconds(10**8))


@pytest.mark.parametrize(("at", "left"), [(0, 100.0), (99.5, 0.5), (100, 0.0), (500, 0.0)])
def test_the_time_that_is_left_never_goes_below_nothing(at: float, left: float) -> None:
    assert seconds_left(running_since(0), LIMITS, after_seconds(at)) == left


def test_silence_may_end_the_time_that_is_left() -> None:
    limits = replace(LIMITS, max_idle_duration=30)
    talking = fold([Spoke(at=after_seconds(50))], running_since(0))
    assert seconds_left(talking, limits, after_seconds(60)) == 20
    assert seconds_left(talking, limits, after_seconds(50)) == 30
    late = fold([Spoke(at=after_seconds(90))], running_since(0))
    assert seconds_left(late, limits, after_seconds(95)) == 5, "of the 100 active ones"


def test_a_raise_gives_more_time() -> None:
    counters = raised(running_since(0), 40)
    assert seconds_left(counters, LIMITS, after_seconds(100)) == 40


def test_a_ceiling_ends_the_time_that_is_left_before_the_maximum() -> None:
    limits = replace(LIMITS, ceilings={ACTIVE: 80})
    assert seconds_left(raised(running_since(0), 1_000), limits, after_seconds(50)) == 30


def test_what_only_the_operator_bounds_ends_the_time_that_is_left() -> None:
    limits = replace(LIMITS, max_idle_duration=None, ceilings={LimitName.MAX_IDLE_DURATION: 30})
    talking = fold([Spoke(at=START)], running_since(0))
    assert seconds_left(talking, limits, after_seconds(10)) == 20


def test_who_prepares_a_workspace_is_not_silent() -> None:
    """A setup command may take longer than a session may be silent."""
    limits = replace(LIMITS, max_idle_duration=3)
    preparing = fold([SegmentStarted(at=START, segment=0, attempt=1)])
    assert seconds_left(preparing, limits, after_seconds(60)) == 3, "then it is looked at again"


def test_a_bound_that_was_passed_leaves_time_up_to_the_ceiling() -> None:
    passed = Passed(at=after_seconds(100), limit=ACTIVE, observed=100, maximum=100, shadow=True)
    counters = fold([passed], running_since(0))
    without = replace(LIMITS, max_idle_duration=None)
    assert seconds_left(counters, without, after_seconds(110)) == math.inf
    under_a_ceiling = replace(without, ceilings={ACTIVE: 150})
    assert seconds_left(counters, under_a_ceiling, after_seconds(110)) == 40


# --- a raise, an action, a ceiling ------------------------------------------------------------


def raised(counters: Counters, seconds: float) -> Counters:
    """More active time, granted by a human."""
    grant = Raised(at=START, limit=ACTIVE, amount=seconds, maximum=0, by="mona")
    return fold([grant], counters)


def is_due(limits: Limits, counters: Counters, seconds: float) -> bool:
    return overdue(agent(limits=limits), counters, after_seconds(seconds)) is not None


def test_a_raised_agent_is_overdue_later() -> None:
    counters = raised(running_since(0), 500)
    assert not is_due(LIMITS, counters, ACTIVE_AND_GRACE + 499.999)
    trip = overdue(agent(limits=LIMITS), counters, after_seconds(ACTIVE_AND_GRACE + 500))
    assert trip is not None and trip.maximum == 600


@pytest.mark.parametrize(
    "limits",
    [
        replace(LIMITS, actions={ACTIVE: Action.WARN}),
        replace(LIMITS, default_action=Action.WARN),
        replace(LIMITS, shadow=frozenset({ACTIVE})),
    ],
)
def test_who_is_only_warned_is_overdue_at_the_ceiling_alone(limits: Limits) -> None:
    assert not is_due(limits, running_since(0), 10**7)
    capped = replace(limits, ceilings={ACTIVE: 400})
    assert not is_due(capped, running_since(0), ACTIVE_AND_GRACE + 299.999)
    assert is_due(capped, running_since(0), ACTIVE_AND_GRACE + 300)


@pytest.mark.parametrize("action", [Action.PAUSE, Action.REQUEST_INCREASE])
def test_who_should_have_been_paused_and_was_not_is_overdue(action: Action) -> None:
    """Neither its hook nor its timer works any more."""
    limits = replace(LIMITS, actions={ACTIVE: action})
    assert not is_due(limits, running_since(0), ACTIVE_AND_GRACE - 0.001)
    assert is_due(limits, running_since(0), ACTIVE_AND_GRACE)


def test_no_raise_goes_above_a_ceiling() -> None:
    limits = replace(LIMITS, ceilings={ACTIVE: 120})
    counters = raised(running_since(0), 10_000)
    assert not is_due(limits, counters, ACTIVE_AND_GRACE + 19.999)
    assert is_due(limits, counters, ACTIVE_AND_GRACE + 20)


# --- told to stop ----------------------------------------------------------------------------

TOLD = Tripped(
    at=after_seconds(5),
    trip=Trip(
        limit=ACTIVE,
        observed=100,
        maximum=100,
        layer=Layer.RECONCILIATION,
        at=after_seconds(5),
        reason="Enough.",
    ),
)
LOST = LostAccess(at=after_seconds(5), why="suspended")
BEGUN = SegmentStarted(at=START, segment=0, attempt=1)


@pytest.mark.parametrize(
    ("history", "expected"),
    [
        ([], None),
        ([BEGUN], None),
        ([BEGUN, LOST], LOST),
        ([BEGUN, TOLD, Spoke(at=after_seconds(6))], TOLD),
        ([BEGUN, LOST, BEGUN], None),
        ([BEGUN, LOST, SegmentEnded(at=after_seconds(7), why="waits for access")], None),
    ],
)
def test_what_a_running_attempt_was_told_to_stop_for(
    history: list[AgentEvent], expected: Tripped | LostAccess | None
) -> None:
    assert told_to_stop(history) == expected
