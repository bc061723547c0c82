"""Brakes: whom they hold, and how long they did."""

from datetime import timedelta

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from app.core.agents.events import Braked, BrakeLifted, SegmentStarted, Waits
from app.core.agents.lifecycle import State
from app.core.breaker.clocks import overdue, review_is_over
from app.core.limits import Limits
from app.core.rules.brakes import Brake, Place, Scope, brake_on, time_under
from app.core.words.refusals import brake_words, held_words
from app.core.words.report import braked
from tests.core.strategies import START, after_seconds, agent
from tests.core.test_deadlines import asleep_since

ALL, HERE = Place.everything(), Place.repository("octo/Demo")
OFF, ACCOUNT = Place.configuration("octo/demo"), Place.installation(7)


def put_on(place: Place, at: float = 0, lifted: float | None = None) -> Brake:
    lifted_at = None if lifted is None else after_seconds(lifted)
    return Brake(place, "ada", after_seconds(at), lifted_at=lifted_at)


@pytest.mark.parametrize(
    ("place", "repository", "installation", "is_held"),
    [
        (ALL, "octo/other", 8, True),
        (ACCOUNT, "octo/other", 7, True),
        (ACCOUNT, "octo/other", 77, False),
        (HERE, "OCTO/demo", 8, True),
        (HERE, "octo/demo2", 8, False),
        (OFF, "octo/demo", 8, True),
        (OFF, "octo/other", 8, False),
    ],
)
def test_whom_a_brake_holds(
    place: Place, repository: str, installation: int, is_held: bool
) -> None:
    assert (brake_on([put_on(place)], repository, installation) is not None) is is_held
    assert brake_on([put_on(place, lifted=5)], repository, installation) is None


def test_the_widest_brake_is_told_of() -> None:
    brakes = [put_on(place) for place in (OFF, HERE, ACCOUNT, ALL)]
    while brakes:
        found = brake_on(brakes, "octo/demo", 7)
        assert found == brakes.pop()


def test_brakes_are_stored_and_told_by_these_words() -> None:
    words = [scope.value for scope in Scope]
    assert words == ["all", "installation", "repository", "configuration"]
    assert (Place(Scope.ALL, ""), Place(Scope.INSTALLATION, "7")) == (ALL, ACCOUNT)
    assert Place(Scope.REPOSITORY, "octo/demo") == HERE
    assert Place(Scope.CONFIGURATION, "octo/demo") == OFF


def test_time_under_brakes_elsewhere_does_not_count() -> None:
    brakes = [put_on(Place.repository("octo/other")), put_on(Place.installation(8))]
    assert time_under(brakes, "octo/demo", 7, START, after_seconds(9)) == timedelta()


@settings(deadline=None)
@given(
    st.lists(st.tuples(st.integers(0, 60), st.integers(0, 60) | st.none()), max_size=6),
    st.integers(0, 60),
    st.integers(0, 60),
)
def test_time_under_brakes_is_counted_once(
    spans: list[tuple[int, int | None]], since: int, length: int
) -> None:
    until = since + length
    brakes = [put_on(HERE, start, None if end is None else max(start, end)) for start, end in spans]
    seconds = sum(
        any(start <= second < (until if end is None else max(start, end)) for start, end in spans)
        for second in range(since, until)
    )
    found = time_under(brakes, "octo/demo", 7, after_seconds(since), after_seconds(until))
    assert found == timedelta(seconds=seconds)


def test_waiting_under_a_brake_does_not_count() -> None:
    limits, hour = Limits(max_sleep_duration=100, max_review_wait=100), timedelta(hours=1)
    sleeper = agent(State.SLEEPING, waits_for=Waits.ANSWER, limits=limits)
    counters, now = asleep_since(0, Waits.ANSWER), after_seconds(3_700)
    assert overdue(sleeper, counters, now, hour) is not None
    assert overdue(sleeper, counters, now - timedelta(seconds=1), hour) is None
    reviewed = agent(State.SLEEPING, waits_for=Waits.REVIEW, limits=limits)
    since = reviewed.updated_at + timedelta(seconds=3_700)
    assert review_is_over(reviewed, (), since, hour)
    assert not review_is_over(reviewed, (), since - timedelta(seconds=1), hour)


def test_what_holds_an_agent_is_what_its_log_said_last() -> None:
    held = Braked(at=START, why="ada paused all agents", scope=Scope.ALL.value, since=START)
    assert braked([held]) == held
    assert braked([held, BrakeLifted(at=START)]) is None
    assert braked([held, SegmentStarted(at=START, segment=1, attempt=1)]) is None
    assert braked([BrakeLifted(at=START), held]) == held


def test_words_of_others_can_call_nobody() -> None:
    wild = Brake(ALL, "@octo/leads", START, "see\n<!-- hidden @ada")
    told = held_words(Braked(at=START, why=brake_words(wild), scope="all", since=START))
    assert "@o" not in told and "<!--" not in told and "\n" not in told
