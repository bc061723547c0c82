"""The least that limits on money and tokens have to leave: for one tool call and a return.

Less stops an agent before it has done anything, so it is a mistake in the configuration and no
limit.
"""

from collections.abc import Mapping
from decimal import ROUND_CEILING, Decimal
from typing import Final

from app.core.agents.counters import Counters, stops_at
from app.core.breaker.answers import LEAST_ANSWER_TOKENS
from app.core.limits import LimitName, Limits
from app.core.money import NANOUSD, Price
from app.core.rules.plan import RuntimeName

FIRST_REQUEST_TOKENS: Final[Mapping[RuntimeName, int]] = {
    "embedded": 2_500,
    "copilot": 8_500,
    "claude": 8_000,
}
"""About what a runtime sends at first: its instruction, its tools, the role's prompt and an issue
of a few lines; measured with version 1.0.102 of the copilot CLI and 2.1.330 of the claude
CLI, at four characters a token."""
_CENT: Final = NANOUSD // 100


def least_amounts(
    runtime: RuntimeName, price: Price | None, planning: Price | None, *, plans: bool
) -> Mapping[LimitName, float]:
    """What an agent needs at least of each limit; money in whole cents, and only where the price
    is known. `plans`: another model, of the price `planning`, is asked first."""
    first = FIRST_REQUEST_TOKENS[runtime]
    second = first + LEAST_ANSWER_TOKENS
    begins = _cost(planning if plans else price, first)
    returns = _cost(price, second)
    least: dict[LimitName, float] = {LimitName.MAX_TOKENS: second + 1}
    if plans and begins is not None:
        least[LimitName.MAX_PLANNING_COST_USD] = _cents(begins)
    if plans and returns is not None:
        least[LimitName.MAX_EXECUTION_COST_USD] = _cents(returns)
    if begins is not None and returns is not None:
        least[LimitName.MAX_COST_USD] = _cents(begins + returns)
        least.setdefault(LimitName.MAX_EXECUTION_COST_USD, _cents(begins + returns))
    return least


def _cost(price: Price | None, tokens: int) -> int | None:
    return None if price is None else price.cost_nanousd(tokens, LEAST_ANSWER_TOKENS)


def too_little(limits: Limits, least: Mapping[LimitName, float]) -> Mapping[LimitName, float]:
    """The bounds that stop an agent before it has what it needs at least."""
    return {
        name: bound
        for name, amount in least.items()
        if (bound := stops_at(name, limits, Counters())) is not None and bound < amount
    }


def _cents(nanousd: int) -> float:
    return int((Decimal(nanousd) / _CENT).to_integral_value(ROUND_CEILING)) / 100
