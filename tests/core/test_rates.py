"""How often somebody may do something; what is heard twice counts once.

Issue, "Rate"; seed 004, User Story 3, is told in `test_seed_004`.
"""

from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from app.core.budgets.rates import HOUR, Allowed, Counted, Hits, Refused, hit

NOON = datetime(2026, 5, 4, 12, tzinfo=UTC)
MOST = 3
MOMENT = timedelta(microseconds=1)


def heard(*names: str | None, most: int = MOST) -> tuple[Hits, list[Allowed | Refused]]:
    """All at noon, one after the other."""
    hits, answers = Hits(), []
    for name in names:
        hits, answer = hit(hits, most, NOON, name)
        answers.append(answer)
    return hits, answers


def refused(first: bool) -> Refused:
    return Refused(NOON + HOUR, NOON, first)


def test_the_same_words_count_once() -> None:
    hits, answers = heard("a", "a", "b", "a", "b")
    assert answers == [Allowed()] * 5
    assert hits == Hits((Counted(NOON, "a"), Counted(NOON, "b")))


def test_what_has_no_name_counts_every_time() -> None:
    hits, answers = heard(None, None, None, None)
    assert answers == [Allowed()] * MOST + [refused(first=True)]
    assert hits == Hits((Counted(NOON),) * 3, told_at=NOON)


def test_what_was_counted_is_allowed_when_the_hour_is_used_up() -> None:
    """Counted, and then the process died: whoever goes on may do it."""
    _, answers = heard("a", "b", "c", "d", "a")
    assert answers[3:] == [refused(first=True), Allowed()]


def test_the_first_refusal_stays_the_first_however_often_it_is_heard() -> None:
    hits, answers = heard("a", "b", "c", "d", "e", "d", None)
    assert answers[3:] == [refused(first) for first in (True, False, True, False)]
    assert (hits.told_at, hits.told) == (NOON, "d")


def test_a_first_refusal_without_a_name_is_first_once() -> None:
    _, answers = heard(None, None, "d", None, most=1)
    assert answers[1:] == [refused(first) for first in (True, False, False)]


@pytest.mark.parametrize("window", [HOUR, timedelta(days=30)])
def test_each_counts_for_a_window_to_the_moment(window: timedelta) -> None:
    hits, _ = hit(Hits(), 2, NOON, "a", window)
    hits, _ = hit(hits, 2, NOON + window / 2, "b", window)
    hits, answer = hit(hits, 2, NOON + window - MOMENT, "c", window)
    assert answer == Refused(NOON + window, NOON + window - MOMENT, first=True)
    hits, answer = hit(hits, 2, NOON + window, "c", window)
    assert answer == Allowed(), "the first is a window old, and the second is not"
    _, answer = hit(hits, 2, NOON + window, "d", window)
    assert answer == Refused(NOON + window * 1.5, NOON + window - MOMENT, first=False)


def test_twice_the_allowance_around_a_full_hour_is_not_to_be_had() -> None:
    """A window that began at the first hit gave away nearly the double within two minutes."""
    hits, _ = hit(Hits(), MOST, NOON)
    late = NOON + timedelta(minutes=59)
    for _ in range(MOST - 1):
        hits, answer = hit(hits, MOST, late)
        assert answer == Allowed()
    hits, answer = hit(hits, MOST, late + timedelta(minutes=1))
    assert answer == Allowed()
    _, answer = hit(hits, MOST, late + timedelta(minutes=2))
    assert isinstance(answer, Refused) and answer.until == late + HOUR


def test_a_refusal_is_told_at_most_once_in_a_window() -> None:
    """Whoever goes on all day is told so once an hour, and not whenever one is let through."""
    hits, told = Hits(), []
    for minute in range(150):
        at = NOON + timedelta(minutes=minute)
        hits, answer = hit(hits, MOST, at, f"word {minute}")
        if isinstance(answer, Refused) and answer.first:
            told.append(minute)
    assert told == [3, 63, 123]


def test_an_allowance_that_was_lowered_lets_the_next_through_when_enough_are_over() -> None:
    hits = Hits(tuple(Counted(NOON + timedelta(minutes=minute)) for minute in range(4)))
    _, answer = hit(hits, 2, NOON + timedelta(minutes=5))
    assert isinstance(answer, Refused)
    assert answer.until == NOON + timedelta(minutes=2) + HOUR
    _, answer = hit(hits, 0, NOON + timedelta(minutes=5))
    assert isinstance(answer, Refused) and answer.until == NOON + timedelta(minutes=5) + HOUR


@settings(max_examples=300, deadline=None, derandomize=True)
@given(st.lists(st.integers(0, 40), max_size=60), st.integers(0, 5))
def test_in_no_hour_is_more_allowed_than_may(pauses: list[int], most: int) -> None:
    """And nobody is refused who was not there so often in the hour before."""
    hits, allowed, at = Hits(), list[datetime](), NOON
    for pause in pauses:
        at += timedelta(minutes=pause)
        lately = [each for each in allowed if each > at - HOUR]
        hits, answer = hit(hits, most, at)
        assert isinstance(answer, Allowed) is (len(lately) < most)
        if isinstance(answer, Allowed):
            allowed.append(at)
        else:
            assert at < answer.until <= at + HOUR
    for each in allowed:
        assert sum(each - HOUR < other <= each for other in allowed) <= most


@settings(max_examples=300, deadline=None, derandomize=True)
@given(st.lists(st.sampled_from("abcdef"), max_size=40), st.integers(1, 5))
@example(list("abcabc"), 3)
@example(list("abcdabcd"), 3)
def test_in_no_order_do_more_different_words_pass_than_may(names: list[str], most: int) -> None:
    hits, answers = heard(*names, most=most)
    by_name = {
        name: {type(answer) for each, answer in zip(names, answers, strict=True) if each == name}
        for name in names
    }
    allowed = [name for name, kinds in by_name.items() if kinds == {Allowed}]
    assert all(len(kinds) == 1 for kinds in by_name.values()), "one answer for one thing"
    assert allowed == list(dict.fromkeys(names))[:most], "first come, first served"
    assert len(hits.counted) == len(allowed)
    told = {
        name
        for name, one in zip(names, answers, strict=True)
        if isinstance(one, Refused) and one.first
    }
    assert told == set(list(dict.fromkeys(names))[most : most + 1])
