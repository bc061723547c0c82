"""Every limit against a second opinion: random lives, judged ask by ask."""

from collections.abc import Callable
from functools import partial

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.core.agents.counters import used_of
from app.core.agents.events import AgentEvent, Passed, Raised, Warned
from app.core.breaker.verdict import Answer, Verdict
from app.core.limits import LimitName, Limits
from app.testruns import Outcome
from tests.core.life import Life, begun, halted
from tests.core.onlooker import JUDGED, amount, exact
from tests.core.random_lives import (
    Step,
    all_limits,
    any_limits,
    lived,
    loop_lists,
    step_lists,
    time_lists,
)
from tests.core.second_opinion import Prediction, predicted
from tests.core.strategies import EXAMPLES, NO_LIMITS, after_seconds, only


def said(verdict: Verdict) -> Prediction:
    """A verdict as the onlooker words it."""
    figures = [
        None if each is None else exact(each) for each in (verdict.observed, verdict.maximum)
    ]
    return verdict.answer, verdict.limit, figures[0], figures[1]


def assert_second_opinion(limits: Limits, steps: list[Step]) -> None:
    """Every verdict of this life is the one that the definitions ask for."""
    life = lived(limits, steps)
    for (ask, place), (_, decision) in zip(life.asks, life.decisions, strict=True):
        expected = predicted(limits, life.log[:place], ask)
        assert said(decision.verdict) == expected, (ask, life.log[:place])
        happened = any(event is ask for event in decision.events)
        assert happened is decision.verdict.allowed


@pytest.mark.parametrize("name", JUDGED)
@EXAMPLES
@given(st.data())
def test_each_limit_by_itself_is_exact(name: LimitName, data: st.DataObject) -> None:
    """Counts, amounts and outcomes, with any action, shadow and ceiling."""
    limits = data.draw(any_limits(name))
    assert_second_opinion(limits, data.draw(step_lists))


@EXAMPLES
@given(all_limits, step_lists)
def test_all_limits_together_are_exact(limits: Limits, steps: list[Step]) -> None:
    assert_second_opinion(limits, steps)


@EXAMPLES
@given(any_limits(LimitName.MAX_REPEATED_ERRORS, LimitName.MAX_REPEATED_CALLS), loop_lists)
def test_lives_that_go_round_in_circles_are_judged_exactly(
    limits: Limits, steps: list[Step]
) -> None:
    assert_second_opinion(limits, steps)


@EXAMPLES
@given(
    any_limits(LimitName.MAX_ACTIVE_DURATION, LimitName.MAX_IDLE_DURATION, LimitName.MAX_TURNS),
    time_lists,
)
def test_the_time_of_working_and_of_silence_is_judged_exactly(
    limits: Limits, steps: list[Step]
) -> None:
    assert_second_opinion(limits, steps)


@EXAMPLES
@given(step_lists | loop_lists | time_lists)
def test_every_amount_is_what_an_onlooker_counts(steps: list[Step]) -> None:
    """Also where no limit looks: `explain`, comments and metrics show these figures."""
    life = lived(NO_LIMITS, steps)
    for name in JUDGED:
        observed = used_of(name, NO_LIMITS, life.counters, life.now)
        assert exact(observed) == amount(name, NO_LIMITS, life.log, life.now), name


# --- explicit examples: a count at its maximum and one more ------------------------------------


def cycles(life: Life) -> Verdict:
    """One more test run, on changed content, that fails."""
    return life.tests(Outcome.FAILED, content=f"v{len(life.log)}")


COUNTED: dict[LimitName, Callable[[Life], Verdict]] = {
    LimitName.MAX_ITERATIONS: cycles,
    LimitName.MAX_TOOL_CALLS: Life.asks_tool,
    LimitName.MAX_TURNS: Life.asks_turn,
    LimitName.MAX_MODEL_CALLS: Life.asks_model,
    LimitName.MAX_CONSECUTIVE_TOOLS: Life.asks_tool,
    LimitName.MAX_TOOL_CALLS_PER_TURN: Life.asks_tool,
    LimitName.MAX_SPAWNS: lambda life: life.asks_tool("task", spawns=True),
    LimitName.MAX_REVIEW_ROUNDS: Life.is_reviewed,
}
"""What uses one of a limit."""


