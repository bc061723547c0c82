"""What finished agents used of their limits, from what lists show of them."""

from collections.abc import Mapping

import pytest

from app.core.breaker.verdict import LimitUse
from app.core.history.role_use import role_use
from app.core.limits import CATALOGUE, LimitName, Limits
from app.core.words.glance import Glance

CALLS, COST = LimitName.MAX_TOOL_CALLS, LimitName.MAX_COST_USD


def seen(used: Mapping[LimitName, float], *, has_unpriced: bool = False) -> Glance:
    uses = tuple(LimitUse(CATALOGUE[name], amount, 1_000) for name, amount in used.items())
    return Glance(uses, 0, 0, has_unpriced, False, "", None, None)


def test_each_limit_that_was_used_tells_half_ninety_five_of_a_hundred_and_the_most() -> None:
    finished = [seen({CALLS: number, LimitName.MAX_TURNS: 0}) for number in range(1, 101)]
    [calls] = role_use(Limits(max_tool_calls=200), finished)
    assert (calls.name, calls.present) == (CALLS, 200)
    assert (calls.used.median, calls.used.p95, calls.used.most) == (50, 95, 100)
    assert calls.suggested == 120


@pytest.mark.parametrize(("finished", "suggested"), [(9, None), (10, 10)])
def test_too_few_suggest_nothing(finished: int, suggested: float | None) -> None:
    [calls] = role_use(Limits(max_tool_calls=200), [seen({CALLS: 8})] * finished)
    assert calls.suggested == suggested


def test_no_ceiling_is_passed_and_no_limit_switched_on() -> None:
    many = [seen({CALLS: 100})] * 10
    [calls] = role_use(Limits(max_tool_calls=50, ceilings={CALLS: 90}), many)
    assert calls.suggested == 90
    [off] = role_use(Limits(max_tool_calls=None), many)
    assert (off.present, off.suggested) == (None, None)


def test_whoever_called_a_model_without_a_price_says_nothing_of_money() -> None:
    used = {CALLS: 3, COST: 0.5}
    found = role_use(Limits(), [seen(used), seen({CALLS: 3, COST: 0.1}, has_unpriced=True)])
    assert {each.name: each.used.median for each in found} == {CALLS: 3, COST: 0.5}


def test_a_limit_on_one_turn_is_left_out_for_its_last_figure_is_not_its_most() -> None:
    assert role_use(Limits(), [seen({LimitName.MAX_TOOL_CALLS_PER_TURN: 7})]) == []
