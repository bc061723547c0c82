"""What models cost: the operator's own prices, else the price list that genai-prices carries.

Nothing is fetched: the list is as old as the installed package. Of the prices that a provider has
for one model, these are taken:

* prices that hold from a date on, or at some hours: the one that holds at the given instant;
* prices that depend on the size of the request: all of them, each from its size on;
* batch, flex, priority and fast processing: none, requests are sent without any of them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from datetime import datetime
from decimal import Decimal
from typing import TYPE_CHECKING

from app.core.money import Price

if TYPE_CHECKING:
    from genai_prices.types import ModelPrice, TieredPrices


def price_of(model: str, at: datetime, overrides: Mapping[str, Price]) -> Price | None:
    """The price of `provider:name` at an instant; None: nobody knows it, which is never 0.

    `overrides` are the operator's prices by `provider:name` or by bare `name`; the longer one wins.
    """
    provider, _, name = model.partition(":")
    for key in (model, name):
        if key in overrides:
            return overrides[key]
    return _listed(provider, name, at)


def role_prices(
    default_model: str | None, at: datetime, overrides: Mapping[str, Price]
) -> Callable[[str | None], Price | None]:
    """What a role's model costs at an instant; a role that names none has the default one."""

    def price(model: str | None) -> Price | None:
        asked = model or default_model
        return None if asked is None else price_of(asked, at, overrides)

    return price


def price_of_recorded(model: str, at: datetime, overrides: Mapping[str, Price]) -> Price | None:
    """As `price_of`, for what others have recorded: a bare `name` is the model of that name."""
    price = price_of(model, at, overrides)
    return _listed(None, model, at) if price is None and ":" not in model else price


def _listed(provider: str | None, name: str, at: datetime) -> Price | None:
    """None also for a model that is not billed by text tokens, like one that transcribes."""
    # Imported late: the list is large, and many commands never ask for a price.
    from genai_prices import Usage, calc_price

    try:
        listed = calc_price(Usage(), name, provider_id=provider, genai_request_timestamp=at)
    except LookupError:
        return None
    prices = listed.model_price
    sizes = sorted({0, *_sizes(prices)})
    priced = [_price(prices, size) for size in sizes]
    if None in priced:
        return None
    first, *dearer = filter(None, priced)
    return replace(first, above=tuple(zip(sizes[1:], dearer, strict=True)))


def _sizes(prices: ModelPrice) -> Iterator[int]:
    """The sizes of input, in tokens, above which the model has another price."""
    for price in (prices.input_mtok, prices.output_mtok):
        if price is not None and not isinstance(price, Decimal):
            yield from (tier.start for tier in price.tiers)


def _price(prices: ModelPrice, size_tokens: int) -> Price | None:
    """What a request costs whose input is larger than this."""
    read, written = _at(prices.input_mtok, size_tokens), _at(prices.output_mtok, size_tokens)
    if read is None or written is None:
        return None
    return Price(
        read,
        written,
        cache_read=_at(prices.cache_read_mtok, size_tokens),
        cache_write=_at(prices.cache_write_mtok, size_tokens),
    )


def _at(price: Decimal | TieredPrices | None, size_tokens: int) -> Decimal | None:
    if price is None or isinstance(price, Decimal):
        return price
    reached = [tier.price for tier in price.tiers if tier.start <= size_tokens and size_tokens]
    return reached[-1] if reached else price.base