@pytest.mark.parametrize("name", COUNTED)
@pytest.mark.parametrize("maximum", [1, 2, 5, 20])
def test_a_maximum_of_n_lets_n_happen_and_the_next_one_trips(name: LimitName, maximum: int) -> None:
    life = begun(only(**{name.value: maximum}))
    use = COUNTED[name]
    if name is LimitName.MAX_ITERATIONS:
        cycles(life)  # the first failing run is the baseline
    assert all(use(life).allowed for _ in range(maximum))
    before = life.counters
    assert halted(use(life), name, maximum, maximum)
    still_to_hear = name is LimitName.MAX_REVIEW_ROUNDS
    assert life.counters == before._replace(stop=life.counters.trip, has_feedback=still_to_hear), (
        "the denied one is not counted"
    )


@pytest.mark.parametrize("maximum", [1, 2, 5])
def test_a_maximum_of_iterations_in_test_runs_lets_that_many_runs_happen(maximum: int) -> None:
    life = begun(only(max_iterations=maximum, iteration_mode="test_runs"))
    assert all(life.tests(Outcome.PASSED).allowed for _ in range(maximum))
    assert halted(life.tests(Outcome.PASSED), LimitName.MAX_ITERATIONS, maximum, maximum)


@pytest.mark.parametrize("name", [LimitName.MAX_SPAWNS, LimitName.MAX_DEPTH])
def test_zero_sub_agents_and_zero_levels_let_none_start_and_stop_nobody(name: LimitName) -> None:
    """Seed 003: at depth 0 the call "fails with Depth limit exhausted"."""
    life = begun(only(**{name.value: 0}, max_tool_calls=1))
    for _ in range(3):
        denied = life.asks_tool("task", spawns=True)
        assert (denied.answer, denied.limit) == (Answer.DENY, name)
        assert denied.reason.startswith(f"Depth limit exhausted: {name} allows no ")
    assert (life.counters.tool_calls, life.counters.spawns, life.counters.stop) == (0, 0, None)
    passed = [each for each in life.log if isinstance(each, Passed)]
    assert [(each.limit, each.observed, each.maximum) for each in passed] == [(name, 0, 0)]
    assert life.asks_tool().answer is Answer.WARN
    assert halted(life.asks_tool("task", spawns=True), LimitName.MAX_TOOL_CALLS, 1, 1)


def test_a_sub_agent_that_was_refused_leaves_its_place_to_another() -> None:
    life = begun(only(max_spawns=2))
    for _ in range(5):
        assert life.asks_tool("task", spawns=True).allowed
        life.refuses_to_spawn()
    for name in ("a", "b"):
        assert life.asks_tool("task", spawns=True).allowed
        life.spawned(name)
    assert halted(life.asks_tool("task", spawns=True), LimitName.MAX_SPAWNS, 2, 2)


def test_a_sub_agent_that_never_started_because_the_process_died_does_not_count() -> None:
    life = begun(only(max_spawns=2))
    assert life.asks_tool("task", spawns=True).allowed
    life.spawned("a")
    assert life.asks_tool("task", spawns=True).allowed
    assert (life.counters.spawns, life.counters.spawning) == (2, 1)
    life.begins_segment()
    assert (life.counters.spawns, life.counters.spawning) == (1, 0)


@pytest.mark.parametrize(("levels", "trips"), [(0, False), (1, False), (2, True)])
def test_levels_below_this_agent_are_counted_when_a_sub_agent_returns(
    levels: int, trips: bool
) -> None:
    life = begun(only(max_depth=2))
    assert life.asks_tool("task", spawns=True).allowed
    life.spawned("child")
    life.child_returns("child", levels=levels)
    assert (life.ticks().answer is Answer.HALT) is trips
    assert life.counters.levels == 1 + levels


