"""Money: whole nano-USD inside, and limits on it that are exact to the last of them."""

from collections.abc import Callable
from dataclasses import replace
from decimal import Decimal
from fractions import Fraction

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from app.core.agents.counters import Counters
from app.core.agents.events import ModelAsked, Phase, Warned
from app.core.breaker.verdict import (
    Answer,
    Verdict,
    amount_words,
    is_affordable,
    left,
    money,
    usage,
)
from app.core.limits import CATALOGUE, LimitName, Limits
from app.core.money import NANOUSD, Price, nanousd, usd
from tests.core.life import Life, begun, halted
from tests.core.strategies import EXAMPLES, NO_LIMITS, START, only

COST = LimitName.MAX_COST_USD
PLANNING, EXECUTION = LimitName.MAX_PLANNING_COST_USD, LimitName.MAX_EXECUTION_COST_USD
TEN_CENTS = only(max_cost_usd=0.10)
CENT = NANOUSD // 100


# --- exactly reached, and one nano-USD below --------------------------------------------------


@pytest.mark.parametrize(
    ("spent", "trips"),
    [(0, False), (99_999_999, False), (100_000_000, True), (100_000_001, True), (10**12, True)],
)
@pytest.mark.parametrize("ask", [Life.ticks, Life.asks_turn, Life.asks_tool, Life.asks_model])
def test_a_limit_on_money_trips_when_it_is_reached_exactly(
    spent: int, trips: bool, ask: Callable[[Life], Verdict]
) -> None:
    """$0.10 trips, $0.099999999 does not, whatever is asked next."""
    life = begun(TEN_CENTS)
    life.model_answers(spent)
    verdict = ask(life)
    assert (verdict.answer is Answer.HALT) is trips
    if trips:
        assert halted(verdict, COST, usd(spent), 0.10)


def test_many_small_amounts_add_up_exactly() -> None:
    """Ten times $0.01 is $0.10, which sums of floating point numbers miss."""
    life = begun(TEN_CENTS)
    for _ in range(10):
        assert life.calls_model(CENT).allowed
    assert halted(life.ticks(), COST, 0.10, 0.10)


@pytest.mark.parametrize(
    ("estimate", "trips"),
    [(None, False), (0, False), (4 * CENT - 1, False), (4 * CENT, False), (4 * CENT + 1, True)],
)
def test_an_estimate_may_reach_the_maximum_and_not_pass_it(
    estimate: int | None, trips: bool
) -> None:
    life = begun(TEN_CENTS)
    life.model_answers(6 * CENT)
    verdict = life.asks_model(estimate)
    assert (verdict.answer is Answer.HALT) is trips
    if trips:
        assert halted(verdict, COST, 0.06, 0.10)
        words = "max_cost_usd reached: $0.06 of $0.10 spent, and the next model call may cost $0.04"
        assert words in verdict.reason


def test_the_words_of_a_stop_tell_of_the_calls_under_way() -> None:
    """$0.06 and $0.04 are not more than $0.10: what else was asked for has to be said."""
    life = begun(TEN_CENTS)
    life.model_answers(6 * CENT)
    assert life.asks_model(3 * CENT).allowed
    words = (
        "max_cost_usd reached: $0.06 of $0.10 spent, calls under way may cost $0.03, and the next"
        " model call may cost $0.04"
    )
    assert words in life.asks_model(4 * CENT).reason


def test_spent_and_estimate_are_added_without_rounding() -> None:
    """0.1 + 0.2 is 0.3 here."""
    life = begun(only(max_cost_usd=0.3))
    life.model_answers(10 * CENT)
    assert life.asks_model(20 * CENT).allowed
    assert life.asks_model(20 * CENT + 1).answer is Answer.HALT


@EXAMPLES
@given(st.integers(1, 400), st.integers(0, 400), st.integers(0, 400))
@example(30, 10, 20)
@example(70, 10, 60)
def test_whole_cents_are_compared_as_whole_cents(maximum: int, spent: int, ahead: int) -> None:
    life = begun(only(max_cost_usd=float(Decimal(maximum) / 100)))
    life.model_answers(spent * CENT)
    verdict = life.asks_model(ahead * CENT)
    assert (verdict.answer is Answer.HALT) is (spent >= maximum or spent + ahead > maximum)


