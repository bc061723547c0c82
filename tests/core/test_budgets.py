"""Budgets: when a window begins, whom a budget counts, and under which account."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta, timezone

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from app.core.budgets.budgets import (
    Account,
    Budget,
    Scope,
    Started,
    Window,
    accounts,
    keys,
    renews_at,
    window_start,
)
from app.core.money import nanousd

TEN = nanousd(10)
STARTED = Started("Octo/Demo", 12, "feat-dev", "Ada", ("octo/Leads", "octo/backend"))


def utc(text: str) -> datetime:
    return datetime.fromisoformat(text).replace(tzinfo=UTC)


# --- windows ---------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("window", "at", "start", "renewal"),
    [
        (Window.DAY, "2026-05-04 00:00:00", "2026-05-04", "2026-05-05"),
        (Window.DAY, "2026-05-04 23:59:59.999999", "2026-05-04", "2026-05-05"),
        (Window.DAY, "2028-02-28 12:00", "2028-02-28", "2028-02-29"),  # a leap year
        (Window.DAY, "2028-02-29 12:00", "2028-02-29", "2028-03-01"),
        (Window.DAY, "2026-12-31 23:59", "2026-12-31", "2027-01-01"),
        (Window.WEEK, "2026-05-04 00:00", "2026-05-04", "2026-05-11"),  # a Monday
        (Window.WEEK, "2026-05-10 23:59:59", "2026-05-04", "2026-05-11"),  # its Sunday
        (Window.WEEK, "2027-01-01 12:00", "2026-12-28", "2027-01-04"),  # ISO week 53 of 2026
        (Window.WEEK, "2028-02-29 12:00", "2028-02-28", "2028-03-06"),
        (Window.MONTH, "2026-01-31 23:59:59", "2026-01-01", "2026-02-01"),
        (Window.MONTH, "2026-02-28 23:59", "2026-02-01", "2026-03-01"),
        (Window.MONTH, "2028-02-29 00:00", "2028-02-01", "2028-03-01"),
        (Window.MONTH, "2026-04-30 12:00", "2026-04-01", "2026-05-01"),
        (Window.MONTH, "2026-12-01 00:00", "2026-12-01", "2027-01-01"),
    ],
)
def test_a_window_begins_and_ends_where_the_calendar_says(
    window: Window, at: str, start: str, renewal: str
) -> None:
    assert window_start(window, utc(at)) == utc(start)
    assert renews_at(window, utc(at)) == utc(renewal)


def test_a_total_never_begins_again() -> None:
    assert window_start(Window.TOTAL, utc("2026-05-04")) is None
    assert renews_at(Window.TOTAL, utc("2026-05-04")) is None


def test_windows_are_those_of_utc_wherever_the_instant_was_written() -> None:
    there = datetime(2026, 5, 4, 22, 30, tzinfo=timezone(timedelta(hours=-7)))  # the 5th in UTC
    assert window_start(Window.DAY, there) == utc("2026-05-05")


@settings(max_examples=300, deadline=None, derandomize=True)
@given(
    st.sampled_from([Window.DAY, Window.WEEK, Window.MONTH]),
    st.integers(0, 7 * 10**9).map(lambda seconds: datetime.fromtimestamp(seconds, UTC)),
)
def test_windows_follow_each_other_without_gap_or_overlap(window: Window, at: datetime) -> None:
    start, renewal = window_start(window, at), renews_at(window, at)
    assert start is not None
    assert renewal is not None
    assert start <= at < renewal
    assert window_start(window, renewal) == renewal
    assert window_start(window, renewal - timedelta(microseconds=1)) == start
    if window is Window.WEEK:
        assert start.isocalendar()[:2] == at.isocalendar()[:2]


# --- who is counted where --------------------------------------------------------------------


@pytest.mark.parametrize(
    ("scope", "name", "operators", "repositorys"),
    [
        (Scope.INSTALLATION, None, ["installation"], ["repository:octo/demo"]),
        (Scope.INSTALLATION, "OCTO", ["installation:octo"], ["repository:octo/demo"]),
        (Scope.INSTALLATION, "other", [], []),
        (Scope.REPOSITORY, None, ["repository:octo/demo"], ["repository:octo/demo"]),
        (Scope.REPOSITORY, "octo/Demo", ["repository:octo/demo"], ["repository:octo/demo"]),
        (Scope.REPOSITORY, "demo", [], ["repository:octo/demo"]),
        (Scope.REPOSITORY, "octo/other", [], []),
        (Scope.ROLE, None, ["role:feat-dev"], ["role:octo/demo:feat-dev"]),
        (Scope.ROLE, "feat-dev", ["role:feat-dev"], ["role:octo/demo:feat-dev"]),
        (Scope.ROLE, "feat", [], []),
        (Scope.USER, None, ["user:ada"], ["user:octo/demo:ada"]),
        (Scope.USER, "ADA", ["user:ada"], ["user:octo/demo:ada"]),
        (Scope.USER, "bob", [], []),
        (Scope.ISSUE, None, ["issue:octo/demo#12"], ["issue:octo/demo#12"]),
        (Scope.ISSUE, "octo/demo#12", ["issue:octo/demo#12"], ["issue:octo/demo#12"]),
        (Scope.ISSUE, "12", [], ["issue:octo/demo#12"]),
        (Scope.ISSUE, "#12", [], ["issue:octo/demo#12"]),
        (Scope.ISSUE, "#1", [], []),
        (
            Scope.TEAM,
            None,
            ["team:octo/leads", "team:octo/backend"],
            ["team:octo/demo:octo/leads", "team:octo/demo:octo/backend"],
        ),
        (Scope.TEAM, "octo/leads", ["team:octo/leads"], ["team:octo/demo:octo/leads"]),
        (Scope.TEAM, "leads", [], ["team:octo/demo:octo/leads"]),
    ],
)
def test_a_budget_counts_what_it_names(
    scope: Scope, name: str | None, operators: list[str], repositorys: list[str]
) -> None:
    budget = Budget(scope, Window.DAY, TEN, name)
    assert list(keys(budget, STARTED)) == operators
    assert list(keys(replace(budget, repository="octo/demo"), STARTED)) == repositorys
    assert keys(replace(budget, repository="octo/other"), STARTED) == ()


def test_the_operators_user_budget_follows_the_user_through_all_repositories() -> None:
    elsewhere = replace(STARTED, repository="else/where", user="aDa")
    everybody = Budget(Scope.USER, Window.DAY, TEN)
    assert keys(everybody, STARTED) == keys(everybody, elsewhere)
    here = replace(everybody, repository="octo/demo")
    assert keys(here, elsewhere) == ()


def test_equal_dates_of_different_windows_are_different_accounts() -> None:
    first_and_monday = utc("2026-06-01 09:00")
    budgets = [Budget(Scope.ROLE, window, TEN) for window in Window]
    found = accounts(budgets, STARTED, first_and_monday)
    assert [account.id for account in found] == [
        "day:2026-06-01:role:feat-dev",
        "week:2026-06-01:role:feat-dev",
        "month:2026-06-01:role:feat-dev",
        "total::role:feat-dev",
    ]
    assert {account.since for account in found} == {utc("2026-06-01"), None}


def test_budgets_that_bound_the_same_money_are_one_account_with_the_least_maximum() -> None:
    lax = Budget(Scope.REPOSITORY, Window.DAY, 5 * TEN, "octo/demo")
    strict = Budget(Scope.REPOSITORY, Window.DAY, TEN, repository="octo/demo")
    expected = (Account("repository:octo/demo", Window.DAY, utc("2026-05-04"), TEN),)
    for budgets in ([lax, strict], [strict, lax]):
        assert accounts(budgets, STARTED, utc("2026-05-04 12:00")) == expected


def test_an_account_knows_when_it_renews() -> None:
    (day,) = accounts([Budget(Scope.ROLE, Window.DAY, TEN)], STARTED, utc("2026-05-04 12:00"))
    (total,) = accounts([Budget(Scope.ROLE, Window.TOTAL, TEN)], STARTED, utc("2026-05-04 12:00"))
    assert (day.renews_at, total.renews_at) == (utc("2026-05-05"), None)
