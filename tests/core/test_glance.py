"""What lists show of an agent's log."""

from dataclasses import replace
from datetime import timedelta

import pytest

from app.core.agents.counters import fold
from app.core.agents.events import AgentEvent, ModelCalled, SegmentStarted, Slept, ToolAsked, Waits
from app.core.agents.lifecycle import State
from app.core.agents.stops import Layer, Trip
from app.core.breaker.verdict import LimitUse
from app.core.limits import CATALOGUE, LimitName
from app.core.words.glance import MOST_WHY_CHARACTERS, counted_on, first_glance, glance
from app.core.words.report import report
from tests.core.strategies import START, after_seconds, agent, only


def asleep_for(seconds: float, why: str = "Red or blue?", state: State = State.SLEEPING) -> float:
    """How long lists show that it sleeps, if they were told at the start of its sleep."""
    limits = only(max_tool_calls=5, max_sleep_duration=3_600)
    row = agent(state, waits_for=Waits.ANSWER, limits=limits)
    slept = Slept(at=START, waits_for=Waits.ANSWER, blocked_by=(), reason=why)
    seen = glance(report(row, [slept], START)).at(START + timedelta(seconds=seconds))
    assert len(seen.why) <= MOST_WHY_CHARACTERS
    [asleep] = [use for use in seen.uses if use.name is LimitName.MAX_SLEEP_DURATION]
    return asleep.observed


def test_of_who_sleeps_only_the_sleep_grows() -> None:
    assert [asleep_for(seconds) for seconds in (0, 60.5, 9_000)] == [0, 60.5, 9_000]
    assert asleep_for(60, state=State.CANCELLED) == 0


def test_a_long_reason_is_cut() -> None:
    assert asleep_for(1, why="why " * 1_000) == 1


def test_an_agent_that_goes_on_is_shown_with_what_it_has_used_since() -> None:
    row = agent(State.ACTIVE, limits=only(max_tool_calls=5))
    called = ModelCalled(at=after_seconds(1), model="x", input_tokens=3, output_tokens=4)
    asked = ToolAsked(at=after_seconds(2), call="1", tool="view", what="a.py")
    began = SegmentStarted(at=START, segment=0, attempt=1, worker="worker-1")
    log: list[AgentEvent] = [began, called, asked]
    seen = counted_on(first_glance(row), row, fold(log), after_seconds(50))
    assert seen == glance(report(row, log, after_seconds(90))), "as of the last event"
    assert (seen.tokens, seen.has_unpriced) == (7, True)
    nearest = seen.nearest
    assert nearest is not None and (nearest.name, nearest.observed) == ("max_tool_calls", 1)


def test_who_has_used_nothing_is_near_nothing() -> None:
    assert first_glance(agent(State.QUEUED)).nearest is None


@pytest.mark.parametrize(
    ("observed", "maximum", "share"), [(0, 0, 0), (1, 0, 1), (1, 4, 0.25), (4, 4, 1), (5, 4, 1.25)]
)
def test_of_a_limit_that_allows_nothing_all_is_used_at_once(
    observed: float, maximum: float, share: float
) -> None:
    assert LimitUse(CATALOGUE[LimitName.MAX_SPAWNS], observed, maximum).share == share


def test_an_agent_that_was_stopped_by_a_limit_that_allows_nothing_is_nearest_to_it() -> None:
    stop = Trip(
        limit=LimitName.MAX_SPAWNS,
        observed=1,
        maximum=0,
        layer=Layer.HOOK,
        at=START,
        reason="max_spawns allows none.",
    )
    row = replace(agent(State.ESCALATED, limits=only(max_spawns=0, max_tool_calls=5)), stop=stop)
    nearest = glance(report(row, [], START)).nearest
    assert nearest is not None and (nearest.name, nearest.share) == (LimitName.MAX_SPAWNS, 1)
