"""The operator's ceilings: nothing below them counts there, and nobody passes them."""

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.core.breaker.verdict import Answer, LimitUse, usage
from app.core.limits import CATALOGUE, HOLDS, Action, LimitName, Limits
from tests.core.life import Life, begun, halted
from tests.core.strategies import EXAMPLES, START, only

CALLS = LimitName.MAX_TOOL_CALLS


def acting(action: Action, **maxima: object) -> Limits:
    """Limits that all do the same when they are reached."""
    return only(default_action=action, **maxima)


def uses(life: Life, calls: int) -> list[Answer]:
    """So many tool calls are asked for."""
    return [life.asks_tool().answer for _ in range(calls)]


# --- ceilings ---------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "limits",
    [
        only(max_tool_calls=None),
        acting(Action.WARN, max_tool_calls=3),
        only(max_tool_calls=3, shadow=frozenset({CALLS})),
    ],
)
def test_at_a_ceiling_null_warn_and_shadow_do_not_count(limits: Limits) -> None:
    """EXAMPLES: "never below a ceiling: there … do not count and the ceiling escalates"."""
    life = begun(replace(limits, ceilings={CALLS: 8}))
    assert Answer.HALT not in uses(life, 8)
    assert halted(life.asks_tool(), CALLS, 8, 8)
    assert life.counters.trip is not None


@pytest.mark.parametrize("action", sorted(HOLDS))
def test_below_a_ceiling_a_hold_asks_and_at_it_nobody_is_asked(action: Action) -> None:
    life = begun(acting(action, max_tool_calls=3, ceilings={CALLS: 5}))
    uses(life, 4)
    assert life.counters.hold is not None
    life.is_granted(CALLS, 100)
    assert uses(life, 2) == [Answer.ALLOW] * 2
    assert halted(life.asks_tool(), CALLS, 5, 5)
    assert life.counters.trip is not None and life.counters.hold is None


@pytest.mark.parametrize("maximum", [5, 6, 100])
def test_a_maximum_at_or_above_its_ceiling_stops_at_the_ceiling(maximum: int) -> None:
    life = begun(acting(Action.PAUSE, max_tool_calls=maximum, ceilings={CALLS: 5}))
    assert Answer.HALT not in uses(life, 5)
    assert halted(life.asks_tool(), CALLS, 5, 5)
    assert life.counters.trip is not None


def test_an_amount_stops_at_its_ceiling_when_it_has_reached_it() -> None:
    name = LimitName.MAX_COST_USD
    life = begun(only(ceilings={name: 0.5}))
    life.model_answers(499_999_999)
    assert life.ticks().allowed
    assert life.asks_model(1).allowed
    life.model_answers(1)
    assert halted(life.ticks(), name, 0.5, 0.5)


def test_an_estimate_may_not_pass_a_ceiling() -> None:
    name = LimitName.MAX_COST_USD
    life = begun(only(ceilings={name: 0.5}))
    assert life.asks_model(500_000_000).allowed
    assert halted(life.asks_model(500_000_001), name, 0, 0.5)


def test_outcomes_stop_at_a_ceiling_too() -> None:
    name = LimitName.MAX_REPEATED_CALLS
    life = begun(acting(Action.WARN, max_repeated_calls=2, ceilings={name: 4}))
    assert all(life.does("ls").allowed for _ in range(4))
    assert halted(life.does("ls"), name, 4, 4)


@EXAMPLES
@given(
    st.sampled_from(list(Action)),
    st.none() | st.integers(1, 12),
    st.integers(1, 12),
    st.booleans(),
    st.lists(st.integers(0, 5), max_size=4),
)
def test_nobody_ever_passes_a_ceiling(
    action: Action, maximum: int | None, ceiling: int, shadow: bool, raises: list[int]
) -> None:
    limits = acting(
        action,
        max_tool_calls=maximum,
        shadow=frozenset({CALLS}) if shadow else frozenset(),
        ceilings={CALLS: ceiling},
    )
    life = begun(limits)
    for more in [*raises, 0]:
        uses(life, 8)
        assert life.counters.tool_calls <= ceiling
        life.is_granted(CALLS, more)
    if life.counters.tool_calls == ceiling:
        life.asks_tool()
        assert life.counters.trip is not None and life.counters.trip.maximum == ceiling


# --- what is shown ----------------------------------------------------------------------------


def test_use_is_shown_with_what_was_raised() -> None:
    life = begun(acting(Action.PAUSE, max_tool_calls=5))
    uses(life, 4)
    life.is_granted(CALLS, 10)
    assert LimitUse(CATALOGUE[CALLS], 4, 15) in usage(life.counters, life.limits, START)


def test_a_limit_that_only_its_ceiling_bounds_is_shown_with_it() -> None:
    """The comment of a trip at the ceiling has a row for it."""
    life = begun(only(ceilings={CALLS: 8}))
    uses(life, 3)
    assert LimitUse(CATALOGUE[CALLS], 3, 8) in usage(life.counters, life.limits, START)
