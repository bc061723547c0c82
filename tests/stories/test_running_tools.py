"""Seed 004: "complete current tool, then stop". What runs at a trip has its time, then the agent
says what it did."""

import pytest

from app.core.agents.agent import Agent
from app.core.agents.events import ToolEnded
from app.scripted.script import Answer, Call
from tests.support.people import REPOSITORY, Task, repository
from tests.support.steps import completes
from tests.twins.story import Story, story

FAR_TOO_LONG = 5_000
TWO_AT_ONCE = "max_tool_calls_per_turn"


def slow_and_quick(seconds: int) -> Answer:
    """The second of them is one too many."""
    slow = Call("bash", {"command": f"sleep {seconds}", "timeout_seconds": 600})
    return Answer("", (slow, Call("bash", {"command": "true"})))


def given(squad: Story, seconds: int) -> Task:
    summary = completes("I have slept.")
    return squad.give("fixer", "Sleep", slow_and_quick(seconds), summary=summary)


def ended(squad: Story, agent: Agent) -> list[tuple[bool, bool]]:
    """How its tools ended: well, or cut off."""
    log = squad.log(agent.id)
    return [(each.ok, each.cut_off) for each in log if isinstance(each, ToolEnded)]


def test_a_tool_that_runs_at_a_trip_ends_before_the_agent_summarises() -> None:
    keys = {TWO_AT_ONCE: 1, "summary_wait": 5}
    with story({REPOSITORY: repository({"fixer": keys})}) as squad:
        task = given(squad, 200)
        squad.passes(seconds=190)
        assert squad.calls(task) == []
        squad.passes(seconds=20)
        agent = squad.stopped(task)
        assert ended(squad, agent) == [(True, False)]
        assert agent.summary == "I have slept."


@pytest.mark.parametrize(("wait", "granted"), [(None, 300), (20, 20), (0, 0)])
def test_what_takes_longer_is_cut_off_and_the_agent_summarises_all_the_same(
    wait: int | None, granted: int
) -> None:
    keys = {TWO_AT_ONCE: 1, **({} if wait is None else {"running_tool_wait": wait})}
    with story({REPOSITORY: repository({"fixer": keys})}) as squad:
        task = given(squad, FAR_TOO_LONG)
        if granted:
            squad.passes(seconds=granted - 10)
            assert ended(squad, squad.agent(task)) == [] and squad.calls(task) == []
            squad.passes(seconds=11)
        agent = squad.stopped(task)
        assert ended(squad, agent) == [(False, True)]
        assert agent.summary == "I have slept."


@pytest.mark.parametrize("limit", ["max_active_duration", "max_idle_duration"])
def test_whoever_has_no_time_left_has_none_for_a_tool_either(limit: str) -> None:
    keys = {limit: 60, "tests": "none"}
    with story({REPOSITORY: repository({"fixer": keys})}) as squad:
        slow = Call("bash", {"command": f"sleep {FAR_TOO_LONG}", "timeout_seconds": 600})
        summary = completes("I have slept.")
        task = squad.give("fixer", "Sleep", Answer("", (slow,)), summary=summary)
        squad.passes(seconds=61)
        agent = squad.stopped(task)
        assert agent.trip is not None and agent.trip.limit == limit
        assert ended(squad, agent) == [(False, True)]
        assert agent.summary == "I have slept."


def test_a_tool_has_no_longer_than_its_agent_may_work() -> None:
    keys = {TWO_AT_ONCE: 1, "max_active_duration": 100}
    with story({REPOSITORY: repository({"fixer": keys})}) as squad:
        task = given(squad, FAR_TOO_LONG)
        squad.passes(seconds=90)
        assert squad.calls(task) == []
        squad.passes(seconds=12)
        assert ended(squad, squad.stopped(task)) == [(False, True)]
