"""Limits from what agents used: what is suggested, what never is, what it would have changed."""

from dataclasses import replace
from datetime import timedelta
from typing import Literal

import pytest
import yaml
from hypothesis import example, given
from hypothesis import strategies as st

from app.core.agents.agent import AgentId
from app.core.agents.events import ToolAsked
from app.core.agents.lifecycle import State
from app.core.agents.stops import Cause, Failure, Layer
from app.core.history.advice import role_lines, yaml_block
from app.core.history.agent_history import History
from app.core.history.suggest import (
    LEAST_FINISHED,
    SUGGESTED,
    LimitHistory,
    RoleHistory,
    Suggestion,
    Used,
    new_value,
    role_history,
    stop_under,
)
from app.core.limits import CATALOGUE, Action, LimitName, Limits, in_range
from app.testruns import Outcome
from tests.core.life import Life, begun
from tests.core.random_lives import Step, lived, step_lists
from tests.core.strategies import EXAMPLES, NO_LIMITS, START, agent, only

CALLS = LimitName.MAX_TOOL_CALLS


def history(life: Life, number: int = 1, state: State = State.COMPLETED) -> History:
    row = agent(state, limits=life.limits, updated_at=life.now)
    row = replace(row, id=AgentId("octo/demo", number, "bug-fix", 1), stop=life.counters.trip)
    return History(row, life.log)


def calling(calls: int, limits: Limits | None = None) -> Life:
    life = begun(limits or Limits())
    for _ in range(calls):
        life.asks_tool()
    return life


def finished(*calls: int, limits: Limits | None = None) -> list[History]:
    """Agents that finished after so many calls each."""
    return [history(calling(each, limits), number) for number, each in enumerate(calls, 1)]


def stopped(number: int, maximum: int) -> History:
    """An agent that `max_tool_calls` stopped."""
    life = calling(maximum + 1, replace(Limits(), max_tool_calls=maximum))
    return history(life, number, State.ESCALATED)


def of(histories: list[History], name: LimitName = CALLS, **ceilings: float) -> LimitHistory:
    found = role_history("bug-fix", histories, {LimitName(k): v for k, v in ceilings.items()})
    return next(each for each in found.limits if each.name is name)


def suggested(histories: list[History], name: LimitName = CALLS, **ceilings: float) -> Suggestion:
    suggestion = of(histories, name, **ceilings).suggestion
    assert suggestion is not None
    return suggestion


# --- what agents used -------------------------------------------------------------------------


def test_what_finished_agents_used_is_told_by_nearest_rank() -> None:
    found = of(finished(*range(1, 21)))
    assert found.finished is not None
    assert (found.finished.median, found.finished.p95, found.finished.most) == (10, 19, 20)
    assert found.present == 200


def test_stopped_agents_are_told_by_themselves_and_others_not_at_all() -> None:
    working = history(calling(150), 90, State.ACTIVE)
    cancelled = history(calling(160), 91, State.CANCELLED)
    child = replace(history(calling(170), 92).agent, parent="octo/demo#1/bug-fix/1")
    others = [working, cancelled, History(child, calling(170).log)]
    found = of([*finished(*[10] * 12), stopped(80, 40), *others])
    assert found.finished is not None and found.finished.most == 10
    assert found.stopped is not None and found.stopped.most == 40
    assert (found.trips, found.holds) == (1, 0)


def test_how_often_each_limit_spoke_is_counted_in_agents() -> None:
    pausing = replace(Limits(), max_tool_calls=5, default_action=Action.PAUSE)
    watched = replace(Limits(), max_tool_calls=5, shadow=frozenset({CALLS}))
    lives = [calling(6, pausing), calling(7, watched), calling(4, replace(pausing))]
    found = of([history(life, number) for number, life in enumerate(lives)])
    assert (found.trips, found.holds, found.warnings, found.passes) == (0, 1, 3, 1)
    other = of([history(life, number) for number, life in enumerate(lives)], LimitName.MAX_TURNS)
    assert (other.trips, other.holds, other.warnings, other.passes) == (0, 0, 0, 0)


def test_a_stretch_of_time_is_measured_to_its_end() -> None:
    life = begun()
    life.asks_turn()
    life.waits(40)
    life.sleeps()
    life.waits(5_000)
    life.wakes()
    life.begins_segment()
    life.waits(7)
    life.ends_segment()
    assert of([history(life)], LimitName.MAX_ACTIVE_DURATION).finished == _same(47)
    assert of([history(life)], LimitName.MAX_SLEEP_DURATION).finished == _same(5_000)
    assert of([history(life)], LimitName.MAX_IDLE_DURATION).finished == _same(40)


def _same(amount: float) -> Used:
    return Used(amount, amount, amount)


