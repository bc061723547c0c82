"""Replaying a recorded run: the verdicts of a live agent, over what somebody else's agent did."""

from dataclasses import replace
from datetime import datetime, timedelta
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.adapters.shell import parse
from app.core.agents.counters import Counters, after
from app.core.agents.events import (
    AgentEvent,
    Held,
    ModelAsked,
    ModelCalled,
    SegmentStarted,
    Spoke,
    SuiteAsked,
    Ticked,
    ToolAsked,
    ToolEnded,
    ToolKind,
    Tripped,
    TurnAsked,
    Warned,
)
from app.core.agents.loops import call_key, error_key, result_key
from app.core.agents.stops import Hold, Layer, Trip
from app.core.breaker.verdict import decide
from app.core.history.replay import Replay
from app.core.history.transcript import (
    Message,
    ModelCall,
    ToolCall,
    ToolResult,
    Totals,
    Turn,
)
from app.core.limits import Action, LimitName, Limits
from app.testruns import SuiteRules, outcome_of, suite_of
from tests.core.recorded import Run, replayed, stop
from tests.core.strategies import EXAMPLES, START, only

PER_TURN = LimitName.MAX_TOOL_CALLS_PER_TURN


# --- live and replayed ------------------------------------------------------------------------


steps_of_a_life = st.lists(
    st.one_of(
        st.tuples(st.just("passes"), st.sampled_from([0.001, 1, 29, 30, 31])),
        st.tuples(st.just("says")),
        st.tuples(st.just("asks_model"), st.sampled_from([0, 1, 500_000, 1_000_000])),
        st.tuples(st.just("calls")),
        st.tuples(st.just("edits")),
        st.tuples(st.just("tests")),
        st.tuples(st.just("looks")),
        st.tuples(st.just("fails")),
    ),
    max_size=40,
)
small = st.one_of(st.none(), st.integers(1, 6))
limits_of_a_life = st.builds(
    only,
    max_iterations=small,
    max_tool_calls=small,
    max_model_calls=small,
    max_tokens=st.sampled_from([None, 1, 1_000_000, 2_500_000]),
    max_cost_usd=st.sampled_from([None, 0.5, 1.0, 2.0]),
    max_consecutive_tools=small,
    max_tool_calls_per_turn=small,
    max_repeated_errors=small,
    max_repeated_calls=small,
    max_idle_duration=st.sampled_from([None, 30, 45]),
    max_active_duration=st.sampled_from([60, 100, 10_000]),
    default_action=st.sampled_from([Action.ESCALATE, Action.PAUSE]),
)


def recorded(life: list[tuple[Any, ...]]) -> Run:
    run = Run()
    for method, *args in life:
        match method:
            case "looks":
                run.calls("view", path="a.py", output="the same")
            case "fails":
                run.calls("view", path="a.py", ok=False, output="no such file")
            case _:
                getattr(run, method)(*args)
    return run