# --- explicit examples: an amount just below its maximum, and at it -----------------------------


@pytest.mark.parametrize(
    ("seconds", "trips"),
    [(0, False), (99.999, False), (99.9999, False), (100, True), (100.001, True), (5_000, True)],
)
@pytest.mark.parametrize("name", [LimitName.MAX_ACTIVE_DURATION, LimitName.MAX_IDLE_DURATION])
def test_time_trips_when_it_has_reached_the_maximum(
    name: LimitName, seconds: float, trips: bool
) -> None:
    life = begun(only(**{name.value: 100}))
    life.asks_turn()
    life.waits(seconds)
    verdict = life.ticks()
    assert (verdict.answer is Answer.HALT) is trips
    if trips:
        assert halted(verdict, name, seconds, 100)


@pytest.mark.parametrize(
    ("tokens", "trips"),
    [((0, 0), False), ((900, 99), False), ((900, 100), True), ((0, 5_000), True)],
)
@pytest.mark.parametrize("ask", [Life.ticks, Life.asks_turn, Life.asks_tool, Life.asks_model])
def test_tokens_trip_at_whatever_is_asked_next(
    tokens: tuple[int, int], trips: bool, ask: Callable[[Life], Verdict]
) -> None:
    life = begun(only(max_tokens=1_000))
    life.model_answers(input_tokens=tokens[0], output_tokens=tokens[1])
    verdict = ask(life)
    assert (verdict.answer is Answer.HALT) is trips
    if trips:
        assert halted(verdict, LimitName.MAX_TOKENS, sum(tokens), 1_000)


def test_tokens_of_sub_agents_count() -> None:
    life = begun(only(max_tokens=330))
    life.model_answers()
    life.model_answers()
    life.child_returns("child")
    assert halted(life.ticks(), LimitName.MAX_TOKENS, 330, 330)


# --- idle: only what the session does is heard ------------------------------------------------


def test_a_timer_is_no_sign_of_life() -> None:
    life = begun(only(max_idle_duration=900))
    life.asks_turn()
    for _ in range(14):
        life.waits(60)
        assert life.ticks().allowed
    life.waits(60)
    assert halted(life.ticks(), LimitName.MAX_IDLE_DURATION, 900, 900)


@pytest.mark.parametrize(
    "event",
    [
        Warned(at=after_seconds(720), limit=LimitName.MAX_TURNS, observed=8, maximum=10),
        Passed(
            at=after_seconds(720), limit=LimitName.MAX_TURNS, observed=8, maximum=8, shadow=True
        ),
        Raised(at=after_seconds(720), limit=LimitName.MAX_TURNS, amount=1, maximum=9, by="mona"),
    ],
)
def test_what_squadron_writes_down_is_no_sign_of_life(event: AgentEvent) -> None:
    life = begun(only(max_idle_duration=900))
    life.asks_turn()
    life.waits(720)
    life.happens(event)
    life.waits(180)
    assert halted(life.ticks(), LimitName.MAX_IDLE_DURATION, 900, 900)


@pytest.mark.parametrize(
    "act",
    [
        Life.asks_turn,
        Life.asks_model,
        Life.model_answers,
        Life.speaks,
        Life.asks_tool,
        lambda life: life.tool_ends(),
        lambda life: life.child_returns("child"),
        lambda life: (life.goes_on(), life.asks_turn()),
    ],
)
def test_whatever_the_session_does_is_a_sign_of_life(act: Callable[[Life], object]) -> None:
    life = begun(only(max_idle_duration=900))
    life.asks_tool()
    life.waits(800)
    act(life)
    life.waits(899.999)
    assert life.ticks().allowed
    life.waits(0.001)
    assert halted(life.ticks(), LimitName.MAX_IDLE_DURATION, 900, 900)


