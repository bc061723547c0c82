"""Seed 000, "Agent Execution Limits": its tests, tables and worked examples, figure by figure.

Its turns are tool calls here (`max_tool_calls`), its duration is `max_active_duration`, its
`terminate` is `escalate`. A maximum of N lets N happen, so where the seed's log says "26 of 25"
ours says 25 of 25: the call that was denied never happened. The same through the whole service
is in `tests/scenarios`.
"""

from dataclasses import replace
from decimal import Decimal

import pytest

from app.core.agents.counters import seconds
from app.core.agents.events import Held, Passed, ToolDenied, Tripped, Warned
from app.core.agents.stops import Layer
from app.core.breaker.verdict import Answer, usage
from app.core.limits import LEAST_USD, Action, LimitName, Limits
from app.core.limits.presets import PRESETS
from app.core.money import Price, usd
from tests.core.life import Life, begun, halted
from tests.core.strategies import START, after_seconds, only

CALLS, TIME, COST = (
    LimitName.MAX_TOOL_CALLS,
    LimitName.MAX_ACTIVE_DURATION,
    LimitName.MAX_COST_USD,
)
HAIKU = Price(input=Decimal("0.25"), output=Decimal("1.25"))
SONNET = Price(input=Decimal(3), output=Decimal(15))
OPUS = Price(input=Decimal(15), output=Decimal(75))
"""USD per million tokens; the seed writes them per thousand."""

DEFAULTS = """
    developer            25   600  1.0  terminate
    qa                   10   120  0.5  terminate
    planner              15   300  2.0  terminate
    architect            50  1800  5.0  warn
    researcher           50  1200  5.0  warn
    security-architect   30   900  3.0  terminate
    code-reviewer        20   600  1.5  warn
    devops               30   900  2.0  terminate
"""
"""Seed 000, "Default Values by Agent Type", in seconds."""
ROWS = [line.split() for line in DEFAULTS.strip().splitlines()]


def of_preset(name: str) -> Limits:
    """The limits of a role with this preset, and nothing else that could stop it."""
    preset = PRESETS[name]
    maxima = {limit.value: value for limit, value in preset.limits.items()}
    return only(**maxima, actions=preset.actions)


# --- "Testing Strategy", unit tests -----------------------------------------------------------


def test_should_terminate_agent_when_max_turns_exceeded() -> None:
    """Seed 000, "Unit Tests" 1: `max_turns: 5`, six turns are executed."""
    life = begun(only(max_tool_calls=5))
    verdicts = [life.asks_tool() for _ in range(6)]
    assert [verdict.allowed for verdict in verdicts] == [True] * 5 + [False]
    assert life.counters.trip is not None
    assert "max_tool_calls" in life.counters.trip.reason


def test_should_terminate_agent_when_max_duration_ms_exceeded() -> None:
    """Seed 000, "Unit Tests" 2: `max_duration_ms: 1000`, 1,100 ms pass, a turn is executed."""
    life = begun(only(max_active_duration=1))
    life.waits(1.1)
    assert halted(life.asks_tool(), TIME, 1.1, 1)
    assert life.counters.trip is not None
    assert "max_active_duration" in life.counters.trip.reason


def test_should_terminate_agent_when_max_cost_usd_exceeded() -> None:
    """Seed 000, "Unit Tests" 3: `max_cost_usd: 0.1`, model calls go on until $0.11."""
    life = begun(only(max_cost_usd=0.1))
    price = SONNET.cost_nanousd(10_000, 0)
    spent = 0
    while spent < 110_000_000:
        if not life.calls_model(price).allowed:
            break
        spent += price
    assert usd(spent) == 0.12, "four calls of $0.03: the third left $0.09, under the limit"
    life.ticks()
    assert life.counters.trip is not None
    assert "max_cost_usd" in life.counters.trip.reason


def test_with_an_estimate_the_call_that_would_exceed_the_money_is_never_made() -> None:
    """Seed 000, "Cost Tracking Implementation" 4: accumulated + next > maximum."""
    life = begun(only(max_cost_usd=0.1))
    price = SONNET.cost_nanousd(10_000, 0)
    assert all(life.calls_model(price, price).allowed for _ in range(3))
    assert halted(life.calls_model(price, price), COST, 0.09, 0.1)
    assert life.counters.cost_nanousd == 3 * price


def test_should_warn_but_continue_when_timeout_action_is_warn() -> None:
    """Seed 000, "Unit Tests" 4: `max_turns: 5, timeout_action: warn`, six turns."""
    life = begun(only(max_tool_calls=5, default_action=Action.WARN))
    assert all(life.asks_tool().allowed for _ in range(6))
    assert life.counters.trip is None
    assert [event.limit for event in life.log if isinstance(event, Passed)] == [CALLS]


# --- "Testing Strategy", integration test -----------------------------------------------------


def test_should_terminate_developer_agent_after_25_turns() -> None:
    """Seed 000, "Integration Tests": a developer that loops calling `Read`."""
    life = begun(of_preset("developer"))
    allowed = 0
    while life.asks_tool("Read").allowed:
        allowed += 1
    assert allowed == 25
    assert life.counters.trip is not None
    assert (life.counters.trip.limit, life.counters.trip.observed) == (CALLS, 25)