def lived(run: Run, limits: Limits) -> list[AgentEvent]:
    """What a live agent's log would hold: each step is asked for, its clock ticks each second."""
    counters, log, version = Counters(), list[AgentEvent](), 0
    asked_suites: dict[str, ToolCall] = {}
    calls: dict[str, ToolCall] = {}

    def happened(*events: AgentEvent) -> None:
        nonlocal counters
        for event in events:
            counters = after(counters, event)
            log.append(event)

    def asks(ask: Any, layer: Layer = Layer.HOOK) -> None:
        happened(*decide(counters, ask, limits, layer).events)

    def passes(until: datetime) -> None:
        while counters.clock is not None and counters.clock < until:
            asks(Ticked(at=min(counters.clock + timedelta(milliseconds=500), until)), Layer.TIMER)

    if run.steps:
        happened(SegmentStarted(at=run.steps[0].at, segment=0, attempt=1))
        asks(TurnAsked(at=run.steps[0].at))
    for step in run.steps:
        passes(step.at)
        match step:
            case Message():
                happened(Spoke(at=step.at))
            case ModelCall():
                asks(ModelAsked(at=step.at))
                tokens = step.input_tokens or 0
                happened(
                    ModelCalled(
                        at=step.at,
                        model="m",
                        input_tokens=tokens,
                        output_tokens=0,
                        cost_nanousd=1_000 * tokens,
                    )
                )
            case ToolCall():
                suite = None
                if step.kind is ToolKind.SHELL:
                    asked_suites[step.id] = step
                    found = suite_of(parse("pytest -q"), SuiteRules())
                    assert found is not None
                    suite = SuiteAsked(suite=found, fingerprint=str(version))
                calls[step.id] = step
                asks(
                    ToolAsked(
                        at=step.at,
                        call=step.id,
                        tool=step.tool,
                        what="",
                        suite=suite,
                        kind=step.kind,
                        key=call_key(step.tool, step.args),
                    )
                )
            case ToolResult():
                call = calls[step.id]
                found = suite_of(parse("pytest -q"), SuiteRules())
                assert found is not None
                is_suite = step.id in asked_suites
                changed = call.kind is ToolKind.WRITE and step.ok
                version += changed
                happened(
                    ToolEnded(
                        at=step.at,
                        call=step.id,
                        ok=step.ok,
                        outcome=(
                            outcome_of(found, step.exit_code, step.output) if is_suite else None
                        ),
                        fingerprint=str(version) if is_suite else None,
                        result=result_key(step.ok, step.exit_code, step.output),
                        error="" if step.ok or is_suite else error_key(step.output),
                        changed=changed,
                    )
                )
            case Turn():
                raise AssertionError("these lives have one turn")
        if counters.trip is not None or counters.hold is not None:
            return log
    if run.steps:
        asks(Ticked(at=run.steps[-1].at), Layer.TIMER)
    return log


@EXAMPLES
@given(steps_of_a_life, limits_of_a_life)
def test_a_replayed_run_is_stopped_where_the_live_agent_would_be(
    life: list[tuple[Any, ...]], limits: Limits
) -> None:
    run = recorded(life)
    log = lived(run, limits)
    trips = [event.trip for event in log if isinstance(event, Tripped)]
    holds = [event.hold for event in log if isinstance(event, Held)]
    found = run.under(limits).trip
    ends: list[Trip | Hold] = [*trips, *holds]
    expected = ends[0] if ends else None
    if expected is None:
        assert found is None
        return
    assert found is not None
    assert (found.limit, found.observed, found.maximum) == (
        expected.limit,
        expected.observed,
        expected.maximum,
    )
    assert found.tool_call == sum(isinstance(event, ToolAsked) for event in log)
    assert found.action == ("escalate" if trips else "pause")


@EXAMPLES
@given(steps_of_a_life, limits_of_a_life)
def test_a_replayed_run_is_warned_of_what_the_live_agent_was_warned_of(
    life: list[tuple[Any, ...]], limits: Limits
) -> None:
    run = recorded(life)
    log = lived(run, limits)
    result = run.under(limits)
    told = [event.limit for event in log if isinstance(event, Warned)]
    assert [str(mark.limit) for mark in result.warnings][: len(told)] == told


@EXAMPLES
@given(steps_of_a_life, limits_of_a_life)
def test_what_was_saved_and_what_was_not_is_the_whole_run(
    life: list[tuple[Any, ...]], limits: Limits
) -> None:
    result = recorded(life).under(limits)
    saved, whole = result.saved, result.spent
    assert 0 <= saved.tool_calls <= whole.tool_calls
    assert 0 <= saved.model_calls <= whole.model_calls
    assert 0 <= saved.seconds <= whole.seconds
    if result.trip is None:
        assert (saved.tool_calls, saved.model_calls, saved.tokens, saved.seconds) == (0, 0, 0, 0)
    else:
        assert result.trip.tool_call + saved.tool_calls == whole.tool_calls