def test_what_an_agent_gave_back_counts_as_it_was_at_its_highest() -> None:
    life = begun()
    for content, outcome in (("1", Outcome.FAILED), ("2", Outcome.FAILED), ("3", Outcome.PASSED)):
        life.tests(outcome, content=content)
    assert life.counters.fix_cycles == 1
    assert of([history(life)], LimitName.MAX_ITERATIONS).finished == _same(2)


def test_an_unknown_cost_is_no_cost() -> None:
    known, unknown = begun(), begun()
    known.calls_model(cost_nanousd=500_000_000)
    unknown.calls_model(cost_nanousd=None)
    found = of([history(known, 1), history(unknown, 2)], LimitName.MAX_COST_USD)
    assert found.finished == _same(0.5)
    assert of([history(unknown)], LimitName.MAX_COST_USD).finished is None


def test_only_a_limit_stops_an_agent_as_far_as_limits_go() -> None:
    """Neither one whose runtime died nor one that was cancelled says what a limit cut off."""
    failure = Failure(cause=Cause.RUNTIME_DIED, at=START, reason="It died.")
    rows = [
        stopped(1, 40).agent,
        replace(stopped(2, 40).agent, stop=failure),
        replace(stopped(3, 40).agent, stop=None),
        replace(stopped(4, 40).agent, state=State.CANCELLED),
    ]
    found = role_history("bug-fix", [History(row, calling(40).log) for row in rows], {})
    assert (found.finished, found.stopped) == (0, 1)


def test_the_present_value_is_what_a_new_agent_would_get() -> None:
    def now(histories: list[History], present: Limits | None = None) -> float | None:
        found = role_history("bug-fix", histories, {}, present)
        return next(each.present for each in found.limits if each.name is CALLS)

    assert now([]) == 200
    assert now(finished(1, limits=Limits(max_tool_calls=60))) == 60
    assert now(finished(1), Limits(max_tool_calls=70)) == 70


# --- what is suggested ------------------------------------------------------------------------


@pytest.mark.parametrize(("count", "enough"), [(LEAST_FINISHED - 1, False), (LEAST_FINISHED, True)])
def test_too_little_history_suggests_nothing_and_says_so(count: int, enough: bool) -> None:
    found = role_history("bug-fix", finished(*[20] * count), {})
    assert found.is_enough is enough
    assert bool(found.suggestions) is enough
    words = "\n".join(role_lines(found))
    assert ("Too little history" in words) is not enough
    assert bool(yaml_block([found])) is enough


def test_a_new_value_leaves_headroom_and_is_round() -> None:
    assert suggested(finished(*[100] * 10)).value == 130  # 125, up to two digits
    assert suggested(finished(*[10] * 10)).value == 13
    assert suggested(finished(*[0] * 10)).value == 2
    assert suggested(finished(*[17] * 10)).value == 25


@pytest.mark.parametrize(
    ("name", "p95", "value"),
    [
        (CALLS, 15, 19),
        (CALLS, 16, 20),
        (CALLS, 100, 130),
        (CALLS, 1_000, 1_300),
        (LimitName.MAX_TOKENS, 1, 2),
        (LimitName.MAX_TOKENS, 123_456, 160_000),
        (LimitName.MAX_ACTIVE_DURATION, 1, 60),
        (LimitName.MAX_ACTIVE_DURATION, 48, 60),
        (LimitName.MAX_ACTIVE_DURATION, 48.8, 120),
        (LimitName.MAX_ACTIVE_DURATION, 7_200, 9_000),
        (LimitName.MAX_COST_USD, 0.004, 0.01),
        (LimitName.MAX_COST_USD, 0.08, 0.10),
        (LimitName.MAX_COST_USD, 0.164, 0.25),
        (LimitName.MAX_COST_USD, 0.40, 0.50),
        (LimitName.MAX_COST_USD, 1.0, 1.30),
    ],
)
def test_round_means_two_digits_of_what_people_count_in(
    name: LimitName, p95: float, value: float
) -> None:
    """Minutes and cents; a quarter above what was needed, of counts two at least."""
    assert new_value(name, p95, None) == value


def test_a_change_by_a_tenth_is_worth_saying() -> None:
    assert suggested(finished(*[144] * 10)).value == 180
    assert of(finished(*[145] * 10)).suggestion is None  # 190


def test_a_limit_on_money_is_suggested_for_roles_whose_cost_is_known() -> None:
    def costing(number: int, cost_nanousd: int | None) -> History:
        life = begun(Limits(max_cost_usd=10.0))
        life.calls_model(cost_nanousd)
        life.asks_turn()
        return history(life, number)

    dollar = 1_000_000_000
    known = [costing(number, dollar) for number in range(20)]
    found = suggested([*known, costing(30, None)], LimitName.MAX_COST_USD)
    assert (found.value, found.changed.stopped) == (1.3, ())
    dear = [*known, costing(30, 1_300_000_000), costing(31, None)]
    found = suggested(dear, LimitName.MAX_COST_USD)
    assert (found.value, found.changed.stopped) == (1.3, ("octo/demo#30/bug-fix/1",))
    unknown = [costing(number, None) for number in range(10)]
    assert of(unknown, LimitName.MAX_COST_USD).suggestion is None