# --- "Cost Tracking Implementation" -----------------------------------------------------------


def test_the_worked_example_of_cost_tracking() -> None:
    """Seed 000, "Example calculation": $0.006 + $0.015 = $0.021, then $0.039, total $0.060."""
    first = SONNET.cost_nanousd(2_000, 1_000)
    second = SONNET.cost_nanousd(3_000, 2_000)
    assert (usd(SONNET.cost_nanousd(2_000, 0)), usd(SONNET.cost_nanousd(0, 1_000))) == (
        0.006,
        0.015,
    )
    assert (usd(first), usd(second)) == (0.021, 0.039)
    life = begun(only(max_cost_usd=1.0))
    life.calls_model(first)
    assert usd(life.counters.cost_nanousd) == 0.021
    life.calls_model(second)
    assert usd(life.counters.cost_nanousd) == 0.060


@pytest.mark.parametrize(
    ("price", "prompt", "completion"),
    [(HAIKU, 0.00025, 0.00125), (SONNET, 0.003, 0.015), (OPUS, 0.015, 0.075)],
)
def test_prices_for_a_thousand_tokens(price: Price, prompt: float, completion: float) -> None:
    """Seed 000, "Cost Tracking Implementation" 2."""
    assert usd(price.cost_nanousd(1_000, 0)) == prompt
    assert usd(price.cost_nanousd(0, 1_000)) == completion


def test_a_dollar_of_sonnet_is_330_thousand_prompt_tokens() -> None:
    """Seed 000, "Example 1", rationale: `$1.00 = ~330K tokens`."""
    life = begun(only(max_cost_usd=1.0))
    life.model_answers(SONNET.cost_nanousd(330_000, 0))
    assert life.ticks().allowed
    life.model_answers(SONNET.cost_nanousd(3_334, 0))
    assert halted(life.ticks(), COST, 1.000002, 1.0)


# --- "Default Values by Agent Type" and "Usage Examples" --------------------------------------


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row[0])
def test_a_role_does_at_its_turns_what_its_row_says(row: list[str]) -> None:
    name, turns, _, _, action = row
    life = begun(of_preset(name))
    assert all(life.asks_tool().allowed for _ in range(int(turns)))
    verdict = life.asks_tool()
    if action == "terminate":
        assert halted(verdict, CALLS, int(turns), int(turns))
    else:
        assert verdict.allowed and life.counters.passed == {CALLS}


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row[0])
def test_a_role_does_at_its_duration_what_its_row_says(row: list[str]) -> None:
    name, _, duration, _, action = row
    life = begun(of_preset(name))
    life.waits(int(duration) - 0.001)
    assert life.asks_tool().allowed
    life.waits(0.001)
    verdict = life.asks_tool()
    if action == "terminate":
        assert halted(verdict, TIME, int(duration), int(duration))
    else:
        assert verdict.allowed and life.counters.passed == {TIME}


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row[0])
def test_a_role_does_at_its_money_what_its_row_says(row: list[str]) -> None:
    name, _, _, money, action = row
    life = begun(of_preset(name))
    cents = round(float(money) * 100)
    life.model_answers(cents * 10**7 - 1)
    assert life.ticks().allowed
    life.model_answers(1)
    verdict = life.ticks()
    if action == "terminate":
        assert halted(verdict, COST, float(money), float(money))
    else:
        assert verdict.allowed and life.counters.passed == {COST}


def test_a_long_running_background_task_is_paused_and_loses_nothing() -> None:
    """Seed 000, "Example 4": 100 tool calls, an hour, $10, `timeout_action: pause`."""
    limits = only(
        max_tool_calls=100,
        max_active_duration=3_600,
        max_cost_usd=10.0,
        default_action=Action.PAUSE,
    )
    life = begun(limits)
    for _ in range(100):
        assert life.asks_tool().allowed
    assert halted(life.asks_tool(), CALLS, 100, 100)
    assert (life.counters.trip, life.counters.tool_calls) == (None, 100)
    assert life.counters.hold is not None


def test_the_least_money_is_a_cent() -> None:
    """Seed 000, "Field Descriptions": 0.01 to 100.0 (ours reaches further up)."""
    assert Limits(max_cost_usd=0.01).max_cost_usd == LEAST_USD
    with pytest.raises(ValueError, match=r"max_cost_usd must be 0\.01 to"):
        Limits(max_cost_usd=0.009)


# --- "Turn Counting Implementation" -----------------------------------------------------------


def test_five_tools_are_five_turns() -> None:
    """Seed 000, "How `max_turns` is tracked": Read, Read, Write, Bash and one more."""
    life = begun()
    for tool in ("Read", "Read", "Write", "Bash", "TaskUpdate"):
        assert life.asks_tool(tool).allowed
    assert life.counters.tool_calls == 5


def test_thinking_and_model_calls_are_no_turns() -> None:
    """Seed 000, "Not counted as turns"."""
    life = begun(only(max_tool_calls=1))
    for _ in range(10):
        assert life.asks_turn().allowed
        assert life.calls_model().allowed
        life.speaks()
    assert life.counters.tool_calls == 0