@EXAMPLES
@given(steps_of_a_life, limits_of_a_life)
def test_a_limit_that_is_only_watched_says_the_same_and_stops_nothing(
    life: list[tuple[Any, ...]], limits: Limits
) -> None:
    limits = replace(limits, default_action=Action.ESCALATE)
    run = recorded(life)
    judged = [stop(mark) for mark in run.under(limits).stops]
    watched = run.under(replace(limits, shadow=frozenset(LimitName)))
    assert watched.stops == ()
    assert [stop(mark) for mark in watched.passed if mark.limit == "max_tool_calls"] == [
        (name, seen, most, calls + 1) for name, seen, most, calls in filter(None, judged)
        if name == "max_tool_calls"
    ]  # fmt: skip


# --- who counts -------------------------------------------------------------------------------


def test_calls_of_sub_agents_count_and_belong_to_no_turn_of_the_main_agent() -> None:
    run = Run().calls().times(3, "calls", agent="helper").calls()
    assert stop(run.under(only(max_tool_calls=4)).trip) == ("max_tool_calls", 4, 4, 4)
    assert run.under(only(max_tool_calls=5)).trip is None
    assert run.under(only(max_tool_calls_per_turn=2)).trip is None
    assert run.under(only(max_consecutive_tools=2)).trip is None
    assert run.under(only(max_consecutive_tools=1)).stops != ()


def test_a_sub_agent_may_call_where_the_main_agent_may_not() -> None:
    run = Run().times(2, "calls").times(2, "calls", agent="helper")
    for limits in (only(max_tool_calls_per_turn=2), only(max_consecutive_tools=2)):
        assert run.under(limits).trip is None
        assert stop(Run().times(3, "calls").under(limits).trip) is not None


def test_each_sub_agent_repeats_itself_and_nobody_else() -> None:
    look: dict[str, Any] = {"path": "a.py", "output": "the same"}
    together = Run()
    for name in ("ann", "bob", None):
        together.times(2, "calls", agent=name, **look)
    assert together.under(only(max_repeated_calls=2)).trip is None
    alone = Run()
    for _ in range(3):
        alone.calls(agent="ann", **look).calls(agent="bob", path="b.py")
    assert stop(alone.under(only(max_repeated_calls=2)).trip) == ("max_repeated_calls", 2, 2, 4)


def test_the_tests_are_everybodys() -> None:
    run = Run().tests().edits().tests(agent="helper").edits().tests()
    assert stop(run.under(only(max_iterations=1)).trip) == ("max_iterations", 1, 1, 4)


def test_the_text_of_a_sub_agent_and_thoughts_are_no_text_of_the_main_agent() -> None:
    limits = only(max_consecutive_tools=2)
    silent = Run().times(2, "calls").says(agent="helper").thinks().calls()
    assert stop(silent.under(limits).trip) == ("max_consecutive_tools", 2, 2, 2)
    assert Run().times(2, "calls").says().calls().under(limits).trip is None
    assert Run().times(2, "calls").says(" \n").calls().under(limits).trip is not None


def test_denied_and_closing_calls_count_for_nothing() -> None:
    run = Run().calls().calls(denied=True).calls("report_complete").calls("request_increase")
    result = run.under(only(max_tool_calls=1))
    assert (result.trip, result.tool_calls, result.spent.tool_calls) == (None, 4, 1)


def test_sub_agents_that_are_started_are_counted() -> None:
    run = Run().times(3, "calls", tool="task")
    assert stop(run.under(only(max_spawns=2)).trip) == ("max_spawns", 2, 2, 2)
    none = run.under(only(max_depth=0))
    assert none.trip is None and [mark.limit for mark in none.passed] == ["max_depth"]
    assert Run().calls("task", agent="helper").under(only(max_spawns=0)).trip is None


# --- time -------------------------------------------------------------------------------------


