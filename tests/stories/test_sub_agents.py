"""Sub-agents that are asked for in one answer share what is left; a refused one does not count."""

from collections.abc import Mapping
from contextlib import AbstractContextManager

import pytest

from app.core.agents.counters import fold
from app.core.agents.events import Spawned, SpawnRefused
from app.core.agents.lifecycle import State
from app.core.limits import LimitName
from app.scripted.script import Answer, Call, Script, Step
from tests.support.people import REPOSITORY, SUMMARY, repository
from tests.support.steps import completes, runs
from tests.twins.story import Story, story


def part(
    squad: Story, name: str, *steps: Step, role: str = "helper", summary: Answer = SUMMARY
) -> Call:
    """The call that starts a sub-agent which takes these steps."""
    squad.scripted(Script(name, steps, summary))
    return Call("task", {"role": role, "prompt": f"SCENARIO:{name}\nDo your part."})


def at_once(*calls: Call) -> Answer:
    return Answer("", calls)


def led(lead: Mapping[str, object]) -> AbstractContextManager[Story]:
    return story({REPOSITORY: repository({"lead": {"tests": "none", **lead}, "helper": {}})})


def test_three_that_are_asked_for_in_one_answer_have_a_third_of_what_is_left() -> None:
    with led({"max_tool_calls": 50}) as squad:
        asked = [part(squad, f"part-{n}", runs("true"), completes("Done.")) for n in range(3)]
        task = squad.give("lead", "Three parts", at_once(*asked), completes("All three."))
        squad.settle()
        assert squad.state(task) == (State.COMPLETED, None)
        log = squad.log(squad.agent(task).id)
        promised = [dict(one.reserved) for one in log if isinstance(one, Spawned)]
        assert [each[LimitName.MAX_TOOL_CALLS] for each in promised] == [15, 16, 16]
        assert [one.state for one in squad.sub_agents(task)] == [State.COMPLETED] * 3


def test_a_part_too_small_for_one_is_refused_and_the_others_work() -> None:
    with led({"max_tool_calls": 5}) as squad:
        asked = [part(squad, f"part-{n}", runs("true"), completes("Done.")) for n in range(3)]
        task = squad.give("lead", "Three parts", at_once(*asked), completes("Two of them."))
        squad.settle()
        assert squad.state(task) == (State.COMPLETED, None)
        assert squad.was_told(task, "max_tool_calls: too little is left for a sub-agent.")
        assert [one.state for one in squad.sub_agents(task)] == [State.COMPLETED] * 2
        counters = fold(squad.log(squad.agent(task).id))
        assert (counters.spawns, counters.spawning, counters.tool_calls) == (2, 0, 5)


def test_whoever_is_refused_leaves_the_place_to_another() -> None:
    with led({"max_spawns": 2}) as squad:
        nobody = Call("task", {"role": "nobody", "prompt": "Do it."})
        asked = [part(squad, f"part-{n}", completes("Done.")) for n in range(2)]
        task = squad.give(
            "lead",
            "Two parts",
            at_once(nobody, nobody),
            at_once(*asked),
            completes("Both of them."),
        )
        squad.settle()
        assert squad.state(task) == (State.COMPLETED, None)
        assert [one.state for one in squad.sub_agents(task)] == [State.COMPLETED] * 2
        log = squad.log(squad.agent(task).id)
        refused = [one.why for one in log if isinstance(one, SpawnRefused)]
        assert len(refused) == 2 and all("`nobody` cannot start" in why for why in refused)


@pytest.mark.parametrize("limit", ["max_spawns", "max_depth"])
def test_where_there_may_be_none_the_model_hears_so_and_goes_on(limit: str) -> None:
    """Seed 003, "Depth Decrement": the call "fails with Depth limit exhausted"."""
    with led({limit: 0}) as squad:
        asked = part(squad, "part", completes("Never."))
        task = squad.give(
            "lead", "One part", at_once(asked), at_once(asked, asked), completes("I did it myself.")
        )
        squad.settle()
        assert squad.state(task) == (State.COMPLETED, None)
        assert squad.was_told(task, f"Depth limit exhausted: {limit} allows no ")
        assert squad.sub_agents(task) == [] and squad.calls(task) == squad.needs_human(task) == []
        assert f"`{limit}` was reached at 0 of 0 " in squad.comments(task)[0]


def test_those_that_were_allowed_work_although_one_more_was_asked_for_beside_them() -> None:
    with led({"max_spawns": 3}) as squad:
        asked = [part(squad, f"part-{n}", runs("true"), completes("Done.")) for n in range(5)]
        task = squad.give(
            "lead", "Five parts", at_once(*asked), summary=completes("Three of five.")
        )
        squad.settle()
        agent = squad.stopped(task)
        assert agent.trip is not None and agent.summary == "Three of five."
        assert (agent.trip.limit, agent.trip.observed, agent.trip.maximum) == ("max_spawns", 3, 3)
        assert [one.state for one in squad.sub_agents(task)] == [State.COMPLETED] * 3


@pytest.mark.parametrize("on_limit", ["escalate", "pause"])
def test_a_sub_agent_works_beside_a_call_at_which_another_limit_stops_its_parent(
    on_limit: str,
) -> None:
    with led({"max_tool_calls_per_turn": 1, "on_limit": on_limit}) as squad:
        asked = part(squad, "part", runs("true"), completes("Done."))
        more = Call("bash", {"command": "true"})
        task = squad.give(
            "lead", "One part", at_once(asked, more), summary=completes("It is done.")
        )
        squad.settle()
        assert [one.state for one in squad.sub_agents(task)] == [State.COMPLETED]
        expected = State.ESCALATED if on_limit == "escalate" else State.PAUSED
        assert squad.agent(task).state is expected


def test_a_sub_agent_that_takes_longer_than_a_tool_may_is_stopped_before_the_summary() -> None:
    with led({"max_tool_calls_per_turn": 1, "running_tool_wait": 50}) as squad:
        asked = part(squad, "part", runs("sleep 500"), summary=completes("I slept."))
        more = Call("bash", {"command": "true"})
        task = squad.give("lead", "One part", at_once(asked, more), summary=completes("It slept."))
        squad.passes(seconds=45)
        assert [one.state for one in squad.sub_agents(task)] == [State.ACTIVE]
        for _ in range(10):
            squad.passes(seconds=5)
        agent = squad.stopped(task)
        assert agent.summary == "It slept."
        [child] = squad.sub_agents(task)
        assert child.state is State.CANCELLED, "it ends with what it was asked for"
        assert squad.was_told(task, "It was stopped together with you.")
