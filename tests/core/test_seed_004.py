"""Seed 004, "Agent Safety": its acceptance scenarios, judged by the breaker.

The same is told by the running service in `tests/scenarios`: the limits in `test_seeds`, the rate
in `test_seed_004_rates`.
"""

from datetime import timedelta

from app.core.agents.events import Held, Passed
from app.core.breaker.verdict import Answer
from app.core.budgets.rates import Allowed, Hits, Refused, hit
from app.core.limits import Action, LimitName
from app.core.limits.presets import PRESETS
from tests.core.life import begun, halted
from tests.core.strategies import START, only

PER_TURN, CONSECUTIVE = LimitName.MAX_TOOL_CALLS_PER_TURN, LimitName.MAX_CONSECUTIVE_TOOLS
INTERACTIVE = only(
    **{limit.value: value for limit, value in PRESETS["interactive"].limits.items()},
    actions=PRESETS["interactive"].actions,
)


# --- User Story 1: max tool calls per turn ----------------------------------------------------


def test_us1_independent_test_of_25_calls_20_happen() -> None:
    """Seed 004, User Story 1, "Independent Test"."""
    life = begun(only(max_tool_calls_per_turn=20))
    life.asks_turn()
    answers = [life.asks_tool().allowed for _ in range(25)]
    assert answers == [True] * 20 + [False] * 5


def test_us1_scenario_1_after_20_calls_the_loop_stops() -> None:
    """Seed 004, User Story 1, scenario 1."""
    life = begun(only(max_tool_calls_per_turn=20))
    life.asks_turn()
    for _ in range(20):
        assert life.asks_tool().allowed
    assert halted(life.asks_tool(), PER_TURN, 20, 20)


def test_us1_scenario_2_the_user_is_notified_of_the_limit() -> None:
    """Seed 004, User Story 1, scenario 2: the hold has the words that the comment says."""
    life = begun(INTERACTIVE)
    life.asks_turn()
    for _ in range(20):
        life.speaks()
        assert life.asks_tool().allowed
    verdict = life.asks_tool()
    held = life.log[-1]
    assert isinstance(held, Held)
    assert held.hold.reason == "max_tool_calls_per_turn reached: 20 of 20 tool calls."
    assert held.hold.reason in verdict.reason


def test_us1_the_next_message_has_20_calls_of_its_own() -> None:
    """Seed 004, User Story 1: "per user message"."""
    life = begun(only(max_tool_calls_per_turn=20))
    for _ in range(5):
        assert life.asks_turn().allowed
        assert all(life.asks_tool().allowed for _ in range(20))


# --- User Story 2: max consecutive tools ------------------------------------------------------


def test_us2_scenario_1_after_10_tools_without_text_the_loop_stops() -> None:
    """Seed 004, User Story 2, scenario 1."""
    life = begun(only(max_consecutive_tools=10))
    assert all(life.asks_tool().allowed for _ in range(10))
    assert halted(life.asks_tool(), CONSECUTIVE, 10, 10)


def test_us2_scenario_2_text_between_tools_resets_the_counter() -> None:
    """Seed 004, User Story 2, scenario 2, and FR-006."""
    life = begun(only(max_consecutive_tools=10))
    for _ in range(5):
        assert all(life.asks_tool().allowed for _ in range(10))
        life.speaks()
        assert life.counters.calls_since_text == 0
    assert life.counters.tool_calls == 50


def test_us2_a_model_call_without_text_resets_nothing() -> None:
    """Seed 004, User Story 2: thinking is no text (issue 3)."""
    life = begun(only(max_consecutive_tools=10))
    for _ in range(10):
        life.calls_model()
        assert life.asks_tool().allowed
    life.calls_model()
    assert life.asks_tool().answer is Answer.HALT


# --- User Story 3: rate limiting --------------------------------------------------------------


