"""The breaker's rules: exact maxima, trips before warnings, one trip, one warning."""

from dataclasses import replace

import pytest
from hypothesis import given

from app.core.agents.counters import Counters, fold, used_of
from app.core.agents.events import (
    Failed,
    Passed,
    Raised,
    Ticked,
    ToolDenied,
    Tripped,
    TurnAsked,
    Warned,
)
from app.core.agents.stops import Cause, Failure, Layer, Trip
from app.core.breaker.verdict import Answer, decide, figure, usage
from app.core.limits import CATALOGUE, Action, LimitName, Limits, Trips
from app.testruns import Outcome
from tests.core.life import begun, halted, no_limit_speaks
from tests.core.onlooker import JUDGED
from tests.core.random_lives import Step, all_limits, limits_of, lived, step_lists
from tests.core.strategies import EVERYTHING, EXAMPLES, NO_LIMITS, START, after_seconds, only

escalating_limits = limits_of(*JUDGED)

# --- explicit boundaries: max and max + 1; N - ε, N, N + ε -----------------------------------


@pytest.mark.parametrize("maximum", [1, 2, 5, 200])
def test_a_maximum_of_tool_calls_lets_that_many_happen(maximum: int) -> None:
    life = begun(only(max_tool_calls=maximum))
    assert all(life.asks_tool().allowed for _ in range(maximum))
    assert halted(life.asks_tool(), LimitName.MAX_TOOL_CALLS, maximum, maximum)
    assert life.counters.tool_calls == maximum


@pytest.mark.parametrize("maximum", [1, 2, 5, 50])
def test_a_maximum_of_turns_lets_that_many_happen(maximum: int) -> None:
    life = begun(only(max_turns=maximum))
    assert all(life.asks_turn().allowed for _ in range(maximum))
    assert halted(life.asks_turn(), LimitName.MAX_TURNS, maximum, maximum)
    assert life.counters.turns == maximum


@pytest.mark.parametrize("maximum", [1, 2, 5])
def test_a_maximum_of_iterations_lets_that_many_fix_cycles_fail(maximum: int) -> None:
    life = begun(only(max_iterations=maximum))
    failing_runs = [life.tests(Outcome.FAILED, content=f"v{n}") for n in range(maximum + 1)]
    assert all(verdict.allowed for verdict in failing_runs)
    verdict = life.tests(Outcome.FAILED, content="one more")
    assert halted(verdict, LimitName.MAX_ITERATIONS, maximum, maximum)
    assert life.counters.test_runs == maximum + 1


@pytest.mark.parametrize("maximum", [1, 2, 5])
def test_a_maximum_of_iterations_in_test_runs_lets_that_many_runs_happen(maximum: int) -> None:
    life = begun(only(max_iterations=maximum, iteration_mode="test_runs"))
    assert all(life.tests(Outcome.PASSED).allowed for _ in range(maximum))
    assert halted(life.tests(Outcome.PASSED), LimitName.MAX_ITERATIONS, maximum, maximum)


@pytest.mark.parametrize(
    ("seconds", "trips"),
    [(0, False), (99.999, False), (99.9999, False), (100, True), (100.001, True), (5_000, True)],
)
def test_active_time_trips_when_it_has_reached_the_maximum(seconds: float, trips: bool) -> None:
    life = begun(only(max_active_duration=100))
    life.waits(seconds)
    verdict = life.ticks()
    assert (verdict.answer is Answer.HALT) is trips
    if trips:
        assert halted(verdict, LimitName.MAX_ACTIVE_DURATION, seconds, 100)


@pytest.mark.parametrize(("calls", "answer"), [(7, Answer.ALLOW), (8, Answer.WARN)])
def test_a_warning_comes_when_the_threshold_is_reached(calls: int, answer: Answer) -> None:
    life = begun(only(max_tool_calls=10))
    for _ in range(calls - 1):
        assert life.asks_tool().answer is Answer.ALLOW
    assert life.asks_tool().answer is answer


@pytest.mark.parametrize(
    ("seconds", "answer"),
    [(79.999, Answer.ALLOW), (80, Answer.WARN), (80.001, Answer.WARN), (100, Answer.HALT)],
)
def test_a_warning_of_time_comes_when_the_threshold_is_reached(
    seconds: float, answer: Answer
) -> None:
    life = begun(only(max_active_duration=100))
    life.waits(seconds)
    assert life.ticks().answer is answer


