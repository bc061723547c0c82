"""One view of an agent for people: what its log comes to."""

from dataclasses import replace
from datetime import timedelta

import pytest

from app.core.agents.counters import fold
from app.core.agents.events import DiffSize, Held, Kept, Slept, Tripped, Waits, Warned
from app.core.agents.lifecycle import State
from app.core.agents.stops import Layer
from app.core.breaker.verdict import LimitUse
from app.core.limits import Action, LimitName, Limits
from app.core.words.report import TestRun as ReportedRun
from app.core.words.report import report
from app.testruns import Outcome
from tests.core.life import Life, begun
from tests.core.strategies import EVERYTHING, NO_LIMITS, after_seconds, agent, only


def used(uses: tuple[LimitUse, ...], name: LimitName) -> tuple[float, float]:
    """Observed and maximum of one limit."""
    return next((use.observed, use.maximum) for use in uses if use.name is name)


def test_a_running_agent_is_shown_as_of_what_survives_its_process() -> None:
    """The last stored event was at 60 s: after a `kill -9` at 90 s no figure has become less."""
    limits = Limits(max_tool_calls=10)
    life = begun(limits)
    life.asks_turn()
    for _ in range(8):
        life.asks_tool()
    life.waits(60)
    life.ticks()
    shown = report(agent(limits=limits), life.log, after_seconds(90))
    assert used(shown.uses, LimitName.MAX_TOOL_CALLS) == (8, 10)
    assert used(shown.uses, LimitName.MAX_TURNS) == (1, 50)
    assert used(shown.uses, LimitName.MAX_ACTIVE_DURATION) == (60, 7_200)
    assert [use.name for use in shown.uses] == [armed.name for armed in limits.armed]
    assert shown.counters == fold(life.log)
    assert [(event.limit, event.observed) for event in shown.warnings] == [("max_tool_calls", 8)]
    assert shown.trigger == "label squadron:bug-fix"
    assert (shown.kept, shown.slept, shown.test_runs) == (None, None, ())


@pytest.mark.parametrize("state", [State.COMPLETED, State.ESCALATED, State.CANCELLED])
def test_a_final_agent_is_shown_as_of_its_end(state: State) -> None:
    life = begun()
    row = agent(state, updated_at=after_seconds(40))
    shown = report(row, life.log, after_seconds(9_000))
    assert used(shown.uses, LimitName.MAX_ACTIVE_DURATION) == (40, 7_200)


def test_the_limit_that_tripped_shows_what_it_tripped_at() -> None:
    """Comment, check and issue agree with the trip, however long the summary took after it."""
    limits = Limits(max_active_duration=100)
    life = begun(limits)
    life.waits(103)
    life.ticks()
    life.waits(45)
    life.ends_segment()
    trip = life.counters.trip
    assert trip is not None and trip.layer is Layer.TIMER
    row = agent(State.ESCALATED, limits=limits, updated_at=life.now)
    shown = report(replace(row, stop=trip), life.log, life.now)
    assert used(shown.uses, LimitName.MAX_ACTIVE_DURATION) == (103, 100)
    assert used(shown.uses, LimitName.MAX_TOOL_CALLS) == (0, 200)
    without_trip = report(row, life.log, life.now)
    assert used(without_trip.uses, LimitName.MAX_ACTIVE_DURATION) == (148, 100)
    assert [event.trip for event in life.log if isinstance(event, Tripped)] == [trip]


def test_a_limit_that_is_switched_off_is_not_shown() -> None:
    shown = report(agent(limits=NO_LIMITS), begun().log, after_seconds(1))
    assert [use.name for use in shown.uses] == ["max_active_duration", "max_sleep_duration"]


def test_the_last_word_about_kept_work_and_sleep_is_shown() -> None:
    life = begun()
    for n, problem in enumerate(("GitHub refused the push", "")):
        life.happens(Kept(at=life.now, sha=f"{n}" * 40, pushed=not problem, problem=problem))
    life.sleeps(Waits.ANSWER)
    life.wakes()
    life.begins_segment()
    life.sleeps(Waits.BLOCKER)
    asleep = report(agent(State.SLEEPING), life.log, life.now)
    assert asleep.kept == Kept(at=life.now, sha="1" * 40, pushed=True, problem="")
    assert isinstance(asleep.slept, Slept) and asleep.slept.waits_for is Waits.BLOCKER
    assert report(agent(State.QUEUED), life.log, life.now).slept is None


