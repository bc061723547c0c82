"""What a recorded run does not say: it is told, and never taken for nothing."""

from datetime import datetime, timedelta
from decimal import Decimal
from typing import Any

import pytest

from app.adapters.shell import parse
from app.core.history.replay import Replay, Rules, replay
from app.core.history.transcript import Format, Totals, Transcript
from app.core.limits import LimitName
from app.core.money import Price
from app.testruns import SuiteRules
from tests.core.recorded import Run, replayed
from tests.core.strategies import START, only

NO_CALLS = "The transcript has no model calls."
BOUNDS: dict[str, Any] = {"max_tokens": 1_000, "max_model_calls": 5, "max_cost_usd": 1.0}


def reasons(result: Replay) -> dict[str, str]:
    """Why limits on model calls were not judged."""
    return {each.limit.value: each.reason for each in result.not_judged if each.limit in BOUNDS}


def why_not(run: Run, totals: Totals | None = None) -> dict[str, str]:
    return reasons(replayed(run.steps, only(**BOUNDS), totals))


def test_without_model_calls_nothing_about_them_is_judged() -> None:
    assert why_not(Run().calls()) == dict.fromkeys(BOUNDS, NO_CALLS)


def test_with_all_their_figures_everything_is_judged() -> None:
    assert why_not(Run().asks_model(5)) == {}


def test_a_call_that_does_not_say_what_it_used_is_counted() -> None:
    assert why_not(Run().asks_model(5).asks_model(None)) == {
        "max_tokens": "1 of 2 model calls do not say how many tokens they used.",
        "max_cost_usd": "What 1 of 2 model calls cost is unknown.",
    }


@pytest.mark.parametrize(
    "known",
    [
        {"input_tokens": 7, "output_tokens": None},
        {"input_tokens": None, "output_tokens": 7},
        {"input_tokens": None, "output_tokens": None},
    ],
)
def test_half_of_the_tokens_is_not_enough_to_know_them(known: dict[str, Any]) -> None:
    run = Run().asks_model(**known)
    assert {*why_not(run)} == {"max_tokens", "max_cost_usd"}
    result = run.under(only())
    assert (result.spent.tokens, result.spent.cost_nanousd) == (None, None)
    assert result.counters.tokens == sum(filter(None, known.values()))


def test_tokens_of_the_whole_run_are_compared_with_the_lowest_bound() -> None:
    limits = only(max_tokens=2_000, ceilings={LimitName.MAX_TOKENS: 1_000})
    used = Totals(input_tokens=900, output_tokens=100)
    found = reasons(replayed(Run().asks_model(None).steps, limits, used))
    assert found["max_tokens"] == (
        "The run used 1,000 tokens; at which step it reached 1,000 is unknown."
    )
    nothing = Totals(input_tokens=0, output_tokens=0)
    found = reasons(replayed(Run().asks_model(None).steps, limits, nothing))
    assert found["max_tokens"] == "1 of 1 model calls do not say how many tokens they used."


@pytest.mark.parametrize(
    ("run", "knows_time"),
    [
        (Run(), True),
        (Run().turn(), True),
        (Run().turn().says(), False),
        (Run().turn().passes(1).says(), True),
    ],
)
def test_a_single_step_is_no_sign_that_time_is_unknown(run: Run, knows_time: bool) -> None:
    not_judged = [each.limit.value for each in run.under(only()).not_judged]
    assert not_judged == ([] if knows_time else ["max_active_duration"])


# --- prices -----------------------------------------------------------------------------------

DEAR = Price(Decimal(1), Decimal(2), cache_read=Decimal("0.1"), cache_write=Decimal(4))


def priced(run: Run) -> tuple[Replay, list[tuple[str, datetime]]]:
    """With which prices were asked for."""
    asked = []

    def price_of(model: str, at: datetime) -> Price | None:
        asked.append((model, at))
        return DEAR

    transcript = Transcript(format=Format.SQUADRON, steps=tuple(run.steps))
    return replay(transcript, Rules(only(), SuiteRules(), parse, price_of)), asked


@pytest.mark.parametrize(
    ("known", "cost_nanousd"),
    [
        ({"output_tokens": 10}, 120_000),
        ({"output_tokens": 10, "cache_read_tokens": 20}, 102_000),
        ({"output_tokens": 10, "cache_write_tokens": 30}, 210_000),
        ({"output_tokens": 10, "cache_read_tokens": 20, "cache_write_tokens": 30}, 192_000),
    ],
)
def test_a_call_costs_what_its_tokens_cost_the_cached_ones_too(
    known: dict[str, Any], cost_nanousd: int
) -> None:
    result, _ = priced(Run().asks_model(100, **known))
    assert (result.spent.tokens, result.spent.cost_nanousd) == (110, cost_nanousd)


def test_a_price_is_asked_for_once_in_a_minute_and_never_for_nobody() -> None:
    run = Run().passes(1.25).asks_model(1, "m").passes(30).asks_model(1, "m")
    run.asks_model(1, None).asks_model(None, "m").passes(30).asks_model(1, "m")
    _, asked = priced(run)
    assert asked == [("m", START), ("m", START + timedelta(minutes=1))]
