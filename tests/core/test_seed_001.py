"""Seed 001, "Execution Limits": how its limits work, and its loop detection.

Its `max_execution_tokens` is `max_tokens` here, its `max_tokens` is `max_output_tokens_per_call`,
its `timeout` is `max_active_duration`. The defaults are ours (issue 3).
"""

import pytest

from app.core.breaker.verdict import Answer
from app.core.limits import CATALOGUE, LimitName, Limits, Trips
from tests.core.life import begun, halted, no_limit_speaks
from tests.core.strategies import only

ALL_OPTIONAL = ["max_tool_calls", "max_tokens", "max_cost_usd", "max_repeated_errors"]


@pytest.mark.parametrize("name", ALL_OPTIONAL)
def test_any_limit_is_disabled_with_null(name: str) -> None:
    """Seed 001, "Configuration": set any limit to null to disable it."""
    assert only(**{name: None}).maximum(LimitName(name)) is None
    life = begun(only(**{name: None}))
    for _ in range(300):
        assert no_limit_speaks(life.does("a", "failed", "boom"))
        assert life.calls_model(10**12).answer is Answer.ALLOW


def test_max_tool_calls_counts_each_invocation() -> None:
    """Seed 001, "How Limits Work": `max_tool_calls: 50`; the 51st is the one that is denied."""
    life = begun(only(max_tool_calls=50))
    assert all(life.asks_tool(f"tool {n}").allowed for n in range(50))
    assert halted(life.asks_tool(), LimitName.MAX_TOOL_CALLS, 50, 50)


def test_max_execution_tokens_sums_input_and_output_of_all_calls() -> None:
    """Seed 001, "How Limits Work": 500,000 tokens, input and output combined."""
    life = begun(only(max_tokens=500_000))
    for _ in range(9):
        life.model_answers(input_tokens=50_000, output_tokens=5_000)
    assert life.ticks().allowed
    life.model_answers(input_tokens=4_999, output_tokens=0)
    assert life.ticks().allowed
    life.model_answers(input_tokens=0, output_tokens=1)
    assert halted(life.ticks(), LimitName.MAX_TOKENS, 500_000, 500_000)


def test_the_bound_of_one_answer_is_the_providers_to_keep() -> None:
    """Seed 001, "Understanding token limits": `max_tokens` is sent with each call."""
    name = LimitName.MAX_OUTPUT_TOKENS_PER_CALL
    assert CATALOGUE[name].trips is Trips.SENT
    life = begun(only(max_output_tokens_per_call=4_096))
    life.model_answers(output_tokens=100_000)
    assert life.ticks().answer is Answer.ALLOW


def test_ten_tool_calls_with_ten_model_calls_share_one_budget_of_tokens() -> None:
    """Seed 001, "Example": each call keeps to its own bound, all together to the whole."""
    life = begun(only(max_tokens=40_000, max_output_tokens_per_call=4_096))
    done = 0
    while life.asks_model().allowed:
        life.model_answers(input_tokens=0, output_tokens=4_096)
        if not life.asks_tool().allowed:
            break
        done += 1
    assert done == 9
    assert life.counters.trip is not None
    assert (life.counters.trip.limit, life.counters.trip.observed) == ("max_tokens", 40_960)


def test_max_cost_usd_aborts_when_the_cost_has_reached_the_cap() -> None:
    """Seed 001, "How Limits Work": `max_cost_usd: 0.50`."""
    life = begun(only(max_cost_usd=0.50))
    life.model_answers(499_999_999)
    assert life.ticks().allowed
    life.model_answers(1)
    assert halted(life.ticks(), LimitName.MAX_COST_USD, 0.5, 0.5)


def test_without_a_price_the_cap_on_cost_cannot_be_enforced() -> None:
    """Seed 001, "How Limits Work": the calls are known to be unpriced, and said to be."""
    life = begun(only(max_cost_usd=0.50))
    for _ in range(1_000):
        assert life.calls_model(None).answer is Answer.ALLOW
    assert life.counters.unpriced_calls == 1_000


# --- loop_detection ---------------------------------------------------------------------------


def test_three_identical_errors_abort() -> None:
    """Seed 001, "How Limits Work": the last three error responses, same tool, same error."""
    life = begun(Limits())
    for _ in range(3):
        assert life.does("npm start", "failed", "port 3000 is in use").allowed
    assert halted(life.does("npm start"), LimitName.MAX_REPEATED_ERRORS, 3, 3)


@pytest.mark.parametrize(
    "errors", [["a", "a", "b"], ["a", "b", "a"], ["b", "a", "a"], ["a", "a"], ["a", "b", "c"]]
)
def test_anything_but_three_identical_errors_goes_on(errors: list[str]) -> None:
    life = begun(Limits())
    for error in errors:
        assert life.does("npm start", "failed", error).allowed
    assert life.does("npm start").allowed


def test_the_same_error_of_different_tools_goes_on() -> None:
    life = begun(Limits())
    for tool in ("bash", "zsh", "bash", "zsh"):
        assert life.does("npm start", "failed", "boom", tool=tool).allowed
    assert life.asks_tool("bash").allowed


def test_loop_detection_can_be_switched_off() -> None:
    """Seed 001, "Configuration": `loop_detection: false`."""
    life = begun(only(max_repeated_errors=None, max_repeated_calls=None))
    assert all(life.does("npm start", "failed", "boom").allowed for _ in range(50))


def test_the_wall_clock_ends_an_execution() -> None:
    """Seed 001, "Configuration": `timeout: 600`."""
    life = begun(only(max_active_duration=600))
    life.waits(599.999)
    assert life.ticks().allowed
    life.waits(0.001)
    assert halted(life.ticks(), LimitName.MAX_ACTIVE_DURATION, 600, 600)