def test_a_value_that_fits_is_left_alone() -> None:
    assert of(finished(*[150] * 10)).suggestion is None  # 190 instead of 200
    assert of(finished(*[8] * 10, limits=replace(Limits(), max_tool_calls=10))).suggestion is None


def test_nothing_is_suggested_for_what_is_switched_off_or_says_what_a_loop_is() -> None:
    off = replace(Limits(), max_tool_calls=None)
    assert of(finished(*[20] * 10, limits=off)).suggestion is None
    found = role_history("bug-fix", finished(*[20] * 10), {})
    assert {*found.suggestions} <= {*SUGGESTED}
    assert LimitName.MAX_REPEATED_CALLS not in found.suggestions


def test_the_ceiling_has_the_last_word() -> None:
    capped = suggested(finished(*[100] * 10), max_tool_calls=110)
    assert (capped.value, capped.capped_by_ceiling) == (110, True)
    assert not suggested(finished(*[100] * 10), max_tool_calls=131).capped_by_ceiling


amounts = st.floats(0, 1e7, allow_nan=False) | st.integers(0, 10**9)


@EXAMPLES
@given(st.sampled_from(SUGGESTED), amounts, st.none() | st.integers(1, 10**6))
@example(LimitName.MAX_COST_USD, 0.004, None)
@example(LimitName.MAX_TURNS, 99_999, None)
@example(LimitName.MAX_ACTIVE_DURATION, 0, None)
def test_a_new_value_is_in_range_below_the_ceiling_and_never_below_what_was_needed(
    name: LimitName, p95: float, ceiling: int | None
) -> None:
    value = new_value(name, p95, ceiling)
    in_range(name, value)
    highest = CATALOGUE[name].most if ceiling is None else min(ceiling, CATALOGUE[name].most)
    assert value <= highest
    assert value >= min(p95, highest)


# --- what it would have changed ---------------------------------------------------------------


def test_who_would_have_been_stopped_and_who_would_have_gone_on_is_named() -> None:
    """19 of 20 needed 20 calls, one 90; of the stopped one came to 12 and one to 60."""
    limits = replace(Limits(), max_tool_calls=100)
    own = finished(*[20] * 19, 90, limits=limits)
    found = suggested([stopped(32, 25), *own, stopped(30, 12), stopped(31, 60)])
    assert found.value == 25
    assert found.changed.stopped == ("octo/demo#20/bug-fix/1",)
    assert found.changed.gone_on == ("octo/demo#30/bug-fix/1",)
    assert found.changed.stopped_earlier == ("octo/demo#31/bug-fix/1",)


def test_an_agent_that_was_paused_and_raised_would_have_gone_on() -> None:
    pausing = replace(Limits(), max_tool_calls=5, default_action=Action.REQUEST_INCREASE)
    life = calling(6, pausing)
    life.is_granted(CALLS, 10)
    life.goes_on()
    for _ in range(5):
        life.asks_tool()
    found = suggested([*finished(*[20] * 10), history(life, 40)])
    assert found.changed.gone_on == ("octo/demo#40/bug-fix/1",)


def test_another_stop_is_not_undone_by_this_limit() -> None:
    life = begun(replace(Limits(), max_turns=1))
    life.asks_turn()
    life.asks_turn()
    turned = history(life, 50, State.ESCALATED)
    assert suggested([*finished(*[20] * 10), turned]).changed.gone_on == ()


def test_only_those_that_came_to_an_end_would_have_come_to_another() -> None:
    others = [
        history(calling(60), 70, State.ACTIVE),
        history(calling(60), 71, State.CANCELLED),
        stopped(72, 60),
    ]
    found = suggested([*others, *finished(*[20] * 10)]).changed
    assert (found.stopped, found.stopped_earlier) == ((), ("octo/demo#72/bug-fix/1",))


def test_who_had_used_more_than_the_new_value_would_not_have_gone_on() -> None:
    """An amount may be above its bound when it stops an agent."""
    life = begun(Limits(max_tokens=100))
    life.calls_model()
    life.model_answers(input_tokens=1_000)
    life.asks_turn()
    assert life.counters.trip is not None and life.counters.trip.observed == 1_120
    few = [calling_model(5) for _ in range(10)]
    ended = [history(one, number) for number, one in enumerate(few)]
    found = suggested([*ended, history(life, 50, State.ESCALATED)], LimitName.MAX_TOKENS)
    assert (found.value, found.changed.gone_on) == (690, ())


