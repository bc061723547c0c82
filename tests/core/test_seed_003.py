"""Seed 003, "Limits and Safety": check_limits, the resolution of a child's limits and the chain
of depths, figure by figure. The budget flow is in `tests/contract/test_ledger.py`.

Its turns are model calls here (`max_model_calls`), its spend is `max_cost_usd`, its depth N is
`max_depth` N - 1. Its defaults are not ours.
"""

from collections.abc import Callable
from dataclasses import replace

import pytest

from app.core.agents.counters import Counters
from app.core.breaker.sub_agent_limits import NothingLeft, child_limits, overridden
from app.core.breaker.verdict import Answer, Verdict
from app.core.limits import LimitName, Limits
from app.core.limits.presets import PRESETS
from app.core.money import nanousd
from tests.core.life import Life, begun, halted
from tests.core.strategies import NO_LIMITS, START, only

TURNS, SPEND = LimitName.MAX_MODEL_CALLS, LimitName.MAX_COST_USD
PRESET_ROWS = """
    execution-leaf        4  0.05    4096
    strategy-leaf         6  0.05    4096
    execution-leaf-plus  10  0.10    4096
    sub-orchestrator     20  1.00  200000
    root-orchestrator    30  3.00  200000
"""
"""Seed 003, "Practical Limit Presets": turns, spend, tokens."""
ROWS = [line.split() for line in PRESET_ROWS.strip().splitlines()]


def depth(of_seed: int) -> int:
    """The seed's depth counts the agent itself."""
    return of_seed - 1


# --- "Limit Checking" -------------------------------------------------------------------------


def test_check_limits_at_turns() -> None:
    """Seed 003, "Limit Checking": `turns_exceeded (10/10)` at the start of the eleventh."""
    life = begun(only(max_model_calls=10))
    assert all(life.calls_model().allowed for _ in range(10))
    verdict = life.asks_model()
    assert halted(verdict, TURNS, 10, 10)
    assert "10 of 10" in verdict.reason


@pytest.mark.parametrize(("tokens", "exceeded"), [(199_999, False), (200_000, True)])
def test_check_limits_at_tokens(tokens: int, exceeded: bool) -> None:
    """Seed 003, "Limit Checking": input and output, current >= maximum."""
    life = begun(only(max_tokens=200_000))
    life.model_answers(input_tokens=tokens - 50_000, output_tokens=50_000)
    assert (life.asks_model().answer is Answer.HALT) is exceeded


@pytest.mark.parametrize(("spend", "exceeded"), [(499_999_999, False), (500_000_000, True)])
def test_check_limits_at_spend(spend: int, exceeded: bool) -> None:
    life = begun(only(max_cost_usd=0.50))
    life.model_answers(spend)
    assert (life.asks_model().answer is Answer.HALT) is exceeded


@pytest.mark.parametrize(("elapsed", "exceeded"), [(599.999, False), (600, True)])
def test_check_limits_at_duration(elapsed: float, exceeded: bool) -> None:
    life = begun(only(max_active_duration=600))
    life.waits(elapsed)
    assert (life.asks_model().answer is Answer.HALT) is exceeded


def test_a_limit_that_is_none_is_not_checked() -> None:
    """Seed 003, "Limit Checking": `maximum is not None and …`."""
    life = begun(NO_LIMITS)
    assert all(life.calls_model(10**12).answer is Answer.ALLOW for _ in range(100))


def test_of_several_limits_the_first_that_is_exceeded_is_told() -> None:
    """Seed 003, "Limit Checking": turns, tokens, spend, duration; the catalogue's order is ours."""
    life = begun(only(max_model_calls=1, max_tokens=110, max_cost_usd=0.01))
    life.calls_model(10**7)
    assert halted(life.asks_model(), TURNS, 1, 1)
    life = begun(only(max_model_calls=1, max_tokens=110, max_cost_usd=0.01))
    life.calls_model(10**7)
    assert halted(life.ticks(), LimitName.MAX_TOKENS, 110, 110)