# --- stories ----------------------------------------------------------------------------------


def test_nothing_works_after_a_trip() -> None:
    life = begun(only(max_tool_calls=2))
    life.asks_tool()
    life.asks_tool()
    reason = "max_tool_calls reached: 2 of 2 tool calls."
    trip = Trip(
        limit=LimitName.MAX_TOOL_CALLS,
        observed=2,
        maximum=2,
        layer=Layer.HOOK,
        at=START,
        reason=reason,
    )
    life.asks_tool("bash")
    assert life.log[-2:] == [
        ToolDenied(at=START, tool="bash", what="README.md", reason=reason),
        Tripped(at=START, trip=trip),
    ]
    for verdict in (life.asks_tool(), life.asks_turn(), life.ticks(), life.asks_tests()):
        assert verdict.answer is Answer.DENY and not verdict.allowed
        assert (verdict.limit, verdict.observed, verdict.maximum) == ("max_tool_calls", 2, 2)
        assert reason in verdict.reason and "report_complete" in verdict.reason
    assert life.counters.trip == trip


def test_a_later_limit_trips_although_an_earlier_one_only_warns() -> None:
    """Seed 002's sketch returned at the first warning and never saw the later limits."""
    life = begun(only(max_tool_calls=1, max_active_duration=100))
    life.waits(100)
    assert halted(life.asks_tool(), LimitName.MAX_ACTIVE_DURATION, 100, 100)
    assert not [event for event in life.log if isinstance(event, Warned)]


def test_of_two_trips_the_first_of_the_catalogue_is_told() -> None:
    life = begun(only(max_turns=1, max_active_duration=100))
    life.asks_turn()
    life.waits(100)
    assert halted(life.asks_turn(), LimitName.MAX_TURNS, 1, 1)


def test_what_uses_nothing_of_a_used_up_limit_goes_on() -> None:
    """A maximum of N lets N happen: only one more of the same trips."""
    life = begun(only(max_turns=1, max_iterations=1))
    life.asks_turn()
    life.tests(Outcome.FAILED, content="v1")
    life.tests(Outcome.FAILED, content="v2")
    assert life.asks_tool().allowed
    assert life.ticks().allowed
    assert life.tests(Outcome.FAILED, content="v2").allowed, "a repeat is no further cycle"
    assert halted(life.tests(Outcome.FAILED, content="v3"), LimitName.MAX_ITERATIONS, 1, 1)


def test_who_is_beyond_a_maximum_is_stopped_at_the_next_check() -> None:
    """However it came there, for example by a log that was kept under wider limits."""
    decision = decide(Counters(turns=7), Ticked(at=START), only(max_turns=5))
    assert halted(decision.verdict, LimitName.MAX_TURNS, 7, 5)


def test_a_warning_is_told_once_also_when_the_threshold_is_jumped_over() -> None:
    life = begun(only(max_active_duration=100))
    life.waits(99)
    verdict = life.asks_tool()
    assert (verdict.answer, verdict.limit) == (Answer.WARN, "max_active_duration")
    assert (verdict.observed, verdict.maximum) == (99, 100)
    assert "max_active_duration at 99 of 100 seconds" in verdict.reason
    assert life.asks_tool().answer is Answer.ALLOW
    life.ends_segment()
    life.begins_segment()
    assert life.asks_tool().answer is Answer.ALLOW, "once per agent, not per segment"


def test_two_warnings_at_once_are_both_told() -> None:
    life = begun(only(max_tool_calls=1, max_active_duration=100))
    life.waits(90)
    verdict = life.asks_tool()
    assert verdict.limit == "max_tool_calls"
    assert "max_tool_calls at 1 of 1" in verdict.reason
    assert "max_active_duration at 90 of 100" in verdict.reason
    assert life.counters.warned == {LimitName.MAX_TOOL_CALLS, LimitName.MAX_ACTIVE_DURATION}


def test_a_limit_that_is_switched_off_never_speaks() -> None:
    life = begun(NO_LIMITS)
    for n in range(300):
        life.asks_turn()
        life.tests(Outcome.FAILED, content=f"v{n}")
    assert all(no_limit_speaks(decision.verdict) for _, decision in life.decisions)
    assert {use.name for use in usage(life.counters, NO_LIMITS, START)} == {
        LimitName.MAX_ACTIVE_DURATION,
        LimitName.MAX_SLEEP_DURATION,
    }


