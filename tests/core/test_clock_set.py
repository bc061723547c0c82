"""Active time goes by the monotonic clock, whatever somebody sets the wall clock to."""

from datetime import timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.core.agents.clock_set import LEAST_SECONDS, clock_set
from app.core.agents.counters import Counters, active_until, after, fold
from app.core.agents.events import ClockSet, SegmentEnded, SegmentStarted, Spoke, Ticked
from tests.core.strategies import EXAMPLES, START, after_seconds

LEAD = 1_000.0
BEGUN = SegmentStarted(at=START, segment=0, attempt=1, worker="w", clock_lead=LEAD)


class Worked:
    """A segment, event by event, on a machine whose wall clock shows `lead` more than it should."""

    def __init__(self) -> None:
        self.counters, self.passed, self.lead = fold([BEGUN]), 0.0, 0.0

    def now(self) -> float:
        return self.passed + self.lead

    def goes_on(self, seconds: float) -> None:
        self.passed += seconds
        at = after_seconds(self.now())
        told = clock_set(self.counters, LEAD + self.lead, at)
        if told is not None:
            self.counters = after(self.counters, told)
        self.counters = after(self.counters, Spoke(at=at))

    @property
    def active(self) -> float:
        return active_until(self.counters, after_seconds(self.now())).total_seconds()


DAY = 86_400.0
STEPS = st.lists(
    st.tuples(
        st.floats(0, 3_600),
        st.one_of(st.just(0.0), st.floats(LEAST_SECONDS, DAY), st.floats(-DAY, -LEAST_SECONDS)),
    ),
    max_size=12,
)


@EXAMPLES
@given(STEPS)
def test_active_time_is_what_has_passed_and_silence_begins_with_the_last_word(
    steps: list[tuple[float, float]],
) -> None:
    worked = Worked()
    for seconds, set_by in steps:
        worked.lead += set_by
        worked.goes_on(seconds)
        assert worked.active == pytest.approx(worked.passed, abs=1e-3)
        assert worked.counters.heard == after_seconds(worked.now())
    ended = SegmentEnded(at=after_seconds(worked.now()), why="done")
    done = after(worked.counters, ended).active.total_seconds()
    assert done == pytest.approx(worked.passed, abs=1e-3)


@pytest.mark.parametrize(
    ("by", "is_told"), [(0.0, False), (0.9, False), (-0.9, False), (1.0, True), (-1.0, True)]
)
def test_what_keeps_a_clock_right_is_not_told(by: float, is_told: bool) -> None:
    told = clock_set(fold([BEGUN]), LEAD + by, START)
    assert (told is not None) is is_told


def test_silence_is_shifted_too_and_a_setting_breaks_none() -> None:
    spoke = after(fold([BEGUN]), Spoke(at=after_seconds(10)))
    assert spoke.heard == after_seconds(10)
    later = after(spoke, ClockSet(at=after_seconds(7_230), by_seconds=7_200))
    assert later.heard == after_seconds(7_210)
    assert later.active == timedelta(seconds=30)


@pytest.mark.parametrize(
    "counters",
    [
        Counters(),
        fold([SegmentStarted(at=START, segment=0, attempt=1)]),
        fold([BEGUN, SegmentEnded(at=after_seconds(5), why="done")]),
    ],
    ids=["never began", "an old log", "has ended"],
)
def test_nothing_is_told_of_who_does_not_work_or_of_an_old_log(counters: Counters) -> None:
    assert clock_set(counters, LEAD + 7_200, START) is None
    told = ClockSet(at=after_seconds(7_200), by_seconds=7_200)
    assert after(counters, told).clock_lead == counters.clock_lead


def test_each_segment_begins_with_the_lead_of_its_machine() -> None:
    other = SegmentStarted(at=after_seconds(50), segment=1, attempt=1, worker="v", clock_lead=7.0)
    counters = fold([BEGUN, SegmentEnded(at=after_seconds(5), why="done"), other])
    assert clock_set(counters, 7.0, after_seconds(60)) is None
    ticked = after(counters, Ticked(at=after_seconds(60)))
    assert ticked.active == timedelta(seconds=15)
