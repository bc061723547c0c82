"""What `on_limit` says happens at a limit: the agent is stopped, paused, asks, or is warned."""

from collections.abc import Mapping
from typing import Any, Final

import pytest

from app.core.agents.events import Held, Passed, Raised, Waits
from app.core.agents.lifecycle import State
from app.core.agents.stops import Layer
from app.scripted.script import Answer
from tests.support.people import REPOSITORY, repository
from tests.support.steps import commits, completes, runs, thinks, writes
from tests.twins.shell import TEST
from tests.twins.story import story

FIXES: Final = (writes("answer", "42\n"), runs(TEST), commits("Answer"), completes("It is 42."))
AT_REVIEW, PAUSED = (State.SLEEPING, Waits.REVIEW), (State.PAUSED, Waits.RAISE)
LIMITS: Final[Mapping[str, tuple[Mapping[str, Any], tuple[Answer, ...], str, Layer]]] = {
    "tool calls": (
        {"max_tool_calls": 3},
        (runs("true"), runs("ls"), runs("echo 3"), runs("echo 4"), *FIXES),
        "max_tool_calls +20",
        Layer.HOOK,
    ),
    "turns": ({"max_turns": 1}, (Answer("Hm."), *FIXES), "max_turns +5", Layer.HOOK),
    "active time": (
        {"max_active_duration": 60},
        (thinks(61), *FIXES),
        "max_active_duration +600",
        Layer.TIMER,
    ),
}
"""The role's keys, what it does, what it needs more of, and who sees it."""


@pytest.mark.parametrize("limit", LIMITS)
@pytest.mark.parametrize("action", ["pause", "request_increase"])
def test_it_is_paused_and_goes_on_with_more(action: str, limit: str) -> None:
    keys, steps, more, layer = LIMITS[limit]
    places = {REPOSITORY: repository({"fixer": {**keys, "on_limit": action}})}
    with story(places) as squad:
        task = squad.give("fixer", "The answer is wrong", *steps)
        squad.passes(seconds=61)
        assert squad.states(task) == [PAUSED]
        agent = squad.agent(task)
        [held] = [event for event in squad.log(agent.id) if isinstance(event, Held)]
        assert held.hold.layer is layer
        [comment] = squad.comments(task)
        assert f"[squadron:fixer] The agent is paused: {held.hold.reason}" in comment
        assert squad.checks(task)[0]["conclusion"] == "action_required"
        assert squad.needs_human(task) == []
        squad.passes(hours=10)
        assert squad.states(task) == [PAUSED]
        squad.comment(task, f"/squadron raise {more}")
        squad.settle()
        assert squad.states(task) == [AT_REVIEW]
        assert sum(isinstance(event, Raised) for event in squad.log(agent.id)) == 1
        assert len(squad.comments(task)) == 1


@pytest.mark.parametrize("limit", ["tool calls", "turns"])
@pytest.mark.parametrize("keys", [{"on_limit": "warn"}, {"shadow": True}], ids=["warn", "shadow"])
def test_it_goes_on_and_that_is_noted_once(keys: Mapping[str, Any], limit: str) -> None:
    maxima, steps, _, _ = LIMITS[limit]
    shadow = {"shadow": [*maxima]} if "shadow" in keys else keys
    places = {REPOSITORY: repository({"fixer": {**maxima, **shadow}})}
    with story(places) as squad:
        task = squad.give("fixer", "The answer is wrong", *steps)
        assert squad.states(task) == [AT_REVIEW]
        log = squad.log(squad.agent(task).id)
        assert sum(isinstance(event, Passed) for event in log) == 1


def test_who_is_paused_and_forgotten_is_stopped() -> None:
    keys = {"max_tool_calls": 1, "on_limit": "pause", "max_sleep_duration": 3_600}
    with story({REPOSITORY: repository({"fixer": keys})}) as squad:
        task = squad.give("fixer", "The answer is wrong", runs("true"), runs("ls"))
        squad.passes(minutes=50)
        assert squad.states(task) == [PAUSED]
        squad.passes(minutes=20)
        trip = squad.stopped(task).trip
        assert trip is not None and trip.layer is Layer.RECONCILIATION


def test_three_days_of_waiting_and_work_take_no_time() -> None:
    """An agent that asks, waits, works for an hour, and is paused, over three days."""
    keys = {"max_tool_calls": 3, "on_limit": "pause"}
    steps = (runs("true"), runs("ls"), thinks(3_600), runs("echo 3"), runs("echo 4"), *FIXES)
    places = {REPOSITORY: repository({"fixer": {**keys, "max_idle_duration": 7_000}})}
    with story(places) as squad:
        task = squad.give("fixer", "The answer is wrong", *steps)
        squad.passes(hours=1)
        assert squad.states(task) == [PAUSED]
        for _ in range(3):
            squad.passes(hours=23)
            squad.comment(task, "/squadron raise max_tool_calls +1")
            squad.settle()
        squad.passes(hours=3)
        assert (squad.clock.monotonic() // 86_400) == 3