@pytest.mark.parametrize(("gap", "stops"), [(59, False), (60, True), (61, True)])
def test_a_silence_stops_the_run_when_the_bound_comes_and_not_at_the_next_step(
    gap: int, stops: bool
) -> None:
    trip = Run().calls(takes_seconds=gap).under(only(max_idle_duration=60)).trip
    assert (trip is not None) is stops
    if trip is not None:
        assert stop(trip) == ("max_idle_duration", 60, 60, 1)
        assert (trip.at, trip.layer) == (START + timedelta(seconds=60), Layer.TIMER)


def test_time_between_turns_is_nobodys() -> None:
    limits = only(max_active_duration=10, max_idle_duration=10)
    run = Run().turn().calls(takes_seconds=4).passes(1_000).turn().calls(takes_seconds=4)
    assert run.under(limits).trip is None
    assert run.under(limits).spent.seconds == 8
    run.passes(2).calls()
    assert stop(run.under(limits).trip) == ("max_active_duration", 10, 10, 2)


def test_a_bound_on_time_warns_at_its_threshold_and_no_step_later() -> None:
    result = Run().calls(takes_seconds=1_000).under(only(max_active_duration=600))
    (warning,) = result.warnings
    assert (warning.observed, warning.at) == (480, START + timedelta(seconds=480))
    assert stop(result.trip) == ("max_active_duration", 600, 600, 1)
    assert result.saved.seconds == 400


def test_a_threshold_that_no_millisecond_meets_exactly_still_warns_once() -> None:
    limits = only(max_active_duration=7, warning_threshold=0.7)
    result = Run().calls(takes_seconds=30).under(limits)
    assert [mark.limit for mark in result.warnings] == ["max_active_duration"]
    assert stop(result.trip) == ("max_active_duration", 7, 7, 1)


def test_turns_count_prompts() -> None:
    run = Run().times(3, "turn").calls()
    assert stop(run.under(only(max_turns=2)).trip) == ("max_turns", 2, 2, 0)
    assert run.under(only(max_turns=3)).trip is None
    assert Run().calls().under(only(max_turns=1)).trip is None


# --- amounts ----------------------------------------------------------------------------------


def test_tokens_stop_the_run_when_they_are_reached_with_the_last_answer_too() -> None:
    run = Run().asks_model(500).calls().asks_model(500)
    trip = run.under(only(max_tokens=1_000)).trip
    assert stop(trip) == ("max_tokens", 1_000, 1_000, 1)
    assert run.under(only(max_tokens=1_001)).trip is None
    assert run.under(only(max_tokens=1_000)).saved.tokens == 0


def test_who_has_closed_its_work_is_not_stopped_behind_it() -> None:
    run = Run().asks_model(1_000).calls("report_complete")
    assert run.under(only(max_tokens=1_000)).trip is None


def test_money_is_what_the_calls_were_billed() -> None:
    run = Run().times(3, "asks_model", 500_000).calls()
    result = run.under(only(max_cost_usd=1.0))
    assert stop(result.trip) == ("max_cost_usd", 1.0, 1.0, 0)
    assert (result.saved.cost_nanousd, result.saved.model_calls) == (500_000_000, 1)


@pytest.mark.parametrize("unknown", [{"model": "nobody's"}, {"model": None}, {"tokens": None}])
def test_unknown_money_is_unknown_and_never_nothing(unknown: dict[str, Any]) -> None:
    run = Run().asks_model(500).asks_model(**unknown).passes(1).times(3, "calls")
    result = run.under(only(max_cost_usd=0.01, max_tool_calls=1))
    assert stop(result.trip) == ("max_tool_calls", 1, 1, 1)
    assert result.saved.cost_nanousd is None
    assert [str(each.limit) for each in result.not_judged] == ["max_cost_usd"]


