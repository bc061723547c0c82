"""Which failed deliveries are asked for again, and when."""

from datetime import timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.core.github.redelivery import (
    KEPT_BY_GITHUB,
    LIST_LAGS,
    MOST_ASKS,
    MOST_AT_ONCE,
    WAITS,
    AskedAgain,
    Attempt,
    Redeliveries,
    redeliveries,
)
from tests.core.strategies import START

MINUTE = timedelta(minutes=1)
MOMENT = timedelta(microseconds=1)
NOW = START


def failed(guid: str, ago: timedelta = MINUTE, number: int = 1) -> Attempt:
    return Attempt(number, guid, NOW - ago)


def asked(guid: str, times: int, ago: timedelta) -> dict[str, AskedAgain]:
    return {guid: AskedAgain(guid, times, NOW - ago)}


def test_without_failures_nothing_older_is_read_again() -> None:
    assert redeliveries([], [], {}, NOW) == Redeliveries((), 0, 0, NOW - LIST_LAGS)


def test_what_failed_is_asked_for_in_the_order_in_which_it_failed() -> None:
    one, two = failed("one", 9 * MINUTE, 8), failed("two", 8 * MINUTE, 7)
    found = redeliveries([two, one], [], {}, NOW)
    assert found == Redeliveries((one, two), 0, 0, one.at - LIST_LAGS)


def test_of_one_second_the_list_tells_which_failed_first() -> None:
    one, two, again = failed("one", number=1), failed("two", number=2), failed("one", number=3)
    assert redeliveries([two, one], [], {}, NOW).due == (one, two)
    assert redeliveries([again, two, one], [], {}, NOW).due == (again, two)


def test_a_delivery_is_one_however_often_it_failed() -> None:
    first, other = failed("one", 9 * MINUTE, 1), failed("two", 8 * MINUTE, 2)
    last = failed("one", 7 * MINUTE, 3)
    found = redeliveries([last, other, first], [], {}, NOW)
    assert found == Redeliveries((last, other), 0, 0, other.at - LIST_LAGS)


def test_what_was_heard_is_left_alone() -> None:
    found = redeliveries([failed("one"), failed("two")], {"one"}, {}, NOW)
    assert found.due == (failed("two"),)
    done = redeliveries([failed("one")], {"one"}, {}, NOW)
    assert done == Redeliveries((), 0, 0, NOW - LIST_LAGS)


def test_github_keeps_it_for_three_days() -> None:
    just = failed("one", KEPT_BY_GITHUB - MOMENT)
    assert redeliveries([just], [], {}, NOW).due == (just,)
    late = redeliveries([failed("one", KEPT_BY_GITHUB)], [], {}, NOW)
    assert late == Redeliveries((), 0, 0, NOW - LIST_LAGS)
    assert timedelta(days=3) == KEPT_BY_GITHUB


@pytest.mark.parametrize(("times", "wait"), [*enumerate(WAITS, 1)])
def test_who_was_asked_is_asked_again_after_a_wait_that_grows(times: int, wait: timedelta) -> None:
    again = failed("one")
    early = redeliveries([again], [], asked("one", times, wait - MOMENT), NOW)
    assert early == Redeliveries((), 1, 0, again.at - LIST_LAGS)
    assert redeliveries([again], [], asked("one", times, wait), NOW).due == (again,)
    assert [wait / MINUTE for wait in WAITS] == [5, 20, 60, 6 * 60, 24 * 60]


def test_a_pass_is_bounded_and_looks_back_a_little() -> None:
    assert (MOST_AT_ONCE, LIST_LAGS) == (30, 5 * MINUTE)


def test_after_the_last_ask_it_is_given_up() -> None:
    year = timedelta(days=365)
    found = redeliveries([failed("one")], [], asked("one", MOST_ASKS, year), NOW)
    assert found == Redeliveries((), 0, 1, NOW - LIST_LAGS)
    assert redeliveries([failed("one")], [], asked("one", MOST_ASKS - 1, year), NOW).due
    assert MOST_ASKS == 6


def test_one_pass_asks_for_so_many_and_no_more() -> None:
    many = [failed(f"{n}", timedelta(seconds=900 - n), n) for n in range(MOST_AT_ONCE + 2)]
    found = redeliveries(many, [], {}, NOW)
    assert found == Redeliveries(tuple(many[:-2]), 2, 0, many[0].at - LIST_LAGS)
    rest = {one.guid: AskedAgain(one.guid, 1, NOW) for one in found.due}
    assert redeliveries(many, [], rest, NOW + MINUTE).due == tuple(many[-2:])


@given(
    st.lists(st.tuples(st.integers(0, 6), st.integers(0, 5_000)), max_size=40),
    st.sets(st.integers(0, 6)),
)
def test_passes_until_nothing_changes_ask_a_bounded_number_of_times(
    tries: list[tuple[int, int]], heard: set[int]
) -> None:
    """Whatever fails, and however long nobody is there: each is asked for at most so often, none
    that was heard, and nothing that may still be asked for drops out of what is read."""
    failures = [failed(f"{n}", ago * MINUTE, number) for number, (n, ago) in enumerate(tries)]
    known = {f"{n}" for n in heard}
    book: dict[str, AskedAgain] = {}
    now = NOW
    for _ in range(200):
        found = redeliveries(failures, known, book, now)
        assert not {one.guid for one in found.due} & known
        for one in found.due:
            assert one.at >= found.read_from and now - one.at < KEPT_BY_GITHUB
            times = book[one.guid].times + 1 if one.guid in book else 1
            book[one.guid] = AskedAgain(one.guid, times, now)
        now += 30 * MINUTE
    assert all(one.times <= MOST_ASKS for one in book.values())
    fresh = {one.guid for one in failures if NOW - one.at < KEPT_BY_GITHUB}
    assert book.keys() == fresh - known
