"""Counters are the fold of the log: what counts, how time adds up, and that a restart changes
nothing."""

from datetime import timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from app.core.agents.counters import Counters, active_until, fold, seconds, used_of
from app.core.agents.events import (
    AgentEvent,
    Finished,
    HeldUp,
    Kept,
    ModelCalled,
    Raised,
    SegmentEnded,
    SegmentStarted,
    Slept,
    SpawnRefused,
    Spoke,
    Summarised,
    TakenAway,
    Ticked,
    ToolDenied,
    ToolEnded,
    TurnAsked,
    Waits,
    Woken,
)
from app.core.limits import LimitName, Limits
from tests.core.life import Life, begun
from tests.core.random_lives import (
    Step,
    all_limits,
    contents,
    lived,
    outcomes,
    small_limits,
    step_lists,
    take,
)
from tests.core.strategies import EXAMPLES, FEWER_EXAMPLES, NO_LIMITS, SUITES, after_seconds


def active_seconds(log: list[AgentEvent]) -> float:
    """Active time after this log, as a test reads it."""
    return fold(log).active.total_seconds()


def asleep_seconds(counters: Counters, at_seconds: float) -> float:
    """How long the present sleep has lasted."""
    at = after_seconds(at_seconds)
    return used_of(LimitName.MAX_SLEEP_DURATION, Limits(), counters, at)


def started(at_seconds: float, attempt: int = 1) -> AgentEvent:
    return SegmentStarted(at=after_seconds(at_seconds), segment=0, attempt=attempt)


def ended(at_seconds: float) -> AgentEvent:
    return SegmentEnded(at=after_seconds(at_seconds), why="closed")


def ticked(at_seconds: float) -> AgentEvent:
    return Ticked(at=after_seconds(at_seconds))


def slept(at_seconds: float, waits_for: Waits = Waits.BLOCKER) -> AgentEvent:
    at = after_seconds(at_seconds)
    return Slept(at=at, waits_for=waits_for, blocked_by=(), reason="a question")


def woken(at_seconds: float) -> AgentEvent:
    return Woken(at=after_seconds(at_seconds), why="a comment", by="mona")


# --- active time, in plain values -------------------------------------------------------------


def test_active_time_adds_up_over_segments_without_sleep_and_queue() -> None:
    log = [started(0), ended(30), slept(30), woken(1_000), started(1_060), ended(1_070)]
    assert active_seconds(log) == 30 + 10


def test_a_sleep_stops_the_clock_by_itself() -> None:
    assert active_seconds([started(0), slept(30), ticked(90), started(100), ended(105)]) == 35


def test_nothing_is_counted_after_the_end() -> None:
    finished = Finished(at=after_seconds(10), why="merged")
    assert active_seconds([started(0), finished, ticked(500)]) == 10


def test_nothing_is_counted_once_the_work_was_taken_away() -> None:
    taken = TakenAway(at=after_seconds(10), why="#12 was closed.")
    assert active_seconds([started(0), taken, ended(500)]) == 10


def test_after_a_crash_the_time_without_a_process_counts_nothing() -> None:
    log = [started(0), ticked(20), started(500, attempt=2), ticked(501)]
    assert active_seconds(log) == 20 + 1


def test_each_event_carries_the_clock_forward() -> None:
    at = after_seconds(5)
    events: list[AgentEvent] = [
        ToolDenied(at=at, tool="bash", what="ls", reason="no"),
        ToolEnded(at=at, call="unknown", ok=True),
        Summarised(at=at, text="done"),
        Kept(at=at, sha=None, pushed=False, problem="no workspace"),
    ]
    for event in events:
        assert active_seconds([started(0), event]) == 5, event


def test_a_clock_that_is_set_back_counts_nothing_and_takes_nothing_away() -> None:
    log = [started(0), ticked(50), ticked(10), ticked(40), ticked(51)]
    assert active_seconds(log) == 50 + (51 - 10), "time goes on from there"
    assert fold([started(0), ticked(50), ticked(10)]).clock == after_seconds(10)