@pytest.mark.parametrize("ask", [Life.asks_model, Life.asks_turn, Life.asks_tool])
def test_without_a_hook_that_handles_it_the_thread_terminates(
    ask: Callable[[Life], Verdict],
) -> None:
    """Seed 003, "Limit Checking" 3: `Limit exceeded: turns_exceeded (10/10)`."""
    life = begun(only(max_model_calls=10))
    for _ in range(11):
        life.calls_model()
    assert life.counters.trip is not None
    assert life.counters.trip.reason == "max_model_calls reached: 10 of 10 model calls."
    if ask is not Life.asks_model:  # the model may still be asked for its summary
        assert ask(life).answer is Answer.DENY


# --- "Limit Resolution Order" -----------------------------------------------------------------


def test_the_resolution_example() -> None:
    """Seed 003, "Resolution Example": turns=10, spend=0.10, depth=3."""
    defaults = only(max_model_calls=15, max_cost_usd=0.50, max_depth=depth(5))
    directive = replace(defaults, max_model_calls=30)
    asked_for = overridden(directive, {"max_model_calls": 10, "max_cost_usd": 0.10})
    parent = only(max_model_calls=30, max_cost_usd=1.00, max_depth=depth(4))
    child = child_limits(asked_for, parent, Counters(), START)
    assert (child.max_model_calls, child.max_cost_usd) == (10, 0.10)
    assert child.max_depth == depth(3)


def test_a_parents_spend_of_one_dollar_caps_a_wish_for_five() -> None:
    """Seed 003, "Layer 4: Parent upper bounds"."""
    parent = only(max_cost_usd=1.00)
    child = child_limits(only(max_cost_usd=5.00), parent, Counters(), START)
    assert child.max_cost_usd == 1.00


@pytest.mark.parametrize(
    "key",
    ["max_model_calls", "max_tokens", "max_cost_usd", "max_spawns", "max_active_duration"],
)
@pytest.mark.parametrize(("own", "parent", "expected"), [(5, 3, 3), (3, 5, 3), (4, 4, 4)])
def test_each_shared_limit_is_the_lower_of_the_two(
    key: str, own: int, parent: int, expected: int
) -> None:
    """Seed 003, "Layer 4": min() of turns, tokens, spend, spawns and duration."""
    child = child_limits(only(**{key: own}), only(**{key: parent}), Counters(), START)
    assert child.maximum(LimitName(key)) == expected


def test_the_chain_of_depths() -> None:
    """Seed 003, "Depth Decrement": 3, 2, 1, and the great-grandchild's 0 fails."""
    parent = only(max_depth=depth(3))
    child = child_limits(NO_LIMITS, parent, Counters(), START)
    grandchild = child_limits(NO_LIMITS, child, Counters(), START)
    assert (child.max_depth, grandchild.max_depth) == (depth(2), depth(1))
    with pytest.raises(NothingLeft, match="max_depth: no further level"):
        child_limits(NO_LIMITS, grandchild, Counters(), START)


def test_depth_is_decremented_and_not_capped() -> None:
    """Seed 003, "Depth Decrement": min(own, parent - 1), never min(own, parent)."""
    child = child_limits(only(max_depth=2), only(max_depth=2), Counters(), START)
    assert child.max_depth == 1
    shallow = child_limits(only(max_depth=0), only(max_depth=5), Counters(), START)
    assert shallow.max_depth == 0


# --- "Practical Limit Presets" ----------------------------------------------------------------


def of_preset(name: str) -> Limits:
    """The limits of a role with this preset, and nothing else that could stop it."""
    return only(**{limit.value: value for limit, value in PRESETS[name].limits.items()})


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row[0])
def test_a_preset_bounds_turns_spend_and_tokens(row: list[str]) -> None:
    name, turns, spend, tokens = row
    limits = of_preset(name)
    life = begun(replace(limits, max_tokens=None))
    assert all(life.calls_model().allowed for _ in range(int(turns)))
    assert halted(life.asks_model(), TURNS, int(turns), int(turns))
    life = begun(limits)
    life.model_answers(nanousd(float(spend)), input_tokens=0, output_tokens=0)
    assert halted(life.ticks(), SPEND, float(spend), float(spend))
    life = begun(limits)
    life.model_answers(input_tokens=int(tokens), output_tokens=0)
    assert halted(life.ticks(), LimitName.MAX_TOKENS, int(tokens), int(tokens))
