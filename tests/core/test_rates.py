"""How often somebody may do something; what is heard twice counts once.

Issue, "Rate"; seed 004, User Story 3, is told in `test_seed_004`.
"""

from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from app.core.budgets.rates import HOUR, Allowed, Hits, Refused, hit

NOON = datetime(2026, 5, 4, 12, tzinfo=UTC)
MOST = 3
MOMENT = timedelta(microseconds=1)


def heard(*names: str | None, most: int = MOST) -> tuple[Hits | None, list[Allowed | Refused]]:
    """All at noon, one after the other."""
    hits, answers = None, []
    for name in names:
        hits, answer = hit(hits, most, NOON, name)
        answers.append(answer)
    return hits, answers


def test_the_same_words_count_once() -> None:
    hits, answers = heard("a", "a", "b", "a", "b")
    assert answers == [Allowed()] * 5
    assert hits == Hits(NOON, allowed=2, counted=frozenset({"a", "b"}))


def test_what_has_no_name_counts_every_time() -> None:
    hits, answers = heard(None, None, None, None)
    assert answers == [Allowed()] * MOST + [Refused(NOON + HOUR, first=True)]
    assert hits == Hits(NOON, allowed=3, refused=1)


def test_what_was_counted_is_allowed_when_the_hour_is_used_up() -> None:
    """Counted, and then the process died: whoever goes on may do it."""
    _, answers = heard("a", "b", "c", "d", "a")
    assert answers[3:] == [Refused(NOON + HOUR, first=True), Allowed()]


def test_the_first_refusal_stays_the_first_however_often_it_is_heard() -> None:
    hits, answers = heard("a", "b", "c", "d", "e", "d", None)
    assert [isinstance(one, Refused) and one.first for one in answers[3:]] == [
        True,
        False,
        True,
        False,
    ]
    assert hits is not None and (hits.refused, hits.first_refused) == (4, "d")


def test_a_first_refusal_without_a_name_is_first_once() -> None:
    _, answers = heard(None, None, "d", None, most=1)
    assert [isinstance(one, Refused) and one.first for one in answers] == [
        False,
        True,
        False,
        False,
    ]


@pytest.mark.parametrize("window", [HOUR, timedelta(days=30)])
def test_a_window_ends_to_the_moment_and_takes_its_names_with_it(window: timedelta) -> None:
    hits, _ = hit(None, 1, NOON, "a", window)
    within, answer = hit(hits, 1, NOON + window - MOMENT, "b", window)
    assert answer == Refused(NOON + window, first=True)
    for name in ("a", "b"):
        after, answer = hit(within, 1, NOON + window, name, window)
        assert answer == Allowed()
        assert after == Hits(NOON + window, allowed=1, counted=frozenset({name}))


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
    assert (0 if hits is None else hits.allowed) == len(allowed)
    told = {
        name
        for name, one in zip(names, answers, strict=True)
        if isinstance(one, Refused) and one.first
    }
    assert told == set(list(dict.fromkeys(names))[most : most + 1])
