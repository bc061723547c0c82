"""Money: whole nano-USD inside, USD at the edges.

A price of $1 for a million tokens is 1,000 nano-USD a token, so sums of calls are exact; a limit
in USD compares equal to the same figure in a configuration file, because dividing a whole number
of nano-USD rounds correctly.
"""

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime
from decimal import ROUND_CEILING, ROUND_FLOOR, Decimal
from enum import StrEnum
from typing import Final

NANOUSD: Final = 1_000_000_000
"""Nano-USD in one USD."""


class CostsBy(StrEnum):
    """What costs can be added up by."""

    ISSUE = "issue"
    ROLE = "role"
    USER = "user"
    MODEL = "model"
    REPOSITORY = "repository"
    AGENT = "agent"
    DAY = "day"
    """Of the calendar, in UTC."""


def usd(nanousd: int) -> float:
    """An amount for people, files and JSON."""
    return nanousd / NANOUSD


def nanousd(amount_usd: float) -> int:
    """An amount as it stands in a file, read as the decimal number that was written there."""
    return int((Decimal(str(amount_usd)) * NANOUSD).to_integral_value(ROUND_CEILING))


def whole_nanousd(amount_usd: float) -> int:
    """The nearest whole amount: for figures that were whole before they became USD."""
    return round(amount_usd * NANOUSD)


def added_usd(*amounts_usd: float) -> float:
    """Amounts of USD together, as people would add them: 0.1 and 0.2 are 0.3."""
    return usd(sum(map(whole_nanousd, amounts_usd)))


@dataclass(frozen=True, slots=True)
class Price:
    """What a model costs: USD per million tokens."""

    input: Decimal
    output: Decimal
    cache_read: Decimal | None = None
    """Tokens read from the provider's cache; None: as `input`."""
    cache_write: Decimal | None = None
    """Tokens written to the provider's cache; None: as `input`."""
    above: tuple[tuple[int, "Price"], ...] = ()
    """What all tokens of a call cost instead whose input is larger than this; smallest first."""

    def cost_nanousd(
        self,
        input_tokens: int,
        output_tokens: int,
        cache_read_tokens: int = 0,
        cache_write_tokens: int = 0,
    ) -> int:
        """What a call costs, rounded up to a nano-USD. `input_tokens` includes the cached ones."""
        price = self._for(input_tokens)
        plain = max(input_tokens - cache_read_tokens - cache_write_tokens, 0)
        read = price.input if price.cache_read is None else price.cache_read
        write = price.input if price.cache_write is None else price.cache_write
        per_million = (
            plain * price.input
            + output_tokens * price.output
            + cache_read_tokens * read
            + cache_write_tokens * write
        )
        return int((per_million * 1_000).to_integral_value(ROUND_CEILING))

    def output_tokens(self, nanousd: int, input_tokens: int) -> int | None:
        """The most tokens of output that an amount pays for after so much input, below 0 if it
        does not pay for the input; None: output costs nothing, and the amount is enough."""
        price = self._for(input_tokens)
        left = Decimal(nanousd) / 1_000 - input_tokens * price.input
        if not price.output:
            return None if left >= 0 else -1
        return int((left / price.output).to_integral_value(ROUND_FLOOR))

    def _for(self, input_tokens: int) -> "Price":
        """What all tokens of a call with so much input cost."""
        dearer = (price for bound, price in reversed(self.above) if input_tokens > bound)
        return next(dearer, self)


PriceOf = Callable[[str, datetime], Price | None]
"""The price of a model (`provider:name`) at an instant; None: nobody knows it."""