def test_events_that_come_out_of_order_count_no_time_twice() -> None:
    assert active_seconds([started(0), ticked(50), ticked(45), ticked(51)]) == 51
    assert active_seconds([started(0), ticked(50), ticked(44.999), ticked(51)]) == 56.001


def test_a_segment_that_starts_before_the_last_instant_counts_from_its_start() -> None:
    assert active_seconds([started(100), ticked(110), started(50, attempt=2), ticked(53)]) == 13


def test_no_segment_no_time() -> None:
    assert active_seconds([ticked(0), ticked(500), ended(900)]) == 0
    assert active_until(Counters(), after_seconds(99)) == timedelta()


def test_active_time_runs_on_until_the_instant_of_the_question() -> None:
    counters = fold([started(0), ticked(10)])
    assert active_until(counters, after_seconds(12.5)) == timedelta(seconds=12.5)
    assert active_until(counters, after_seconds(3)) == timedelta(seconds=10)
    assert active_until(fold([ended(20)], counters), after_seconds(900)) == timedelta(seconds=20)


@pytest.mark.parametrize("waits_for", [Waits.BLOCKER, Waits.ANSWER])
def test_each_sleep_is_measured_by_itself(waits_for: Waits) -> None:
    def asleep(log: list[AgentEvent], at_seconds: float) -> float:
        return asleep_seconds(fold(log), at_seconds)

    first = [started(0), ended(5), slept(5, waits_for)]
    assert asleep(first, 65) == 60
    assert asleep([*first, woken(70)], 80) == 0
    assert asleep([*first, started(70)], 80) == 0
    assert asleep([*first, woken(70), started(71), ended(90), slept(90, waits_for)], 91) == 1
    assert asleep(first, 1) == 0, "a clock that was set back"


def test_waiting_for_a_review_is_no_sleep() -> None:
    counters = fold([started(0), ended(5), slept(5, Waits.REVIEW)])
    assert counters.asleep_since is None
    assert asleep_seconds(counters, 900) == 0


@pytest.mark.parametrize(
    ("microseconds", "expected"),
    [(0, 0.0), (999, 0.0), (1_000, 0.001), (99_999_999, 99.999), (100_000_000, 100.0), (-5, 0.0)],
)
def test_a_duration_is_never_more_than_it_was(microseconds: int, expected: float) -> None:
    assert seconds(timedelta(microseconds=microseconds)) == expected


def test_tokens_and_model_calls_add_up() -> None:
    life = begun()
    life.model_answers()
    life.model_answers()
    used = life.counters
    assert (used.model_calls, used.input_tokens, used.output_tokens) == (2, 200, 20)


# --- properties -------------------------------------------------------------------------------


@EXAMPLES
@given(small_limits, step_lists)
def test_the_fold_of_the_log_equals_the_live_counters_at_every_cut(
    limits: Limits, steps: list[Step]
) -> None:
    life = begun(limits)
    live = [(len(life.log), life.counters)]
    for step in steps:
        take(life, step)
        live.append((len(life.log), life.counters))
    for cut, counters in live:
        assert fold(life.log[:cut]) == counters
        assert fold(life.log[cut:], counters) == life.counters


@EXAMPLES
@given(step_lists)
def test_active_time_is_the_time_in_which_a_segment_was_running(steps: list[Step]) -> None:
    life = begun()
    for step in steps:
        take(life, step)
        life.happens(Ticked(at=life.now))
        assert life.counters.active == life.truly_active


@EXAMPLES
@given(
    st.lists(
        st.tuples(
            st.sampled_from([started, ended, ticked, slept, woken]),
            st.integers(-1_000, 1_000),
        )
    )
)
def test_nothing_shrinks_whatever_order_and_clock(drawn: list[tuple[object, int]]) -> None:
    log = [make(at_seconds) for make, at_seconds in drawn if callable(make)]
    before = Counters()
    for event in log:
        after = fold([event], before)
        assert after.active >= before.active
        assert after.active - before.active <= timedelta(seconds=2_000)
        assert after.warned >= before.warned
        before = after
    assert asleep_seconds(before, 0) >= 0


