"""An answer is as long as money and tokens allow, and never too short to be of use."""

from dataclasses import replace
from decimal import Decimal

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from app.core.agents.counters import Counters, OpenCall
from app.core.agents.events import ModelAsked, Phase
from app.core.breaker.answers import (
    LEAST_ANSWER_TOKENS,
    USUAL_ANSWER_TOKENS,
    Question,
    answer_tokens,
)
from app.core.breaker.verdict import decide
from app.core.limits import Action, LimitName, Limits
from app.core.money import Price
from tests.core.strategies import EXAMPLES, NO_LIMITS, START

CHEAP = Price(Decimal("0.15"), Decimal("0.60"))
DEAR = Price(Decimal(15), Decimal(75))
USD = 1_000_000_000


def asked(price: Price | None = DEAR, tokens: int = 2_000, most: int | None = 8_192) -> Question:
    return Question(Phase.EXECUTION, tokens, price, most)


def bound(question: Question, limits: Limits, counters: Counters | None = None) -> int | None:
    return answer_tokens(question, counters or Counters(), limits, START)


def test_an_answer_is_as_long_as_was_asked_for_while_there_is_enough() -> None:
    limits = replace(NO_LIMITS, max_cost_usd=1.0, max_tokens=100_000)
    assert bound(asked(), limits) == 8_192
    assert bound(asked(most=None), limits) is None
    assert bound(asked(price=None), replace(NO_LIMITS, max_cost_usd=0.01)) == 8_192


def test_it_is_as_long_as_the_money_goes() -> None:
    """$0.03 for the input, and $0.075 for a thousand tokens of output."""
    limits = replace(NO_LIMITS, max_cost_usd=0.105)
    assert bound(asked(), limits) == 1_000
    assert bound(asked(most=None), limits) == 1_000
    spent = Counters(cost_nanousd=15_000_000)
    assert bound(asked(), limits, spent) == 800
    under_way = Counters(open_calls=(OpenCall(Phase.EXECUTION, 15_000_000),))
    assert bound(asked(), limits, under_way) == 800


def test_it_is_as_long_as_the_tokens_go() -> None:
    limits = replace(NO_LIMITS, max_tokens=4_096)
    assert bound(asked(), limits) == 2_096
    assert bound(asked(), limits, Counters(input_tokens=1_000, output_tokens=96)) == 1_000
    both = replace(limits, max_cost_usd=0.105)
    assert bound(asked(), both) == 1_000


def test_less_than_is_of_use_is_never_asked_for() -> None:
    limits = replace(NO_LIMITS, max_cost_usd=0.03)
    assert bound(asked(), limits) == LEAST_ANSWER_TOKENS
    assert bound(asked(most=100), limits) == 100
    thinks = Question(Phase.EXECUTION, 2_000, DEAR, 8_192, least_tokens=4_608)
    assert bound(thinks, limits) == 4_608


def test_only_what_stops_the_agent_bounds_its_answers() -> None:
    warns = replace(NO_LIMITS, max_cost_usd=0.05, actions={LimitName.MAX_COST_USD: Action.WARN})
    shown = replace(NO_LIMITS, max_tokens=10, shadow=frozenset({LimitName.MAX_TOKENS}))
    assert bound(asked(), warns) == bound(asked(), shown) == 8_192
    assert bound(asked(), replace(warns, ceilings={LimitName.MAX_COST_USD: 0.105})) == 1_000


def test_each_phase_is_bounded_by_its_own_money() -> None:
    limits = replace(NO_LIMITS, max_planning_cost_usd=0.105, max_execution_cost_usd=0.075)
    assert bound(asked(), limits) == 600
    assert bound(replace(asked(), phase=Phase.PLANNING), limits) == 1_000


def test_a_raise_lengthens_it() -> None:
    limits = replace(NO_LIMITS, max_cost_usd=0.105)
    raised = Counters(raised={LimitName.MAX_COST_USD: 0.015})
    assert bound(asked(), limits, raised) == 1_200


def test_output_that_costs_nothing_is_bounded_by_its_input_alone() -> None:
    free = Price(Decimal(15), Decimal(0))
    assert bound(asked(free), replace(NO_LIMITS, max_cost_usd=0.03)) == 8_192
    assert bound(asked(free), replace(NO_LIMITS, max_cost_usd=0.02)) == LEAST_ANSWER_TOKENS


def test_the_price_of_its_size_counts() -> None:
    tiered = replace(CHEAP, above=((1_000, DEAR),))
    assert bound(asked(tiered), replace(NO_LIMITS, max_cost_usd=0.105)) == 1_000


@EXAMPLES
@given(
    st.integers(1, 10_000_000),
    st.integers(0, 1_000_000_000),
    st.integers(0, 50_000),
    st.decimals("0.01", "100", places=2),
    st.decimals("0.01", "100", places=2),
    st.none() | st.integers(1, 64_000),
)
@example(105_000, 0, 2_000, Decimal(15), Decimal(75), 8_192)
def test_the_breaker_allows_what_the_bound_came_to_and_no_token_more(
    micro_usd: int, spent: int, tokens: int, paid_in: Decimal, paid_out: Decimal, most: int | None
) -> None:
    limits = replace(NO_LIMITS, max_cost_usd=max(micro_usd, 10_000) / 1_000_000)
    question = asked(Price(paid_in, paid_out), tokens, most)
    counters = Counters(cost_nanousd=spent)
    found = bound(question, limits, counters)

    def allows(answer: int) -> bool:
        estimate = question.estimate_nanousd(answer)
        ask = ModelAsked(at=START, estimate_nanousd=estimate)
        return decide(counters, ask, limits).verdict.allowed

    if found is None:
        assert allows(USUAL_ANSWER_TOKENS)
    elif found == most:
        assert allows(found) or found <= LEAST_ANSWER_TOKENS
    elif found > LEAST_ANSWER_TOKENS:
        assert allows(found) and not allows(found + 1)


@pytest.mark.parametrize("price", [CHEAP, DEAR])
@pytest.mark.parametrize("nano", [0, 1, 149, 150, 10**6, USD])
def test_what_an_amount_pays_for_is_the_most_that_costs_no_more(price: Price, nano: int) -> None:
    for tokens in (0, 1, 2_000):
        found = price.output_tokens(nano, tokens)
        assert found is not None
        if found >= 0:
            assert price.cost_nanousd(tokens, found) <= nano < price.cost_nanousd(tokens, found + 1)
        else:
            assert price.cost_nanousd(tokens, 0) > nano