def test_the_layer_that_asked_is_the_trips_layer() -> None:
    life = begun(only(max_active_duration=10))
    life.waits(10)
    decision = decide(life.counters, Ticked(at=life.now), life.limits, Layer.TIMER)
    assert decision.counters.trip is not None
    assert decision.counters.trip.layer is Layer.TIMER


def test_a_failure_stops_an_agent_like_a_limit() -> None:
    failure = Failure(cause=Cause.SETUP_FAILED, at=START, reason="`make deps` ended with 2.")
    life = begun()
    life.happens(Failed(at=START, failure=failure))
    verdict = life.asks_tool()
    assert (verdict.answer, verdict.limit, verdict.observed) == (Answer.DENY, None, None)
    assert life.counters.stop is failure and life.counters.trip is None
    assert "`make deps` ended with 2." in verdict.reason


def test_a_second_trip_changes_nothing() -> None:
    life = begun(only(max_turns=1))
    life.asks_turn()
    life.asks_turn()
    first = life.counters.trip
    assert first is not None
    later = replace(first, layer=Layer.RECONCILIATION, at=after_seconds(9))
    life.happens(Tripped(at=after_seconds(9), trip=later))
    assert life.counters.trip is first


def test_a_sleep_is_no_business_of_a_running_agent() -> None:
    """An agent that was woken just before its bound works on; the sleep is over."""
    life = begun(only(max_sleep_duration=100))
    life.sleeps()
    life.waits(99)
    name = LimitName.MAX_SLEEP_DURATION
    assert used_of(name, life.limits, life.counters, life.now) == 99
    life.wakes()
    life.waits(50)
    life.begins_segment()
    assert life.asks_turn().answer is Answer.ALLOW


@pytest.mark.parametrize(
    ("amount", "text"), [(None, "unknown"), (5, "5"), (7200.0, "7200"), (1.26, "1.3")]
)
def test_figures_read_as_people_write_them(amount: float | None, text: str) -> None:
    assert figure(amount) == text


# --- properties -------------------------------------------------------------------------------


@EXAMPLES
@given(escalating_limits, step_lists)
def test_in_no_order_an_agent_passes_a_limit_and_goes_on(limits: Limits, steps: list[Step]) -> None:
    life = lived(limits, steps)
    for (ask, _), (before, decision) in zip(life.asks, life.decisions, strict=True):
        if not decision.verdict.allowed or before.stop is not None:
            continue
        for use in usage(decision.counters, limits, ask.at):
            if CATALOGUE[use.name].trips is Trips.BEYOND:
                assert use.observed <= use.maximum, use
            else:
                assert use.observed < use.maximum, use


@EXAMPLES
@given(escalating_limits, step_lists)
def test_a_halt_says_what_happened_and_what_was_allowed(limits: Limits, steps: list[Step]) -> None:
    life = lived(limits, steps)
    for (ask, _), (before, decision) in zip(life.asks, life.decisions, strict=True):
        verdict = decision.verdict
        if verdict.answer is not Answer.HALT or isinstance(decision.counters.stop, Failure):
            continue
        assert verdict.limit is not None and verdict.observed is not None
        name = LimitName(verdict.limit)
        maximum = {use.name: use.maximum for use in usage(before, limits, ask.at)}[name]
        assert verdict.maximum == maximum
        if CATALOGUE[name].trips is Trips.BEYOND:
            assert verdict.observed == used_of(name, limits, before, ask.at)
        if CATALOGUE[name].trips is Trips.REPEATED:
            assert verdict.observed == maximum
        trip = decision.counters.trip
        assert trip is not None
        figures = (trip.limit, trip.observed, trip.maximum, trip.at)
        assert figures == (name, verdict.observed, maximum, ask.at)


@EXAMPLES
@given(all_limits, step_lists)
def test_after_a_stop_every_answer_is_a_denial_and_only_time_moves(
    limits: Limits, steps: list[Step]
) -> None:
    life = lived(limits, steps)
    assert sum(isinstance(event, Tripped) for event in life.log) <= 1
    for before, decision in life.decisions:
        if before.stop is not None:
            assert decision.verdict.answer is Answer.DENY
    for before, decision in life.decisions:
        if not decision.verdict.allowed:
            assert before == decision.counters._replace(
                active=before.active,
                clock=before.clock,
                heard=before.heard,
                passed=before.passed,
                stop=before.stop,
                hold=before.hold,
            )
            refused = decision.counters.passed - before.passed
            assert refused <= {LimitName.MAX_SPAWNS, LimitName.MAX_DEPTH}