def run_tests(life: Life, outcome: Outcome, content: str, left: str) -> None:
    life.asks_tests(EVERYTHING, content)
    life.tests_end(life.last_call, outcome, left)


def test_test_runs_are_listed_with_what_came_of_them() -> None:
    life = begun()
    run_tests(life, Outcome.FAILED, "v1", "v1 and a cache")
    run_tests(life, Outcome.FAILED, "v1 and a cache", "v1 and a cache")
    run_tests(life, Outcome.PASSED, "v2", "v2")
    life.asks_tool()
    life.asks_tests(EVERYTHING, "v3")
    shown = report(agent(), life.log, life.now + timedelta(seconds=1)).test_runs
    assert shown == (
        ReportedRun(
            command="pytest", outcome=Outcome.FAILED, failures="", output="", changed=False
        ),
        ReportedRun(
            command="pytest", outcome=Outcome.FAILED, failures="", output="", changed=False
        ),
        ReportedRun(command="pytest", outcome=Outcome.PASSED, failures="", output="", changed=True),
        ReportedRun(command="pytest", outcome=None, failures="", output="", changed=True),
    )


def test_no_log_no_claims() -> None:
    shown = report(agent(State.QUEUED), [], after_seconds(5))
    assert (shown.trigger, shown.kept, shown.test_runs, shown.warnings) == ("", None, (), ())
    assert not [event for event in begun().log if isinstance(event, Warned)]


# --- limits that speak, and what came of the work ---------------------------------------------

CALLS = LimitName.MAX_TOOL_CALLS


def test_a_paused_agent_shows_its_hold_and_a_running_one_none() -> None:
    life = begun(Limits(max_tool_calls=2, default_action=Action.PAUSE))
    for _ in range(3):
        life.asks_tool()
    held = [event.hold for event in life.log if isinstance(event, Held)]
    assert report(agent(State.PAUSED), life.log, life.now).hold == held[0]
    assert report(agent(State.ACTIVE), life.log, life.now).hold is None


def test_limits_that_let_pass_and_raises_are_shown_in_order() -> None:
    life = begun(only(max_tool_calls=1, default_action=Action.WARN))
    for amount in (1, 2):
        for _ in range(4):
            life.asks_tool()
        life.is_granted(CALLS, amount)
    shown = report(agent(limits=life.limits), life.log, life.now)
    assert [(event.observed, event.maximum) for event in shown.passed] == [(1, 1), (4, 2)]
    assert [event.amount for event in shown.raises] == [1, 2]


def keeps(life: Life, added: int) -> None:
    """Work is taken out of the workspace; so many lines are added to the branch by now."""
    diff = DiffSize(files=1, added=added, deleted=0)
    life.happens(Kept(at=life.now, sha="a" * 40, pushed=True, problem="", diff=diff))


def test_progress_counts_from_the_beginning_until_somebody_grants_more() -> None:
    life = begun()
    life.tests(Outcome.FAILED, content="v1")
    keeps(life, 10)
    life.tests(Outcome.FAILED, content="v2")
    progress = report(agent(), life.log, life.now).progress
    assert progress.grant is None and progress.diff_before is None
    assert [run.outcome for run in progress.test_runs] == [Outcome.FAILED, Outcome.FAILED]
    assert progress.diff == DiffSize(files=1, added=10, deleted=0)


def test_progress_counts_from_the_last_grant() -> None:
    life = begun()
    life.tests(Outcome.FAILED, content="v1")
    keeps(life, 10)
    life.is_granted(CALLS, 1)
    life.is_granted(LimitName.MAX_TURNS, 1)
    granted = life.log[-1]
    life.tests(Outcome.PASSED, content="v2")
    keeps(life, 30)
    progress = report(agent(), life.log, life.now).progress
    assert progress.grant == granted
    assert [(run.outcome, run.changed) for run in progress.test_runs] == [(Outcome.PASSED, True)]
    assert (progress.diff, progress.diff_before) == (
        DiffSize(files=1, added=30, deleted=0),
        DiffSize(files=1, added=10, deleted=0),
    )


def test_no_work_is_no_progress() -> None:
    life = begun()
    life.is_granted(CALLS, 1)
    progress = report(agent(), life.log, life.now).progress
    assert (progress.test_runs, progress.diff, progress.diff_before) == ((), None, None)
