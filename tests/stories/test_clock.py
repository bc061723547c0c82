"""Somebody sets the machine's clock: work takes as long as it takes (promise 4)."""

from datetime import timedelta

import pytest

from app.core.agents.counters import fold
from app.core.agents.events import ClockSet
from app.core.agents.lifecycle import State
from app.core.limits import LimitName
from tests.stories.happening import ASKING, ASKS, AT_REVIEW, FIXES, STOPPED, at_work
from tests.support.people import REPOSITORY, Task, repository
from tests.twins.story import PASS_SECONDS, Story, story

PLACES = {REPOSITORY: repository({"fixer": {"max_active_duration": 600}})}
TWO_HOURS, AN_HOUR = timedelta(hours=2), timedelta(hours=1)
SETTINGS = pytest.mark.parametrize("by", [TWO_HOURS, -AN_HOUR], ids=str)


def sets_clock(squad: Story, by: timedelta) -> None:
    squad.note("operator", f"sets the clock by {by}")
    squad.clock.set_by(by)


def works_for(squad: Story, seconds: float) -> None:
    """Time goes by as it does, second by second."""
    for _ in range(int(seconds / 5)):
        squad.clock.turn(timedelta(seconds=5))
        squad.loop.run_until_quiet()


def active_seconds(squad: Story, task: Task) -> float:
    return fold(squad.log(squad.agent(task).id)).active.total_seconds()


def settings(squad: Story, task: Task) -> list[float]:
    log = squad.log(squad.agent(task).id)
    return [round(event.by_seconds) for event in log if isinstance(event, ClockSet)]


@SETTINGS
def test_who_works_goes_on_and_its_time_is_counted_as_before(by: timedelta) -> None:
    with story(PLACES) as squad:
        task = at_work(squad)
        works_for(squad, 100)
        before = active_seconds(squad, task)
        sets_clock(squad, by)
        works_for(squad, 200)
        assert squad.states(task) == [(State.ACTIVE, None)]
        assert 195 <= active_seconds(squad, task) - before <= 205
        assert settings(squad, task) == [by.total_seconds()]
        (squad.directory / "go").touch()
        works_for(squad, 10)
        squad.settle()
        assert squad.states(task) == [AT_REVIEW]


@SETTINGS
def test_no_minute_is_free_and_none_is_counted_twice(by: timedelta) -> None:
    with story(PLACES) as squad:
        task = at_work(squad)
        works_for(squad, 300)
        sets_clock(squad, by)
        works_for(squad, 280)
        assert squad.states(task) == [(State.ACTIVE, None)]
        works_for(squad, 60)
        squad.settle()
        assert squad.states(task) == [STOPPED]
        trip = squad.agent(task).trip
        assert trip is not None and trip.limit is LimitName.MAX_ACTIVE_DURATION
        assert 600 <= trip.observed <= 610


@pytest.mark.parametrize("turns", [*range(0, 200, 20), *range(200, 1_200, 200)])
@SETTINGS
def test_whenever_it_is_set_the_same_comes_of_the_work(by: timedelta, turns: int) -> None:
    """Also while the work is pushed, or between two steps of an end."""
    with story(PLACES) as squad:
        task = squad.issue("The answer is wrong", *FIXES).by("fixer")
        squad.label(task, "squadron:fixer")
        squad.goes_on_for(turns)
        sets_clock(squad, by)
        squad.settle()
        squad.passes(seconds=PASS_SECONDS + 1)
        assert squad.states(task) == [AT_REVIEW]
        assert active_seconds(squad, task) < 60


def test_passes_go_on_when_the_clock_was_set_back() -> None:
    with story(PLACES) as squad:
        task = squad.give("fixer", "The answer is wrong", *ASKS, *FIXES)
        squad.passes(hours=2)
        assert squad.states(task) == [ASKING]
        sets_clock(squad, -AN_HOUR)
        squad.passes(seconds=PASS_SECONDS + 1)
        with squad.telling("untold"):
            squad.comment(task, "It is blue.")
        assert squad.states(task) == [AT_REVIEW]


def test_daily_work_that_is_due_is_done_at_the_start() -> None:
    """By a service that is seldom up for a day."""
    with story(PLACES) as squad:
        task = squad.give("fixer", "The answer is wrong", *FIXES)
        squad.merge(task)
        squad.settle()
        squad.stop()
        squad.clock.turn(timedelta(days=8))
        squad.start()
        squad.settle()
        assert f"remove {squad.agent(task).id}" in squad.workspace.calls