def calling_model(times: int) -> Life:
    """110 tokens each."""
    life = begun(Limits(max_tokens=100_000))
    for _ in range(times):
        life.calls_model()
    return life


# --- a log judged anew ------------------------------------------------------------------------


def test_time_is_judged_where_the_clock_ticked() -> None:
    life = begun()
    for _ in range(5):
        life.waits(20)
        life.ticks()
    mark = stop_under(history(life), LimitName.MAX_ACTIVE_DURATION, 60)
    assert mark is not None
    assert (mark.observed, mark.layer, mark.at) == (60, Layer.TIMER, START + timedelta(seconds=60))
    assert stop_under(history(life), LimitName.MAX_ACTIVE_DURATION, 101) is None


def test_answers_of_the_model_are_used_up_whoever_judges() -> None:
    mark = stop_under(history(calling_model(5)), LimitName.MAX_TOKENS, 330)
    assert mark is not None and mark.observed == 330


def test_what_was_raised_or_let_pass_then_is_not_so_now() -> None:
    raised = calling(3)
    raised.is_granted(CALLS, 100)
    raised.asks_tool()
    passed = calling(3, replace(Limits(), max_tool_calls=2, default_action=Action.WARN))
    for life in (raised, passed):
        mark = stop_under(history(life), CALLS, 2)
        assert mark is not None and (mark.observed, mark.maximum) == (2, 2)
        assert stop_under(history(life), CALLS, 4) is None
    stopped_then = calling(6, replace(Limits(), max_tool_calls=5))
    stopped_then.begins_segment()
    stopped_then.log.append(ToolAsked(at=stopped_then.now, call="again", tool="view", what=""))
    assert stop_under(history(stopped_then), CALLS, 5) is not None


def test_tests_that_could_not_run_are_another_stop() -> None:
    life = begun()
    for _ in range(3):
        life.tests(Outcome.DID_NOT_RUN)
    life.is_granted(CALLS, 10)
    assert life.tests(Outcome.DID_NOT_RUN).allowed
    assert stop_under(history(life), CALLS, 100) is None


def test_fix_cycles_are_counted_as_they_were() -> None:
    modes: dict[Literal["fix_cycles", "test_runs"], bool] = {"fix_cycles": False, "test_runs": True}
    for mode, stops in modes.items():
        life = begun(Limits(iteration_mode=mode))
        for _ in range(3):
            life.tests(Outcome.PASSED)
        found = stop_under(history(life), LimitName.MAX_ITERATIONS, 2)
        assert (found is not None) is stops


@EXAMPLES
@given(step_lists, st.integers(1, 12))
def test_a_log_judged_anew_is_stopped_where_a_life_under_that_limit_is(
    steps: list[Step], maximum: int
) -> None:
    """Whatever else happened, and whatever was raised: the limit is taken by itself."""
    steps = [each for each in steps if each[0] not in ("raise", "grant", "hold")]
    steps = [("spawn", 0) if each[0] == "spawn" else each for each in steps]  # nothing set aside
    free = lived(NO_LIMITS, steps)
    bound = lived(only(max_tool_calls=maximum), steps)
    mark = stop_under(history(free), CALLS, maximum)
    trip = bound.counters.trip
    if trip is None or trip.limit != CALLS:
        assert mark is None or trip is not None
    else:
        assert mark is not None
        assert (mark.observed, mark.maximum, mark.at) == (trip.observed, trip.maximum, trip.at)


# --- how it is said ---------------------------------------------------------------------------


def role() -> RoleHistory:
    return role_history("bug-fix", [*finished(*[20] * 19, 90), stopped(31, 60)], {})


def test_the_lines_fit_a_terminal_and_name_every_limit_in_full() -> None:
    lines = list(role_lines(role()))
    assert lines[0] == "bug-fix: 20 agents finished, 1 stopped by a limit (octo/demo)"
    assert lines[1] == "  limit                    now  median  p95  max  stop  pause  warn  wrong"
    assert "  max_tool_calls            60      20   20   90     1      0     1    0/1" in lines
    assert (
        "  max_tool_calls: 60 -> 25: would have stopped 1 (octo/demo#20/bug-fix/1) that finished,"
        " would have stopped 1 (octo/demo#31/bug-fix/1) earlier"
    ) in lines


def test_the_block_is_the_configuration_that_it_claims_to_be() -> None:
    block = yaml_block([role(), role_history("pm", finished(1), {})])
    found = yaml.safe_load(block)["circuit_breakers"]["roles"]
    assert {*found} == {"bug-fix"}
    assert found["bug-fix"]["max_tool_calls"] == 25
    assert "# was 60; 95 % of 20 finished agents used at most 20" in block
    assert yaml_block([]) == ""
