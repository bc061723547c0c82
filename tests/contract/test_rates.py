"""Rates: a hundred an hour for each user, whatever the process, and one word about it."""

import asyncio
from datetime import datetime, timedelta

import pytest
import sqlalchemy as sa

from app.adapters.store.rates import SqlRates
from app.adapters.store.tables import HITS
from app.core.budgets.rates import Allowed, Refused
from tests.contract.crowd_support import LIMIT, NOON, crowd, hit_all
from tests.contract.store_support import World

HOUR = timedelta(hours=1)


@pytest.fixture
def rates(world: World) -> SqlRates:
    return SqlRates(world.writer)


def refused(until: datetime, told_at: datetime = NOON, *, first: bool) -> Refused:
    return Refused(until, told_at, first)


async def test_the_hundredth_is_allowed_and_the_next_is_refused(rates: SqlRates) -> None:
    for second in range(LIMIT):
        answer = await rates.hit("ada", LIMIT, NOON + timedelta(seconds=second))
        assert answer == Allowed()
    until, told_at = NOON + HOUR, NOON + timedelta(minutes=5)
    assert await rates.hit("ada", LIMIT, told_at) == refused(until, told_at, first=True)
    for minute in (6, 59):
        answer = await rates.hit("ada", LIMIT, NOON + timedelta(minutes=minute))
        assert answer == refused(until, told_at, first=False)


async def test_each_counts_for_an_hour(rates: SqlRates) -> None:
    half = NOON + HOUR / 2
    assert await rates.hit("ada", 2, NOON, "start 1") == Allowed()
    assert await rates.hit("ada", 2, half, "start 2") == Allowed()
    last = NOON + HOUR - timedelta(microseconds=1)
    assert await rates.hit("ada", 2, last) == refused(NOON + HOUR, last, first=True)
    assert await rates.hit("ada", 2, NOON + HOUR, "start 3") == Allowed()
    assert await rates.hit("ada", 2, NOON + HOUR) == refused(half + HOUR, last, first=False)
    assert await rates.hit("ada", 2, half + HOUR, "start 3") == Allowed(), "counted before"
    assert await rates.hit("ada", 2, half + HOUR) == Allowed()
    assert await rates.hit("ada", 2, half + HOUR) == refused(NOON + 2 * HOUR, last, first=False)


async def test_what_is_over_is_not_kept(world: World, rates: SqlRates) -> None:
    for hours in range(5):
        for number in range(3):
            at = NOON + hours * HOUR
            assert await rates.hit("ada", 3, at, f"{hours}:{number}") == Allowed()
    with world.engine.connect() as connection:
        kept = connection.scalars(sa.select(HITS.c.what).order_by(HITS.c.number)).all()
    assert kept == ["4:0", "4:1", "4:2"]


async def test_a_clock_that_is_behind_forgets_nothing(rates: SqlRates) -> None:
    assert await rates.hit("ada", 2, NOON + HOUR) == Allowed()
    assert await rates.hit("ada", 2, NOON) == Allowed()
    assert await rates.hit("ada", 2, NOON + HOUR) == Allowed(), "what came at noon is over"
    assert isinstance(await rates.hit("ada", 2, NOON + HOUR), Refused)


async def test_a_users_name_ignores_case_and_other_users_have_their_own(rates: SqlRates) -> None:
    assert await rates.hit("Ada", 2, NOON) == Allowed()
    assert await rates.hit("aDA", 2, NOON) == Allowed()
    assert await rates.hit("ada", 2, NOON) == refused(NOON + HOUR, first=True)
    assert await rates.hit("bob", 2, NOON) == Allowed()
    assert await rates.hit("dependabot[bot]", 2, NOON) == Allowed()


async def test_refused_hits_cost_nothing_once_the_limit_is_raised(rates: SqlRates) -> None:
    assert await rates.hit("ada", 1, NOON) == Allowed()
    for first in (True, False, False):
        assert await rates.hit("ada", 1, NOON) == refused(NOON + HOUR, first=first)
    assert await rates.hit("ada", 2, NOON) == Allowed()


async def test_a_limit_of_none_at_all_refuses_the_first(rates: SqlRates) -> None:
    assert await rates.hit("ada", 0, NOON) == refused(NOON + HOUR, first=True)


async def test_many_at_once_in_one_process(rates: SqlRates) -> None:
    found = await hit_all(rates, "ada", 150)
    assert found == {"granted": LIMIT, "refused": 50, "first refused": 1}