NEVER_SHRINK = (
    "tool_calls",
    "test_runs",
    "input_tokens",
    "output_tokens",
    "tokens",
    "cost_nanousd",
    "planning_nanousd",
    "execution_nanousd",
    "unpriced_calls",
    "levels",
    "review_rounds",
)
MAY_SHRINK_AT: dict[str, tuple[type[AgentEvent], ...]] = {
    "turns": (HeldUp,),
    "model_calls": (HeldUp,),
    "active": (HeldUp,),
    "fix_cycles": (ToolEnded,),
    "spawns": (SpawnRefused, SegmentStarted),
    "open_calls": (ModelCalled, SegmentStarted),
    "calls_since_text": (Spoke, Raised, Woken),
    "calls_in_turn": (TurnAsked,),
    "warned": (Raised,),
    "passed": (Raised,),
}


@EXAMPLES
@given(all_limits, step_lists)
def test_no_counter_shrinks_but_by_what_gives_back(limits: Limits, steps: list[Step]) -> None:
    before = Counters()
    for event in lived(limits, steps).log:
        after = fold([event], before)
        for name in NEVER_SHRINK:
            assert getattr(after, name) >= getattr(before, name), (name, event)
        for name, kinds in MAY_SHRINK_AT.items():
            if not isinstance(event, kinds):
                assert getattr(after, name) >= getattr(before, name), (name, event)
        assert after.fix_cycles >= before.fix_cycles - 1, "one run gives back one cycle"
        assert after.fix_cycles >= 0
        before = after


class AgentsLife(RuleBasedStateMachine):
    """Whatever happens in whatever order, live counters equal the fold, and nothing shrinks."""

    def __init__(self) -> None:
        super().__init__()
        limits = Limits(max_iterations=2, max_tool_calls=8, max_turns=4, max_active_duration=60)
        self.life = begun(limits)
        self.most_active = timedelta()
        self.tools_that_ran = 0
        self.turns_that_ran = 0

    @property
    def is_stopped(self) -> bool:
        return self.life.counters.trip is not None

    @rule(seconds=st.sampled_from([0.5, 5.0]))
    def time_passes(self, seconds: float) -> None:
        self.life.waits(seconds)

    @rule()
    def asks_a_turn(self) -> None:
        self.turns_that_ran += self.life.asks_turn().allowed

    @rule()
    def asks_a_tool(self) -> None:
        self.tools_that_ran += self.life.asks_tool().allowed

    @rule(suite=st.sampled_from(SUITES), content=contents)
    def asks_tests(self, suite: object, content: str) -> None:
        ran = take(self.life, ("ask tests", (suite, content, False)))
        assert ran is not None
        self.tools_that_ran += ran.allowed

    @precondition(lambda self: self.life.open_runs)
    @rule(nth=st.integers(0, 2), outcome=outcomes, left=contents)
    def tests_end(self, nth: int, outcome: object, left: str) -> None:
        take(self.life, ("end tests", (nth, outcome, left)))

    @rule()
    def the_timer_ticks(self) -> None:
        self.life.ticks()

    @rule()
    def the_process_is_killed(self) -> None:
        take(self.life, ("crash and start again", 30.0))

    @rule(waits_for=st.sampled_from(list(Waits)))
    def sleeps_and_wakes(self, waits_for: Waits) -> None:
        take(self.life, ("sleep and wake", waits_for))

    @invariant()
    def the_fold_equals_the_live_counters(self) -> None:
        assert fold(self.life.log) == self.life.counters

    @invariant()
    def what_ran_was_counted_and_was_within_the_limits(self) -> None:
        assert self.life.counters.tool_calls == self.tools_that_ran <= 8
        assert self.life.counters.turns == self.turns_that_ran <= 4
        assert 0 <= self.life.counters.fix_cycles <= 2

    @invariant()
    def active_time_never_shrinks(self) -> None:
        assert self.life.counters.active >= self.most_active
        self.most_active = self.life.counters.active
        assert self.most_active == self.life.truly_active


TestAgentsLife = AgentsLife.TestCase
TestAgentsLife.settings = FEWER_EXAMPLES


def test_a_life_without_a_limit_never_trips() -> None:
    life: Life = begun(NO_LIMITS)
    for _ in range(500):
        assert life.asks_turn().allowed and life.asks_tool().allowed
    assert life.counters.trip is None
