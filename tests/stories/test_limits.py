"""Each limit stops its agent, by the layer that sees it first, and a human finds everything."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

import pytest

from app.core.agents.events import Tripped
from app.core.agents.lifecycle import State
from app.core.agents.stops import Layer
from app.scripted.script import Answer, Call
from tests.support.people import REPOSITORY, Task, repository
from tests.support.steps import commits, completes, is_blocked, runs, says, thinks, writes
from tests.twins.shell import TEST
from tests.twins.story import Story, story

OPERATOR: Final = {"pricing": {"scripted": {"input": 100, "output": 0}}}
TRIES: Final = tuple(
    step for number in range(4) for step in (writes("answer", f"{number}\n"), runs(TEST))
)
"""Each run of the tests fails, and each is after a change."""
FIXES: Final = (writes("answer", "42\n"), runs(TEST), commits("Answer"), completes("It is 42."))


def nothing(squad: Story, task: Task) -> None:
    """It trips by itself."""


def passes(*seconds: float) -> Callable[[Story, Task], None]:
    def turn(squad: Story, task: Task) -> None:
        for each in seconds:
            squad.passes(seconds=each)

    return turn


def two_reviews(squad: Story, task: Task) -> None:
    for words in ("Explain it.", "Explain it better."):
        pull = f"/repos/{task.repository}/pulls/{squad.agent(task).pull_request}"
        content = {"event": "REQUEST_CHANGES", "body": words}
        squad.does("maria", "POST", f"{pull}/reviews", content)
        squad.settle()


def no_timer(squad: Story, task: Task) -> None:
    squad.clock.lose("watch ")
    squad.passes(minutes=5)
    squad.passes(minutes=5)


@dataclass(frozen=True, slots=True)
class Case:
    """How a limit is reached."""

    limit: str
    keys: Mapping[str, Any]
    """Of the role."""
    steps: Sequence[Answer]
    layer: Layer
    happens: Callable[[Story, Task], None] = nothing
    operator: Mapping[str, Any] | None = None


CASES: Final[Mapping[str, Case]] = {
    "a tool call too many": Case(
        "max_tool_calls", {"max_tool_calls": 2}, [*(runs("true"),) * 3], Layer.HOOK
    ),
    "a fix cycle too many": Case("max_iterations", {"max_iterations": 2}, TRIES, Layer.HOOK),
    "a turn too many": Case("max_turns", {"max_turns": 1}, [says("Hm."), says("Hm.")], Layer.HOOK),
    "a model call too many": Case(
        "max_model_calls", {"max_model_calls": 2}, [*(runs("true"),) * 3], Layer.HOOK
    ),
    "too many tokens": Case("max_tokens", {"max_tokens": 900}, [*TRIES], Layer.HOOK),
    "too much money": Case(
        "max_cost_usd",
        {"max_cost_usd": 0.3, "max_output_tokens_per_call": 1},
        TRIES,
        Layer.HOOK,
        operator=OPERATOR,
    ),
    "too many tools without a word": Case(
        "max_consecutive_tools", {"max_consecutive_tools": 2}, [*(runs("true"),) * 3], Layer.HOOK
    ),
    "too many tools in a turn": Case(
        "max_tool_calls_per_turn",
        {"max_tool_calls_per_turn": 2},
        [*(runs("true", "I try."),) * 3],
        Layer.HOOK,
    ),
    "the same error again": Case(
        "max_repeated_errors", {"max_repeated_errors": 2}, [*(runs("cat none"),) * 3], Layer.HOOK
    ),
    "the same call again": Case(
        "max_repeated_calls", {"max_repeated_calls": 2}, [*(runs("echo x"),) * 3], Layer.HOOK
    ),
    "a sub-agent too many": Case(
        "max_spawns",
        {"max_spawns": 1},
        [*(Answer("", (Call("task", {"role": "docs", "prompt": "Read."}),)),) * 2],
        Layer.HOOK,
    ),
    "too long at work, in thought": Case(
        "max_active_duration",
        {"max_active_duration": 600},
        [thinks(3_000)],
        Layer.TIMER,
        passes(601),
    ),
    "too long at work, in a tool": Case(
        "max_active_duration",
        {"max_active_duration": 60},
        [runs("sleep 100")],
        Layer.TIMER,
        passes(61, 6),
    ),
    "too long at work, with no timer": Case(
        "max_active_duration",
        {"max_active_duration": 60},
        [thinks(3_000)],
        Layer.RECONCILIATION,
        no_timer,
    ),
    "too long silent": Case(
        "max_idle_duration",
        {"max_idle_duration": 60},
        [thinks(3_000)],
        Layer.TIMER,
        passes(61),
    ),
    "too long asleep for an answer": Case(
        "max_sleep_duration",
        {"max_sleep_duration": 3_600},
        [is_blocked("Which colour?")],
        Layer.RECONCILIATION,
        passes(3_700),
    ),
    "too long asleep for an issue": Case(
        "max_sleep_duration",
        {"max_sleep_duration": 3_600},
        [is_blocked("Upstream first.", 1)],
        Layer.RECONCILIATION,
        passes(3_700),
    ),
    "a review round too many": Case(
        "max_review_rounds",
        {"max_review_rounds": 1},
        [*FIXES, writes("more", "m\n"), runs(TEST), commits("More"), completes("More.")],
        Layer.HOOK,
        two_reviews,
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_who_reaches_a_limit_is_stopped_and_a_human_is_told(name: str) -> None:
    case = CASES[name]
    places = {REPOSITORY: repository({"fixer": {"summary_wait": 5, **case.keys}, "docs": {}})}
    with story(places, operator=case.operator) as squad:
        squad.issue("Upstream")
        task = squad.give("fixer", "The answer is wrong", *case.steps)
        case.happens(squad, task)
        agent = squad.stopped(task)
        assert agent.trip is not None
        assert (agent.trip.limit, agent.trip.layer) == (case.limit, case.layer)
        assert sum(isinstance(event, Tripped) for event in squad.log(agent.id)) == 1


def test_a_role_may_be_stopped_by_the_time_that_its_segments_took_together() -> None:
    keys = {"max_active_duration": 600, "max_idle_duration": None}
    steps = thinks(400), is_blocked("Which colour?"), thinks(400)
    with story({REPOSITORY: repository({"fixer": keys})}) as squad:
        task = squad.give("fixer", "The answer is wrong", *steps)
        squad.passes(seconds=400)
        assert squad.agent(task).state is State.SLEEPING
        squad.passes(hours=20)
        squad.comment(task, "Blue.")
        squad.settle()
        squad.passes(seconds=190)
        assert squad.agent(task).state is State.ACTIVE
        squad.passes(seconds=20)
        trip = squad.stopped(task).trip
        assert trip is not None and trip.layer is Layer.TIMER
        assert trip.observed is not None and 600 <= trip.observed <= 620