@pytest.mark.full
async def test_two_processes_count_the_same_user(world: World) -> None:
    found = await crowd(world.engine, [("hits", "ada", 90), ("hits", "ADA", 90)])
    assert found == {"granted": LIMIT, "refused": 80, "first refused": 1}


# --- what is told twice ----------------------------------------------------------------------


async def test_the_same_words_count_once_whoever_hears_them(rates: SqlRates) -> None:
    """A webhook, its double, reconciliation, and whoever goes on after a crash."""
    for minute in range(5):
        at = NOON + timedelta(minutes=minute)
        assert await rates.hit("ada", 2, at, "comment 7") == Allowed()
    assert await rates.hit("Ada", 2, NOON, "comment 8") == Allowed()
    assert await rates.hit("ada", 2, NOON, "comment 9") == refused(NOON + HOUR, first=True)
    assert await rates.hit("ada", 2, NOON, "comment 7") == Allowed(), "it was counted before"


async def test_words_of_several_people_count_for_each_and_so_do_words_without_a_name(
    rates: SqlRates,
) -> None:
    assert await rates.hit("ada", 1, NOON, "comment 7") == Allowed()
    assert await rates.hit("bob", 1, NOON, "comment 7") == Allowed()
    assert await rates.hit("eve", 2, NOON) == Allowed()
    assert await rates.hit("eve", 2, NOON) == Allowed()
    assert await rates.hit("eve", 2, NOON) == refused(NOON + HOUR, first=True)


async def test_the_first_that_was_refused_is_the_one_to_say_so_until_the_hour_ends(
    rates: SqlRates,
) -> None:
    """GitHub may be away when it is to be said, or the process dies: then it is heard again."""
    assert await rates.hit("ada", 1, NOON, "start 1") == Allowed()
    for _ in range(2):
        assert await rates.hit("ada", 1, NOON, "start 2") == refused(NOON + HOUR, first=True)
        assert await rates.hit("ada", 1, NOON, "start 3") == refused(NOON + HOUR, first=False)
        assert await rates.hit("ada", 1, NOON) == refused(NOON + HOUR, first=False)


async def test_the_next_hour_remembers_no_name_of_the_one_before(rates: SqlRates) -> None:
    after = NOON + HOUR
    assert await rates.hit("ada", 1, NOON, "start 1") == Allowed()
    assert await rates.hit("ada", 1, NOON, "start 2") == refused(after, first=True)
    assert await rates.hit("ada", 1, after, "start 3") == Allowed()
    told = refused(after + HOUR, after, first=True)
    assert await rates.hit("ada", 1, after, "start 4") == told
    for known in ("start 1", "start 2"):
        assert await rates.hit("ada", 1, after, known) == refused(after + HOUR, after, first=False)


async def test_what_was_refused_and_then_allowed_by_a_higher_limit_counts_once(
    rates: SqlRates,
) -> None:
    assert await rates.hit("ada", 1, NOON, "start 1") == Allowed()
    assert await rates.hit("ada", 1, NOON, "start 2") == refused(NOON + HOUR, first=True)
    for _ in range(3):
        assert await rates.hit("ada", 2, NOON, "start 2") == Allowed()
    assert await rates.hit("ada", 2, NOON, "start 3") == refused(NOON + HOUR, first=False)


async def test_names_heard_at_the_same_moment_count_once_each(rates: SqlRates) -> None:
    """All of them in one transaction, or nearly."""
    answers = await asyncio.gather(
        *(rates.hit("ada", 5, NOON, f"comment {number % 10}") for number in range(40))
    )
    assert answers.count(Allowed()) == 5 * 4
    assert sum(isinstance(answer, Refused) and answer.first for answer in answers) == 4


async def test_a_longer_window_is_kept_beside_the_hours(rates: SqlRates) -> None:
    day = timedelta(days=1)
    assert await rates.hit("alert:budget", 1, NOON, window=day) == Allowed()
    late = NOON + 23 * HOUR
    answer = await rates.hit("alert:budget", 1, late, window=day)
    assert answer == refused(NOON + day, late, first=True)
    assert await rates.hit("alert:budget", 1, NOON + day, window=day) == Allowed()


@pytest.mark.full
async def test_two_processes_count_the_same_words_once(world: World) -> None:
    found = await crowd(world.engine, [("named", "ada", 90), ("named", "ADA", 90)])
    assert found == {"granted": 180, "first refused": 0}
    left = SqlRates(world.writer)
    for number in range(10):
        assert await left.hit("ada", LIMIT, NOON, f"word {90 + number}") == Allowed()
    assert await left.hit("ada", LIMIT, NOON) == refused(NOON + HOUR, first=True)