# --- "Duration Tracking Implementation" -------------------------------------------------------


def test_waiting_for_a_command_to_end_is_time_spent() -> None:
    """Seed 000, "Edge cases": async operations."""
    life = begun(only(max_active_duration=600))
    life.asks_tool("Bash")
    life.waits(600)
    life.tool_ends()
    assert halted(life.asks_tool(), TIME, 600, 600)


def test_a_paused_agent_spends_no_time() -> None:
    """Seed 000, "Edge cases": paused agents."""
    life = begun(only(max_active_duration=600, default_action=Action.PAUSE))
    life.waits(600)
    assert halted(life.ticks(), TIME, 600, 600)
    life.ends_segment()
    life.waits(86_000)
    life.is_granted(TIME, 60)
    life.begins_segment()
    assert seconds(life.counters.active) == 600
    life.waits(59.999)
    assert life.asks_tool().allowed
    life.waits(0.001)
    assert halted(life.asks_tool(), TIME, 660, 660)


# --- "Timeout Action Behavior" ----------------------------------------------------------------


def stopped_at_25(action: Action) -> Life:
    """The agent of the seed's log: developer, 25 turns, 450 s, $0.85; it asks for one more."""
    life = begun(replace(of_preset("developer"), actions={}, default_action=action))
    for _ in range(17):
        life.calls_model(5 * 10**7)
        life.asks_tool("Bash")
        life.tool_ends()
    for _ in range(8):
        life.asks_tool("Bash")
        life.tool_ends()
    life.waits(450)
    life.asks_tool("Bash")
    return life


def figures(life: Life) -> tuple[float, float, float, float]:
    """Turns, their maximum, elapsed milliseconds and money, as the seed's log has them."""
    used = {
        use.name: (use.observed, use.maximum) for use in usage(life.counters, life.limits, life.now)
    }
    return *used[CALLS], used[TIME][0] * 1_000, used[COST][0]


def test_terminate_stops_with_the_full_figures() -> None:
    """Seed 000, "Timeout Action Behavior" 1: what is logged with the error."""
    life = stopped_at_25(Action.ESCALATE)
    denied, tripped = life.log[-2:]
    assert isinstance(denied, ToolDenied) and isinstance(tripped, Tripped)
    trip = tripped.trip
    assert trip.reason == "max_tool_calls reached: 25 of 25 tool calls."
    assert (trip.layer, trip.at) == (Layer.HOOK, after_seconds(450))
    assert figures(life) == (25, 25, 450_000, 0.85)
    assert not life.asks_tool().allowed


def test_pause_finishes_the_running_tool_and_goes_on_when_resumed() -> None:
    """Seed 000, "Timeout Action Behavior" 2: finish the current call, keep the state, resume."""
    life = begun(only(max_tool_calls=2, default_action=Action.PAUSE))
    life.asks_tool("Read")
    life.tool_ends()
    life.asks_tool("Bash")
    running = life.last_call
    life.asks_tool("Read")
    assert isinstance(life.log[-1], Held)
    life.waits(30)
    life.tool_ends(running, "the tests are green")
    assert life.log[-1].at == after_seconds(30), "its result is written down all the same"
    assert life.counters.loops.open == ()
    assert (life.counters.tool_calls, life.counters.trip) == (2, None)
    life.ends_segment()
    life.is_granted(CALLS, 2)
    life.begins_segment()
    assert life.asks_tool().allowed and life.asks_tool().allowed
    assert halted(life.asks_tool(), CALLS, 4, 4)


def test_warn_logs_the_same_figures_and_goes_on() -> None:
    """Seed 000, "Timeout Action Behavior" 3."""
    life = stopped_at_25(Action.WARN)
    passed = [event for event in life.log if isinstance(event, Passed)]
    assert [(event.limit, event.observed, event.maximum) for event in passed] == [(CALLS, 25, 25)]
    assert life.counters.trip is None
    assert figures(life) == (26, 25, 450_000, 0.85)
    assert life.asks_tool().allowed


def test_request_increase_asks_for_approval_to_continue() -> None:
    """Seed 000, "Retry with Increased Limits"."""
    life = stopped_at_25(Action.REQUEST_INCREASE)
    assert life.counters.hold is not None and life.counters.hold.asks
    assert figures(life) == (25, 25, 450_000, 0.85)


# --- "Monitoring and Alerts" ------------------------------------------------------------------


def test_an_early_warning_comes_at_80_percent_of_turns_and_of_time() -> None:
    """Seed 000, "Alerts" 1 and 2: 20 of 25 tool calls, 480 of 600 seconds."""
    life = begun(of_preset("developer"))
    said = [life.asks_tool().answer for _ in range(20)]
    assert said == [Answer.ALLOW] * 19 + [Answer.WARN]
    life.waits(480)
    assert life.ticks().answer is Answer.WARN
    warned = [event for event in life.log if isinstance(event, Warned)]
    assert [(event.limit, event.observed) for event in warned] == [(CALLS, 20), (TIME, 480)]
    assert warned[0].at == START