@EXAMPLES
@given(st.integers(1, 300), st.integers(1, 300), st.integers(0, 600))
@example(10, 20, 30)
@example(20, 10, 30)
def test_what_was_raised_is_added_without_rounding(maximum: int, more: int, spent: int) -> None:
    life = begun(only(max_cost_usd=float(Decimal(maximum) / 100)))
    life.is_granted(COST, float(Decimal(more) / 100))
    life.model_answers(spent * CENT)
    assert (life.ticks().answer is Answer.HALT) is (spent >= maximum + more)


@EXAMPLES
@given(st.integers(1, 10_000), st.integers(0, 10_000))
@example(10, 8)
def test_a_warning_comes_at_eighty_percent_and_not_before(maximum: int, spent: int) -> None:
    life = begun(only(max_cost_usd=float(Decimal(maximum) / 100)))
    life.model_answers(spent * CENT)
    is_close = Fraction(spent, maximum) >= Fraction(4, 5) and spent < maximum
    assert (life.ticks().answer is Answer.WARN) is is_close


@EXAMPLES
@given(st.integers(1, 1_000), st.integers(0, 1_000), st.integers(0, 500))
@example(100, 90, 0)
def test_what_is_left_is_what_people_would_reckon(maximum: int, spent: int, kept: int) -> None:
    limits = only(max_cost_usd=float(Decimal(maximum) / 100))
    life = begun(limits)
    life.spawned("child", {COST: float(Decimal(kept) / 100)})
    life.model_answers(spent * CENT)
    expected = float(Decimal(max(maximum - spent - kept, 0)) / 100)
    assert left(life.counters, limits, COST, START) == expected


# --- an estimate is of the call that is asked for ---------------------------------------------


@pytest.mark.parametrize("ask", [Life.ticks, Life.asks_turn, Life.asks_tool])
def test_only_a_model_call_costs_anything_ahead(ask: Callable[[Life], Verdict]) -> None:
    life = begun(TEN_CENTS)
    life.model_answers(10 * CENT - 1)
    assert ask(life).allowed


def test_after_the_answer_its_price_counts_instead_of_the_estimate() -> None:
    life = begun(TEN_CENTS)
    for _ in range(4):
        assert life.calls_model(CENT, estimate_nanousd=6 * CENT).allowed
    assert life.counters.cost_nanousd == 4 * CENT
    assert life.asks_model(6 * CENT).allowed
    assert life.asks_model(6 * CENT + 1).answer is Answer.HALT


def test_a_price_that_nobody_knows_is_unknown_and_not_nothing() -> None:
    life = begun(TEN_CENTS)
    life.calls_model(None)
    life.calls_model(3 * CENT)
    assert (life.counters.cost_nanousd, life.counters.unpriced_calls) == (3 * CENT, 1)


def test_a_price_of_nothing_is_known() -> None:
    life = begun(TEN_CENTS)
    life.calls_model(0)
    assert (life.counters.cost_nanousd, life.counters.unpriced_calls) == (0, 0)


def test_money_of_sub_agents_counts_for_the_work() -> None:
    life = begun(only(max_cost_usd=0.10, max_planning_cost_usd=0.10))
    life.model_answers(4 * CENT, Phase.PLANNING)
    life.child_returns("child", cost_nanousd=6 * CENT)
    assert (life.counters.planning_nanousd, life.counters.execution_nanousd) == (4 * CENT, 6 * CENT)
    assert halted(life.ticks(), COST, 0.10, 0.10)