def messages(hits: Hits, count: int, at_seconds: float) -> tuple[Hits, list[bool]]:
    """So many messages of one user at one instant; which were let through."""
    passed = []
    for _ in range(count):
        hits, answer = hit(hits, 100, START + timedelta(seconds=at_seconds))
        passed.append(isinstance(answer, Allowed))
    return hits, passed


def test_us3_scenarios_1_and_2_the_101st_message_of_an_hour_is_rejected() -> None:
    """Seed 004, User Story 3, scenarios 1 and 2, and its independent test."""
    hits, passed = messages(Hits(), 100, 0)
    assert all(passed)
    _, answer = hit(hits, 100, START + timedelta(minutes=59))
    hour, minutes = START + timedelta(hours=1), START + timedelta(minutes=59)
    assert answer == Refused(until=hour, told_at=minutes, first=True)


def test_us3_scenario_3_when_the_period_expires_the_counter_resets() -> None:
    """Seed 004, User Story 3, scenario 3."""
    hits, _ = messages(Hits(), 101, 0)
    hits, passed = messages(hits, 1, 3_599.999)
    assert passed == [False]
    _, passed = messages(hits, 101, 3_600)
    assert passed == [True] * 100 + [False]


# --- Edge cases and requirements --------------------------------------------------------------


def test_a_limit_that_is_hit_mid_tool_completes_the_current_tool_and_then_stops() -> None:
    """Seed 004, "Edge Cases" 1: the running tool's result is taken, and nothing more starts."""
    life = begun(only(max_active_duration=60))
    assert life.asks_tool("bash", "make").allowed
    running = life.last_call
    life.waits(61)
    assert halted(life.ticks(), LimitName.MAX_ACTIVE_DURATION, 61, 60)
    life.waits(5)
    life.tool_ends(running, "built")
    assert life.counters.loops.open == ()
    assert [each.result for each in life.counters.loops.recent] == ["built"]
    assert life.counters.tool_calls == 1
    assert life.asks_tool().answer is Answer.DENY


def test_parallel_tools_that_run_when_the_limit_is_hit_all_complete() -> None:
    """Seed 004, "Edge Cases" 1, with several tools at once."""
    life = begun(only(max_tool_calls_per_turn=3))
    running = []
    for _ in range(3):
        assert life.asks_tool().allowed
        running.append(life.last_call)
    assert life.asks_tool().answer is Answer.HALT
    for call in running:
        life.tool_ends(call, "done")
    assert life.counters.loops.open == ()


def test_fr_001_and_fr_002_the_interactive_preset_has_the_seeds_figures() -> None:
    """Seed 004, FR-001 and FR-002: 20 a turn, 10 in a row; both pause (issue 3)."""
    assert (INTERACTIVE.max_tool_calls_per_turn, INTERACTIVE.max_consecutive_tools) == (20, 10)
    assert INTERACTIVE.action(PER_TURN) is Action.PAUSE
    assert INTERACTIVE.action(CONSECUTIVE) is Action.PAUSE
    life = begun(INTERACTIVE)
    assert all(life.asks_tool().allowed for _ in range(10))
    assert halted(life.asks_tool(), CONSECUTIVE, 10, 10)
    assert life.counters.hold is not None and life.counters.trip is None


def test_fr_005_every_limit_that_is_hit_is_in_the_log() -> None:
    """Seed 004, FR-005."""
    warned = begun(only(max_consecutive_tools=2, default_action=Action.WARN))
    paused = begun(only(max_consecutive_tools=2, default_action=Action.PAUSE))
    stopped = begun(only(max_consecutive_tools=2))
    for life in (warned, paused, stopped):
        for _ in range(3):
            life.asks_tool()
    assert [event.limit for event in warned.log if isinstance(event, Passed)] == [CONSECUTIVE]
    assert [event.hold.limit for event in paused.log if isinstance(event, Held)] == [CONSECUTIVE]
    assert stopped.counters.trip is not None and stopped.counters.trip.limit == CONSECUTIVE
