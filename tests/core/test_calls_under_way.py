"""Model calls that were asked for and not answered: what they may cost, and to which limit."""

import pytest

from app.core.agents.counters import OpenCall
from app.core.agents.events import Phase
from app.core.breaker.verdict import Answer, usage
from app.core.limits import LimitName
from tests.core.life import Life, begun, halted
from tests.core.strategies import only

CENT = 10_000_000
"""In nano-USD."""
PLANNING, EXECUTION = Phase.PLANNING, Phase.EXECUTION


def spent_by_a_sub_agent(life: Life, cents: int) -> None:
    life.spawned("child")
    life.child_returns("child", cost_nanousd=cents * CENT)


def test_a_call_without_an_estimate_waits_for_no_other() -> None:
    """Nobody knows what it costs: only what was spent can stop it."""
    life = begun(only(max_cost_usd=1.0))
    assert life.asks_model(90 * CENT).allowed
    spent_by_a_sub_agent(life, 20)
    assert life.asks_model(None).allowed
    assert halted(life.asks_model(1), LimitName.MAX_COST_USD, 0.2, 1.0)


def test_a_call_without_an_estimate_is_expected_to_cost_nothing() -> None:
    life = begun(only(max_cost_usd=1.0))
    assert life.asks_model(None).allowed
    assert life.asks_model(100 * CENT).allowed


def test_what_a_call_may_cost_is_no_amount_of_tokens() -> None:
    life = begun(only(max_tokens=120))
    assert life.calls_model(0, CENT).allowed
    assert life.asks_model(CENT).allowed, "110 of 120 tokens"


def test_a_call_of_one_phase_is_nothing_to_the_bound_of_the_other() -> None:
    life = begun(only(max_planning_cost_usd=1.0, max_execution_cost_usd=1.0))
    assert life.asks_model(90 * CENT, EXECUTION).allowed
    assert life.asks_model(90 * CENT, PLANNING).allowed
    spent_by_a_sub_agent(life, 20)
    assert life.asks_model(CENT, PLANNING).allowed, "0.2 spent and 0.9 under way are execution"
    assert halted(life.asks_model(CENT, EXECUTION), LimitName.MAX_EXECUTION_COST_USD, 0.2, 1.0)


def test_a_stop_by_another_limit_speaks_of_no_money() -> None:
    life = begun(only(max_model_calls=1))
    life.asks_model(CENT)
    assert halted(life.asks_model(CENT), LimitName.MAX_MODEL_CALLS, 1, 1)
    assert life.counters.trip is not None
    assert life.counters.trip.reason == "max_model_calls reached: 1 of 1 model calls."


@pytest.mark.parametrize(
    ("asked", "answered", "open_cents"),
    [
        ([(PLANNING, 1), (EXECUTION, 2)], EXECUTION, [1]),
        ([(PLANNING, 1), (EXECUTION, 2)], PLANNING, [2]),
        ([(EXECUTION, 1), (EXECUTION, 2)], EXECUTION, [2]),
        ([(PLANNING, 1), (PLANNING, 2), (PLANNING, 3)], EXECUTION, [2, 3]),
        ([], EXECUTION, []),
    ],
)
def test_an_answer_is_that_of_the_oldest_call_of_its_phase_or_of_the_oldest(
    asked: list[tuple[Phase, int]], answered: Phase, open_cents: list[int]
) -> None:
    life = begun()
    for phase, cents in asked:
        life.asks_model(cents * CENT, phase)
    life.model_answers(0, answered)
    left = [call.estimate_nanousd // CENT for call in life.counters.open_calls]
    assert left == open_cents


def test_calls_that_a_dead_process_asked_for_are_not_waited_for() -> None:
    life = begun()
    life.asks_model(CENT, PLANNING)
    [asked] = life.counters.open_calls
    assert asked == OpenCall(PLANNING, CENT)
    life.crashes()
    life.begins_segment()
    assert life.counters.open_calls == ()


def test_what_was_raised_is_shown_as_people_would_add_it() -> None:
    life = begun(only(max_cost_usd=0.1))
    life.is_granted(LimitName.MAX_COST_USD, 0.2)
    shown = {use.name: use.maximum for use in usage(life.counters, life.limits, life.now)}
    assert shown[LimitName.MAX_COST_USD] == 0.3


def test_only_a_tool_call_takes_of_what_sub_agents_were_promised() -> None:
    life = begun(only(max_tool_calls=3))
    life.asks_tool()
    life.spawned("child", {LimitName.MAX_TOOL_CALLS: 3})
    assert life.asks_turn().allowed
    assert life.asks_model().allowed
    assert life.ticks().allowed
    assert life.asks_tool().answer is Answer.DENY


def test_who_was_promised_no_tool_call_takes_none() -> None:
    life = begun(only(max_tool_calls=2))
    life.asks_tool()
    life.spawned("child", {LimitName.MAX_TOKENS: 5})
    life.spawned("other", {LimitName.MAX_TOOL_CALLS: 0})
    assert life.asks_tool().allowed