def test_tokens_of_the_whole_run_are_put_to_no_step() -> None:
    run = Run().asks_model(None).calls().passes(1).asks_model(None).calls()
    totals = Totals(input_tokens=900, output_tokens=100)

    def judged(**maxima: Any) -> Replay:
        return replayed(run.steps, only(**maxima), totals)

    stopped = judged(max_tool_calls=1, max_tokens=1_000)
    assert (stopped.saved.tokens, stopped.saved.model_calls) == (0, 0)
    earlier = judged(max_model_calls=1)
    assert (earlier.saved.tokens, earlier.saved.model_calls) == (None, 1)
    (unknown,) = stopped.not_judged
    assert (unknown.limit, "1,000 tokens" in unknown.reason) == ("max_tokens", True)
    assert judged(max_tokens=1_001).not_judged == ()  # never reached, wherever they were used
    assert judged(max_tokens=1_000).trip is None


def test_a_run_that_knows_no_time_is_not_judged_by_it() -> None:
    result = Run().times(2, "calls").under(only(max_idle_duration=5))
    assert {str(each.limit) for each in result.not_judged} == {
        "max_active_duration",
        "max_idle_duration",
    }
    timed = Run().calls(takes_seconds=1).under(only(max_idle_duration=5))
    assert timed.not_judged == ()


# --- what follows a stop ----------------------------------------------------------------------


def test_one_pass_tells_of_every_limit_and_the_first_is_the_trip() -> None:
    run = Run().times(8, "calls")
    limits = only(max_tool_calls=5, max_consecutive_tools=3)
    result = run.under(limits)
    assert [stop(mark) for mark in result.stops] == [
        ("max_consecutive_tools", 3, 3, 3),
        ("max_tool_calls", 5, 5, 5),
    ]
    assert result.saved.tool_calls == 5


def test_a_warning_names_the_call_that_was_allowed() -> None:
    result = Run().times(8, "calls").under(only(max_tool_calls=10))
    assert [stop(mark) for mark in result.warnings] == [("max_tool_calls", 8, 10, 8)]


@pytest.mark.parametrize(
    ("action", "stops", "passed"),
    [
        (Action.ESCALATE, ["escalate"], []),
        (Action.PAUSE, ["pause"], []),
        (Action.REQUEST_INCREASE, ["request_increase"], []),
        (Action.WARN, [], ["warn"]),
    ],
)
def test_what_a_limit_would_have_done_is_said(
    action: Action, stops: list[str], passed: list[str]
) -> None:
    limits = only(max_tool_calls=2, default_action=action)
    result = Run().times(5, "calls").under(limits)
    assert [mark.action for mark in result.stops] == stops
    assert [(mark.action, mark.tool_call) for mark in result.passed] == [(a, 3) for a in passed]


def test_a_ceiling_stops_what_a_warning_lets_pass() -> None:
    limits = only(
        max_tool_calls=2, default_action=Action.WARN, ceilings={LimitName.MAX_TOOL_CALLS: 4}
    )
    result = Run().times(9, "calls").under(limits)
    assert [stop(mark) for mark in result.passed] == [("max_tool_calls", 2, 2, 3)]
    assert [stop(mark) for mark in result.stops] == [("max_tool_calls", 4, 4, 4)]
    assert result.spent.tool_calls == 9
    both = replace(limits, max_tool_calls_per_turn=6, actions={PER_TURN: Action.ESCALATE})
    assert [mark.limit for mark in Run().times(9, "calls").under(both).stops] == [
        "max_tool_calls",
        "max_tool_calls_per_turn",
    ]


def test_a_failing_edit_changes_nothing() -> None:
    def cycles(*, edits_succeed: bool) -> Replay:
        run = Run().tests()
        for _ in range(2):
            run.edits(ok=edits_succeed).tests()
        return run.under(only(max_iterations=1))

    assert stop(cycles(edits_succeed=True).trip) == ("max_iterations", 1, 1, 4)
    assert cycles(edits_succeed=False).trip is None


def test_an_empty_run_is_stopped_by_nothing() -> None:
    result = Run().under(Limits())
    assert (result.trip, result.events, result.saved.cost_nanousd) == (None, 0, None)