def test_a_session_that_does_not_run_is_not_silent() -> None:
    life = begun(only(max_idle_duration=900))
    life.sleeps()
    life.waits(5_000)
    idle = partial(used_of, LimitName.MAX_IDLE_DURATION, life.limits)
    assert idle(life.counters, life.now) == 0
    life.wakes()
    life.begins_segment()
    life.waits(5_000)
    assert idle(life.counters, life.now) == 0, "its workspace is prepared"
    life.asks_turn()
    life.waits(10)
    assert idle(life.counters, life.now) == 10


# --- what starts anew -------------------------------------------------------------------------


def test_text_begins_a_new_row_of_tools_and_a_prompt_does_not() -> None:
    life = begun(only(max_consecutive_tools=2))
    life.asks_tool()
    life.asks_tool()
    life.asks_turn()
    life.calls_model()
    assert life.ticks().allowed
    life.speaks()
    assert life.asks_tool().allowed and life.asks_tool().allowed
    assert halted(life.asks_tool(), LimitName.MAX_CONSECUTIVE_TOOLS, 2, 2)


def test_a_prompt_begins_a_new_turn_and_text_does_not() -> None:
    life = begun(only(max_tool_calls_per_turn=2))
    life.asks_tool()
    life.asks_tool()
    life.asks_turn()
    assert life.asks_tool().allowed and life.asks_tool().allowed
    life.speaks()
    life.child_returns("child", tool_calls=5)
    assert halted(life.asks_tool(), LimitName.MAX_TOOL_CALLS_PER_TURN, 2, 2)


def test_tool_calls_of_sub_agents_count_for_the_parent() -> None:
    life = begun(only(max_tool_calls=5))
    life.asks_tool()
    life.child_returns("child", tool_calls=3)
    assert life.asks_tool().allowed
    assert halted(life.asks_tool(), LimitName.MAX_TOOL_CALLS, 5, 5)


def test_a_model_call_that_is_told_only_afterwards_counts() -> None:
    """Some runtimes cannot ask before they call the model."""
    life = begun(only(max_model_calls=2))
    life.model_answers()
    life.model_answers()
    life.model_answers()
    assert halted(life.ticks(), LimitName.MAX_MODEL_CALLS, 3, 2)


def test_a_model_call_that_was_asked_for_counts_once() -> None:
    life = begun(only(max_model_calls=2))
    assert life.asks_model().allowed and life.asks_model().allowed
    life.model_answers()
    life.model_answers()
    assert life.counters.model_calls == 2
    assert life.ticks().allowed


def test_a_model_call_that_a_crash_cut_off_waits_for_no_answer() -> None:
    life = begun()
    life.asks_model()
    life.crashes()
    life.begins_segment()
    life.model_answers()
    assert life.counters.model_calls == 2


# --- warnings ---------------------------------------------------------------------------------


@pytest.mark.parametrize("name", COUNTED)
def test_each_count_warns_when_the_threshold_is_reached(name: LimitName) -> None:
    life = begun(only(**{name.value: 10}))
    use = COUNTED[name]
    if name is LimitName.MAX_ITERATIONS:
        cycles(life)
    said = [use(life).limit for _ in range(10)]
    assert said == [None] * 7 + [name] + [None] * 2
    assert [event.observed for event in life.log if isinstance(event, Warned)] == [8]


def test_a_raise_lets_a_limit_warn_again() -> None:
    life = begun(only(max_tool_calls=10))
    for _ in range(9):
        life.asks_tool()
    life.is_granted(LimitName.MAX_TOOL_CALLS, 10)
    said = [life.asks_tool().answer for _ in range(11)]
    assert said == [Answer.ALLOW] * 6 + [Answer.WARN] + [Answer.ALLOW] * 4
    assert halted(life.asks_tool(), LimitName.MAX_TOOL_CALLS, 20, 20)
    warned = [(event.observed, event.maximum) for event in life.log if isinstance(event, Warned)]
    assert warned == [(8, 10), (16, 20)]


def test_nothing_used_is_close_to_nothing() -> None:
    life = begun(only(max_tool_calls=1, max_turns=1, warning_threshold=0.01))
    assert life.ticks().answer is Answer.ALLOW
