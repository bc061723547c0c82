"""Prices of models: the list of genai-prices, what the operator says, and what nobody knows.

genai-prices itself computes what a call costs; our `Price` must come to the same.
"""

import subprocess
import sys
from datetime import UTC, datetime
from decimal import Decimal

import pytest
from genai_prices import Usage, calc_price
from hypothesis import example, given, settings
from hypothesis import strategies as st

from app.adapters.pricing import price_of
from app.core.money import NANOUSD, Price

NOW = datetime(2026, 11, 1, 12, tzinfo=UTC)
MODELS = (
    "openai:gpt-4o",
    "openai:gpt-4o-mini",
    "openai:gpt-4.1",
    "openai:gpt-4-turbo",
    "anthropic:claude-haiku-4-5",
    "anthropic:claude-opus-4-1",
    "anthropic:claude-sonnet-4-5",
    "anthropic:claude-haiku-5-5",
    "openai:gpt-5.4",
    "openai:gpt-6-sol",
)
"""The last four cost more when the request is large."""
OWN = Price(Decimal("1.0"), Decimal("5.0"), cache_read=Decimal("0.1"))


def billed_nanousd(model: str, **tokens: int) -> Decimal:
    """What genai-prices says that a call costs."""
    provider, _, name = model.partition(":")
    usage = Usage(**tokens)
    priced = calc_price(usage, name, provider_id=provider, genai_request_timestamp=NOW)
    return priced.total_price * NANOUSD


tokens = st.integers(0, 150_000)


@pytest.mark.parametrize("model", MODELS)
@settings(deadline=None)
@given(plain=tokens, written=tokens, cached=tokens, newly_cached=tokens)
@example(plain=1, written=0, cached=0, newly_cached=0)
@example(plain=0, written=0, cached=0, newly_cached=0)
@example(plain=0, written=0, cached=7, newly_cached=0)
@example(plain=0, written=0, cached=0, newly_cached=7)
def test_a_call_costs_what_the_list_says(
    model: str, plain: int, written: int, cached: int, newly_cached: int
) -> None:
    price = price_of(model, NOW, {})
    assert price is not None
    ours = price.cost_nanousd(plain + cached + newly_cached, written, cached, newly_cached)
    theirs = billed_nanousd(
        model,
        input_tokens=plain + cached + newly_cached,
        output_tokens=written,
        cache_read_tokens=cached,
        cache_write_tokens=newly_cached,
    )
    assert 0 <= ours - theirs < 1


def test_a_known_price_figure_by_figure() -> None:
    assert price_of("anthropic:claude-haiku-4-5", NOW, {}) == Price(
        Decimal(1), Decimal(5), cache_read=Decimal("0.1"), cache_write=Decimal("1.25")
    )
    assert price_of("openai:gpt-4o", NOW, {}) == Price(
        Decimal("2.5"), Decimal(10), cache_read=Decimal("1.25")
    )


@pytest.mark.parametrize("size", [1, 271_999, 272_000, 272_001, 900_000])
def test_a_large_request_costs_what_large_ones_cost(size: int) -> None:
    price = price_of("openai:gpt-5.4", NOW, {})
    assert price is not None
    theirs = billed_nanousd("openai:gpt-5.4", input_tokens=size, output_tokens=10)
    assert price.cost_nanousd(size, 10) == theirs


@pytest.mark.parametrize(("month", "day", "dollars"), [(6, 9, 10), (6, 10, 2)])
def test_a_price_that_has_changed_is_the_one_of_the_day(month: int, day: int, dollars: int) -> None:
    price = price_of("openai:o3", datetime(2025, month, day, tzinfo=UTC), {})
    assert price is not None
    assert price.input == dollars


@pytest.mark.parametrize(
    "model",
    [
        "openai:our-local-model",
        "anthropic:gpt-4o",
        "openai:claude-haiku-4-5",
        "nobody:gpt-4o",
        "openai:",
        "gpt-4o",
        "scripted:",
        "",
    ],
)
def test_nobody_knows_what_an_unknown_model_costs(model: str) -> None:
    assert price_of(model, NOW, {"another": OWN}) is None


@pytest.mark.parametrize("model", ["openai:whisper-1", "openai:text-embedding-3-small"])
def test_a_model_without_text_prices_is_unknown_and_not_free(model: str) -> None:
    assert price_of(model, NOW, {}) is None


@pytest.mark.parametrize("model", ["openai:gpt-4o", "openai:our-local-model"])
@pytest.mark.parametrize("whole_name", [True, False])
def test_the_operator_prices_models_that_are_listed_or_not(model: str, whole_name: bool) -> None:
    key = model if whole_name else model.partition(":")[2]
    price = price_of(model, NOW, {key: OWN})
    assert price == OWN
    assert price.cost_nanousd(1_000, 100, cache_read_tokens=400) == 1_140_000


def test_the_longer_name_of_the_operator_wins() -> None:
    other = Price(Decimal(2), Decimal(2))
    overrides = {"gpt-4o": other, "openai:gpt-4o": OWN}
    assert price_of("openai:gpt-4o", NOW, overrides) == OWN
    assert price_of("anthropic:gpt-4o", NOW, overrides) == other


def test_the_price_list_is_not_loaded_before_somebody_asks() -> None:
    loads = "import sys, app.adapters.pricing; print('genai_prices' in sys.modules)"
    done = subprocess.run(
        [sys.executable, "-c", loads], capture_output=True, text=True, timeout=30, check=True
    )
    assert done.stdout == "False\n"