# --- phases -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("limit", "phase", "trips"),
    [
        (PLANNING, Phase.PLANNING, True),
        (PLANNING, Phase.EXECUTION, False),
        (EXECUTION, Phase.EXECUTION, True),
        (EXECUTION, Phase.PLANNING, False),
        (COST, Phase.PLANNING, True),
        (COST, Phase.EXECUTION, True),
    ],
)
def test_each_phase_has_its_own_bound(limit: LimitName, phase: Phase, trips: bool) -> None:
    """Seed 000, "Dual LLM Cost Tracking": planning, execution, and the two together."""
    spent = begun(only(**{limit.value: 0.10}))
    spent.model_answers(10 * CENT, phase)
    assert (spent.ticks().answer is Answer.HALT) is trips
    ahead = begun(only(**{limit.value: 0.10}))
    assert (ahead.asks_model(10 * CENT + 1, phase).answer is Answer.HALT) is trips


def test_seed_000s_three_limits_hold_side_by_side() -> None:
    """Seed 000, "Dual LLM Cost Tracking": $0.5 for planning, $0.3 for execution, $1.0 in all."""
    limits = only(max_planning_cost_usd=0.5, max_execution_cost_usd=0.3, max_cost_usd=1.0)
    life = begun(limits)
    assert life.calls_model(49 * CENT, 50 * CENT, Phase.PLANNING).allowed
    assert life.calls_model(29 * CENT, 30 * CENT, Phase.EXECUTION).allowed
    assert halted(life.asks_model(2 * CENT), EXECUTION, 0.29, 0.3)
    assert {use.name: use.observed for use in usage(life.counters, limits, START)} == {
        COST: 0.78,
        PLANNING: 0.49,
        EXECUTION: 0.29,
        LimitName.MAX_ACTIVE_DURATION: 0,
        LimitName.MAX_SLEEP_DURATION: 0,
    }


# --- words ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("amount", "text"),
    [
        (0, "$0.00"),
        (0.021, "$0.021"),
        (0.06, "$0.06"),
        (1, "$1.00"),
        (2.5, "$2.50"),
        (0.000123, "$0.000123"),
        (1_000_000, "$1000000.00"),
        (0.999999999, "$1.00"),
    ],
)
def test_money_reads_as_people_write_it(amount: float, text: str) -> None:
    assert money(amount) == text


def test_figures_of_money_and_of_counts_are_worded_each_in_its_way() -> None:
    assert amount_words(CATALOGUE[COST], 0.95, 1) == "$0.95 of $1.00"
    assert amount_words(CATALOGUE[LimitName.MAX_TOOL_CALLS], 7, 10) == "7 of 10 tool calls"


def test_a_warning_about_money_names_it() -> None:
    life = begun(TEN_CENTS)
    life.model_answers(9 * CENT)
    verdict = life.ticks()
    assert verdict.reason.startswith("Approaching a limit: max_cost_usd at $0.09 of $0.10. Wrap up")
    warned = [event for event in life.log if isinstance(event, Warned)]
    assert [(event.observed, event.maximum) for event in warned] == [(0.09, 0.1)]


# --- what is left -----------------------------------------------------------------------------


def test_of_two_bounds_the_lower_one_leaves_less() -> None:
    limits = only(max_cost_usd=5.0, ceilings={COST: 2.0})
    assert left(Counters(cost_nanousd=50 * CENT), limits, COST, START) == 1.5
    above = replace(limits, ceilings={COST: 9.0})
    assert left(Counters(cost_nanousd=50 * CENT), above, COST, START) == 4.5


def test_a_ceiling_alone_leaves_something_and_no_bound_leaves_everything() -> None:
    assert left(Counters(), only(ceilings={COST: 2.0}), COST, START) == 2
    assert left(Counters(), NO_LIMITS, COST, START) is None


def test_a_summary_is_affordable_while_no_bound_on_money_is_passed() -> None:
    spent = Counters(cost_nanousd=10 * CENT, model_calls=9)
    ask = ModelAsked(at=START, phase=Phase.EXECUTION, estimate_nanousd=CENT)
    assert is_affordable(spent, ask, NO_LIMITS)
    assert is_affordable(spent, ask, only(max_model_calls=9, max_cost_usd=5.0))
    assert not is_affordable(spent, ask, only(max_cost_usd=0.1))
    assert not is_affordable(spent, ask, only(max_model_calls=9, max_cost_usd=0.1))


def test_less_than_nothing_is_never_left() -> None:
    assert left(Counters(cost_nanousd=11 * CENT), TEN_CENTS, COST, START) == 0