def test_after_a_trip_the_model_is_not_asked_either() -> None:
    """The calls of the summary are the gate's to grant (seed 002, escalation flow)."""
    life = begun(only(max_model_calls=1))
    life.asks_model()
    assert halted(life.asks_model(), LimitName.MAX_MODEL_CALLS, 1, 1)
    assert life.asks_model().answer is Answer.DENY
    assert life.counters.model_calls == 1


@EXAMPLES
@given(all_limits, step_lists)
def test_each_limit_warns_once_until_it_is_raised(limits: Limits, steps: list[Step]) -> None:
    life = lived(limits, steps)
    warned: set[LimitName] = set()
    for event in life.log:
        if isinstance(event, Warned):
            assert event.limit not in warned
            warned.add(event.limit)
        if isinstance(event, Raised):
            warned.discard(event.limit)
    for _, decision in life.decisions:
        told = [
            event
            for event in decision.events
            if isinstance(event, Warned) and event.limit not in limits.shadow
        ]
        assert (decision.verdict.answer is Answer.WARN) == bool(told)


@EXAMPLES
@given(all_limits, step_lists)
def test_a_limit_that_lets_pass_says_so_once_until_it_is_raised(
    limits: Limits, steps: list[Step]
) -> None:
    passed: set[LimitName] = set()
    for event in lived(limits, steps).log:
        if isinstance(event, Passed):
            assert event.limit not in passed
            assert event.shadow is (event.limit in limits.shadow and not event.refused)
            is_let = event.shadow or limits.action(event.limit) is Action.WARN
            assert event.refused or is_let
            assert not event.refused or event.maximum == 0
            passed.add(event.limit)
        if isinstance(event, Raised):
            passed.discard(event.limit)


@EXAMPLES
@given(all_limits, step_lists)
def test_a_decision_is_the_fold_of_its_events(limits: Limits, steps: list[Step]) -> None:
    for before, decision in lived(limits, steps).decisions:
        assert decision.counters == fold(decision.events, before)
        assert decision.events, "a consequence is never allowed without an event"


@EXAMPLES
@given(all_limits, step_lists)
def test_a_log_cut_anywhere_and_continued_gives_the_same_verdicts(
    limits: Limits, steps: list[Step]
) -> None:
    """A verdict depends on the counters alone, and a restart before any ask finds the same."""
    life = lived(limits, steps)
    written = {id(event): place for place, event in enumerate(life.log)}
    for live, decision in life.decisions:
        assert fold(life.log[: written[id(decision.events[0])]]) == live


def test_a_log_cut_between_the_events_of_one_decision_loses_no_trip_and_no_warning() -> None:
    limits = only(max_turns=2, warning_threshold=1.0)
    life = begun(limits)
    life.asks_turn()
    warned = decide(life.counters, TurnAsked(at=START), limits)
    assert [type(event) for event in warned.events] == [TurnAsked, Warned]
    again = decide(fold(warned.events[:1], life.counters), Ticked(at=START), limits)
    assert again.verdict.answer is Answer.WARN
    tripped = decide(warned.counters, TurnAsked(at=START), limits)
    cut = fold(tripped.events[:1], warned.counters)
    assert decide(cut, TurnAsked(at=START), limits).verdict == tripped.verdict


def test_deciding_changes_nothing_that_it_was_given() -> None:
    life = begun(only(max_turns=1))
    before = life.counters
    copy = before._replace()
    decide(before, TurnAsked(at=START), life.limits)
    assert before == copy
    assert Counters() == fold([])


def test_a_denied_test_run_is_no_test_run() -> None:
    life = begun(only(max_tool_calls=1))
    life.tests(Outcome.FAILED, content="v1")
    life.tests(Outcome.FAILED, EVERYTHING, "v2")
    assert (life.counters.test_runs, life.counters.fix_cycles) == (1, 0)
    assert life.counters.tests.running == ()


def test_answers_are_stored_and_logged_by_these_words() -> None:
    assert [answer.value for answer in Answer] == ["allow", "warn", "deny", "halt"]