# --- prices -----------------------------------------------------------------------------------

SONNET = Price(input=Decimal(3), output=Decimal(15))


@pytest.mark.parametrize(
    ("usd_per_million", "nanousd_per_token"), [(1, 1_000), (3, 3_000), (Decimal("0.25"), 250)]
)
def test_a_dollar_for_a_million_tokens_is_a_thousand_nanousd_for_one(
    usd_per_million: Decimal, nanousd_per_token: int
) -> None:
    price = Price(input=Decimal(usd_per_million), output=Decimal(0))
    assert price.cost_nanousd(1, 0) == nanousd_per_token
    assert price.cost_nanousd(1_000_000, 0) == usd_per_million * NANOUSD


def test_input_and_output_have_each_their_price() -> None:
    assert SONNET.cost_nanousd(1_000_000, 0) == 3 * NANOUSD
    assert SONNET.cost_nanousd(0, 1_000_000) == 15 * NANOUSD
    assert SONNET.cost_nanousd(0, 0) == 0


def test_cached_tokens_are_part_of_the_input_at_a_price_of_their_own() -> None:
    price = Price(Decimal(3), Decimal(15), cache_read=Decimal("0.3"), cache_write=Decimal("3.75"))
    million = 1_000_000
    assert price.cost_nanousd(3 * million, 0, million, million) == nanousd(3 + 0.3 + 3.75)
    assert price.cost_nanousd(million, 0, cache_read_tokens=million) == nanousd(0.3)
    assert price.cost_nanousd(million, 0, cache_write_tokens=million) == nanousd(3.75)


def test_without_a_price_of_their_own_cached_tokens_cost_what_input_costs() -> None:
    assert SONNET.cost_nanousd(1_000, 0, 400, 300) == SONNET.cost_nanousd(1_000, 0)


def test_a_free_cache_is_free() -> None:
    price = Price(Decimal(3), Decimal(15), cache_read=Decimal(0), cache_write=Decimal(0))
    assert price.cost_nanousd(100, 0, 60, 40) == 0


@pytest.mark.parametrize(
    ("input_tokens", "usd_per_million"),
    [(1, 3), (200_000, 3), (200_001, 6), (500_000, 6), (500_001, 9)],
)
def test_a_long_input_makes_the_whole_call_dearer(input_tokens: int, usd_per_million: int) -> None:
    long, longest = Price(Decimal(6), Decimal(22)), Price(Decimal(9), Decimal(30))
    price = replace(SONNET, above=((200_000, long), (500_000, longest)))
    assert price.cost_nanousd(input_tokens, 0) == input_tokens * usd_per_million * 1_000
    cached = price.cost_nanousd(200_001, 10, 1, 2)
    assert cached == long.cost_nanousd(200_001, 10, 1, 2)


def test_more_cached_tokens_than_input_make_no_cost_negative() -> None:
    assert SONNET.cost_nanousd(10, 0, 20, 0) == 20 * 3_000


def test_a_part_of_a_nanousd_is_rounded_up() -> None:
    price = Price(input=Decimal("0.0001"), output=Decimal(0))
    assert price.cost_nanousd(1, 0) == 1
    assert price.cost_nanousd(10, 0) == 1
    assert price.cost_nanousd(11, 0) == 2


@pytest.mark.parametrize(
    ("amount", "expected"),
    [(0.1, 10**8), (0.3, 3 * 10**8), (25, 25 * 10**9), (1e-9, 1), (1.5e-9, 2), (0, 0)],
)
def test_an_amount_is_read_as_it_was_written(amount: float, expected: int) -> None:
    assert nanousd(amount) == expected


@EXAMPLES
@given(st.integers(0, 10**12))
def test_there_and_back_is_the_same_amount(amount_micro_usd: int) -> None:
    assert nanousd(usd(amount_micro_usd * 1_000)) == amount_micro_usd * 1_000


def test_a_limit_and_the_same_amount_spent_are_equal() -> None:
    assert Limits(max_cost_usd=0.1).max_cost_usd == usd(nanousd(0.1))
