"""The ledger's arithmetic: nothing is given away twice, and nothing that was spent is forgotten."""

from collections import Counter
from collections.abc import Mapping
from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from app.core.budgets.budgets import Account, Window
from app.core.budgets.ledger import Balance, Book, Holding, Insufficient, Reserved, Spending

NOON = datetime(2026, 5, 4, 12, tzinfo=UTC)
DAY = datetime(2026, 5, 4, tzinfo=UTC)
MOMENT = timedelta(microseconds=1)


def an_account(key: str, most: int, window: Window = Window.DAY) -> Account:
    return Account(key, window, None if window is Window.TOTAL else DAY, most)


def a_book() -> Book:
    return Book([], [])


def test_all_accounts_or_none() -> None:
    book, wide, narrow = a_book(), an_account("wide", 100), an_account("narrow", 10)
    answer = book.reserve("a", None, [wide, narrow], 11, NOON)
    assert answer == Insufficient(narrow, left_nanousd=10, asked_nanousd=11)
    assert book.balances[wide.id] == Balance(wide)
    assert book.reserve("a", None, [wide, narrow], 10, NOON) == Reserved(10, 10)


def test_the_account_that_renews_last_is_named_or_a_start_would_be_tried_too_early() -> None:
    day, month = an_account("x", 1), an_account("x", 2, Window.MONTH)
    total = an_account("x", 3, Window.TOTAL)
    for given_accounts, named in (
        ([day, month], month),
        ([month, day], month),
        ([total, month, day], total),
        ([day], day),
    ):
        answer = a_book().reserve("a", None, given_accounts, 5, NOON)
        assert isinstance(answer, Insufficient)
        assert answer.account == named


def test_a_repeat_reserves_nothing_more_and_a_raise_only_the_difference() -> None:
    book, account = a_book(), an_account("x", 10)
    for amount, granted, left in ((6, 6, 4), (6, 6, 4), (3, 6, 4), (9, 9, 1)):
        assert book.reserve("a", None, [account], amount, NOON) == Reserved(granted, granted)
        assert book.balances[account.id].left_nanousd == left
    refused = book.reserve("a", None, [account], 11, NOON)
    assert refused == Insufficient(account, left_nanousd=1, asked_nanousd=2)
    assert book.holdings["a"].granted_nanousd == 9


def test_a_grant_is_as_old_as_its_first_part() -> None:
    book, account = a_book(), an_account("x", 10)
    later = NOON + timedelta(hours=1)
    for at, amount in ((NOON, 3), (later, 6)):
        book.reserve("a", None, [account], amount, at)
    assert book.holdings["a"].open_since == NOON
    book.release("a")
    book.reserve("a", None, [account], 7, later)
    assert book.holdings["a"].open_since == later


def test_a_child_that_asks_again_keeps_what_it_has_whatever_became_of_its_parent() -> None:
    book, account = a_book(), an_account("x", 10)
    book.reserve("a", None, [account], 8, NOON)
    assert book.reserve("a1", "a", [], 5, NOON) == Reserved(5, 5)
    book.release("a")
    assert book.reserve("a1", "a", [], 5, NOON) == Reserved(5, 5)


def test_a_page_that_nothing_is_written_on() -> None:
    page = Holding("a")
    assert (page.granted_nanousd, page.actual_nanousd, page.held_nanousd) == (0, 0, 0)
    assert (page.is_open, page.left_nanousd, page.overspent_nanousd) == (False, 0, 0)
    assert Holding("a", granted_nanousd=5, own_nanousd=3).overspent_nanousd == 0


def test_a_maximum_that_a_person_changed_counts_from_the_next_reservation_on() -> None:
    book = a_book()
    assert isinstance(book.reserve("a", None, [an_account("x", 10)], 10, NOON), Reserved)
    answer = book.reserve("b", None, [an_account("x", 15)], 5, NOON)
    assert isinstance(answer, Reserved)
    assert isinstance(book.reserve("c", None, [an_account("x", 5)], 1, NOON), Insufficient)


def test_spending_is_a_total_that_only_grows() -> None:
    book, account = a_book(), an_account("x", 10)
    book.reserve("a", None, [account], 10, NOON)
    for told, actual in ((4, 4), (4, 4), (3, 4), (7, 7)):
        spent = book.spend("a", told, NOON)
        assert spent is not None
        assert (spent.actual_nanousd, spent.left_nanousd) == (actual, 10 - actual)
        assert spent.balances == (Balance(account, actual, 10),)


def test_what_the_grant_did_not_cover_is_counted_told_and_blocks_others() -> None:
    book, account = a_book(), an_account("x", 10)
    book.reserve("a", None, [account], 6, NOON)
    spent = book.spend("a", 9, NOON)
    assert spent is not None
    assert (spent.overspent_nanousd, spent.left_nanousd) == (3, 0)
    assert book.reserve("b", None, [account], 2, NOON) == Insufficient(account, 1, 2)
    spent = book.spend("a", 12, NOON)
    assert spent is not None
    assert spent.balances == (Balance(account, 12, 12),)
    assert spent.balances[0].left_nanousd == 0
    assert book.release("a") == 0
    assert book.holdings["a"].overspent_nanousd == 6


def test_a_release_frees_the_rest_once_and_late_spending_still_counts() -> None:
    book, account = a_book(), an_account("x", 10)
    book.reserve("a", None, [account], 8, NOON)
    book.spend("a", 3, NOON)
    assert [book.release("a"), book.release("a"), book.release("nobody")] == [5, 0, 0]
    assert book.balances[account.id] == Balance(account, 3, 3)
    book.spend("a", 4, NOON)
    assert book.balances[account.id] == Balance(account, 4, 4)
    assert book.holdings["a"].left_nanousd == 0


def test_an_agent_that_goes_on_is_counted_in_the_window_in_which_it_goes_on() -> None:
    book, monday = a_book(), an_account("x", 10)
    tuesday = Account("x", Window.DAY, datetime(2026, 5, 5, tzinfo=UTC), 10)
    book.reserve("a", None, [monday], 8, NOON)
    book.spend("a", 3, NOON)
    book.release("a")
    assert book.reserve("a", None, [tuesday], 8, NOON) == Reserved(8, 5)
    book.spend("a", 4, NOON)
    book.release("a")
    assert book.balances[monday.id] == Balance(monday, 3, 3)
    assert book.balances[tuesday.id] == Balance(tuesday, 1, 1)


MIDNIGHT = datetime(2026, 5, 5, tzinfo=UTC)
TUESDAY = MIDNIGHT + timedelta(hours=9)


def tuesdays(monday: Account) -> Account:
    return replace(monday, since=MIDNIGHT)


def test_what_is_spent_after_midnight_is_the_next_days_and_so_is_what_is_held() -> None:
    """Else a budget of a day would bound something else than a day."""
    book, monday = a_book(), an_account("x", 10)
    tuesday = tuesdays(monday)
    book.reserve("a", None, [monday], 8, NOON)
    book.spend("a", 3, NOON)
    spent = book.spend("a", 5, MIDNIGHT)
    assert spent is not None
    assert spent.balances == (Balance(tuesday, 2, 5),)
    assert book.balances[monday.id] == Balance(monday, 3, 3)
    book.release("a")
    assert book.balances[tuesday.id] == Balance(tuesday, 2, 2)


def test_the_last_instant_of_a_day_is_still_that_days() -> None:
    book, monday = a_book(), an_account("x", 10)
    book.reserve("a", None, [monday], 8, NOON)
    book.spend("a", 3, MIDNIGHT - MOMENT)
    assert list(book.balances.values()) == [Balance(monday, 3, 8)]


def test_a_day_gives_nothing_away_that_somebody_holds_from_the_day_before() -> None:
    book, monday = a_book(), an_account("x", 10)
    tuesday = tuesdays(monday)
    book.reserve("a", None, [monday], 8, NOON)
    book.spend("a", 3, NOON)
    assert book.reserve("b", None, [tuesday], 6, MIDNIGHT) == Insufficient(tuesday, 5, 6)
    assert book.reserve("b", None, [tuesday], 5, MIDNIGHT) == Reserved(5, 5)
    assert book.balances[monday.id] == Balance(monday, 3, 3)
    assert book.balances[tuesday.id] == Balance(tuesday, 0, 10)


def test_what_nobody_told_before_midnight_is_counted_when_it_was_spent() -> None:
    monday = an_account("x", 10)
    tuesday, before = tuesdays(monday), a_book()
    before.reserve("a", None, [monday], 8, NOON)
    spendings = [Spending(TUESDAY, "a", 7), Spending(NOON, "a", 4)]
    book = Book(before.holdings.values(), before.balances.values(), spendings)
    book.spend("a", 7, TUESDAY)
    assert book.balances[monday.id] == Balance(monday, 4, 4)
    assert book.balances[tuesday.id] == Balance(tuesday, 3, 4)


def test_a_longer_window_than_a_day_goes_on() -> None:
    book, day, total = a_book(), an_account("x", 10), an_account("x", 9, Window.TOTAL)
    month = an_account("x", 20, Window.MONTH)
    since_may = replace(month, since=DAY.replace(day=1))
    book.reserve("a", None, [day, since_may, total], 6, NOON)
    book.spend("a", 2, NOON)
    spent = book.spend("a", 3, TUESDAY)
    assert spent is not None
    assert spent.balances == (
        Balance(tuesdays(day), 1, 4),
        Balance(since_may, 3, 6),
        Balance(total, 3, 6),
    )


def test_a_child_and_its_parent_go_into_the_next_day_together() -> None:
    book, all_, role = a_book(), an_account("all", 10), an_account("role", 10)
    book.reserve("a", None, [all_], 9, NOON)
    book.reserve("a1", "a", [role], 4, NOON)
    book.spend("a1", 1, NOON)
    book.spend("a1", 3, TUESDAY)
    assert book.balances[all_.id] == Balance(all_, 1, 1)
    assert book.balances[tuesdays(all_).id] == Balance(tuesdays(all_), 2, 8)
    assert book.balances[role.id] == Balance(role, 1, 1)
    assert book.balances[tuesdays(role).id] == Balance(tuesdays(role), 2, 3)


def test_a_clock_that_is_behind_turns_nothing_back() -> None:
    book, monday = a_book(), an_account("x", 10)
    book.reserve("a", None, [monday], 8, NOON)
    book.spend("a", 3, TUESDAY)
    book.spend("a", 4, NOON)
    assert book.balances[monday.id] == Balance(monday)
    assert book.balances[tuesdays(monday).id] == Balance(tuesdays(monday), 4, 8)


def test_what_is_spent_after_the_release_is_counted_on_its_day() -> None:
    book, monday = a_book(), an_account("x", 10)
    book.reserve("a", None, [monday], 8, NOON)
    book.release("a")
    book.spend("a", 4, TUESDAY)
    assert book.balances[monday.id] == Balance(monday)
    assert book.balances[tuesdays(monday).id] == Balance(tuesdays(monday), 4, 4)


def test_a_raise_on_the_next_day_is_not_refused_by_a_day_that_is_over() -> None:
    """It would be said to renew at an instant in the past, and waiting would never help."""
    book, account = a_book(), an_account("x", 10)
    book.reserve("a", None, [account], 6, NOON)
    book.reserve("b", None, [account], 4, NOON)
    late = book.reserve("a", None, [], 7, MIDNIGHT - timedelta(seconds=1))
    assert isinstance(late, Insufficient) and late.account == account
    book.spend("b", 4, MIDNIGHT - timedelta(seconds=1))
    assert book.reserve("a", None, [], 7, MIDNIGHT) == Reserved(7, 7)


def test_nothing_was_granted_so_nothing_is_counted() -> None:
    assert a_book().spend("a", 5, NOON) is None


def test_a_negative_grant_is_nobodys_intention() -> None:
    with pytest.raises(ValueError, match="a: a grant cannot be negative: -1"):
        a_book().reserve("a", None, [], -1, NOON)


# --- children --------------------------------------------------------------------------------


def test_a_child_has_what_its_parent_has_left_and_no_more() -> None:
    book = a_book()
    book.reserve("root", None, [], 10, NOON)
    book.spend("root", 3, NOON)
    assert book.reserve("root/a", "root", [], 8, NOON) == Insufficient(None, 7, 8)
    assert book.reserve("root/a", "root", [], 7, NOON) == Reserved(7, 7)
    assert book.reserve("root/b", "root", [], 1, NOON) == Insufficient(None, 0, 1)
    assert book.reserve("root/b", "root", [], 0, NOON) == Reserved(0, 0)


@pytest.mark.parametrize("released", [True, False])
def test_a_parent_that_holds_nothing_gives_nothing(released: bool) -> None:
    book = a_book()
    if released:
        book.reserve("root", None, [], 10, NOON)
        book.release("root")
    assert book.reserve("child", "root", [], 1, NOON) == Insufficient(None, 0, 1)
    assert book.reserve("child", "root", [], 0, NOON) == Insufficient(None, 0, 0)


def test_two_that_were_refused_as_each_others_children_hold_nothing() -> None:
    book = a_book()
    assert isinstance(book.reserve("a", "b", [], 1, NOON), Insufficient)
    assert isinstance(book.reserve("b", "a", [], 1, NOON), Insufficient)
    assert book.reserve("a", None, [], 1, NOON) == Reserved(1, 1)


def test_spending_below_reaches_every_parent_and_its_accounts_once() -> None:
    book, account, own = a_book(), an_account("x", 100), an_account("role", 50)
    book.reserve("root", None, [account], 100, NOON)
    book.reserve("mid", "root", [account, own], 50, NOON)
    book.reserve("leaf", "mid", [account, own], 20, NOON)
    spent = book.spend("leaf", 15, NOON)
    assert spent is not None
    assert [book.holdings[name].actual_nanousd for name in ("root", "mid", "leaf")] == [15] * 3
    assert [book.holdings[name].left_nanousd for name in ("root", "mid", "leaf")] == [50, 30, 5]
    assert set(spent.balances) == {Balance(account, 15, 100), Balance(own, 15, 50)}
    book.release("leaf")
    assert [book.holdings[name].left_nanousd for name in ("root", "mid")] == [50, 35]
    book.release("mid")
    assert book.holdings["root"].left_nanousd == 85
    book.release("root")
    assert set(book.balances.values()) == {Balance(account, 15, 15), Balance(own, 15, 15)}


def test_a_child_that_goes_on_is_still_paid_by_its_parent() -> None:
    book = a_book()
    book.reserve("root", None, [], 10, NOON)
    book.reserve("child", "root", [], 4, NOON)
    book.spend("child", 1, NOON)
    book.release("child")
    assert book.reserve("child", None, [], 6, NOON) == Reserved(6, 5)
    assert book.holdings["root"].left_nanousd == 4


def test_a_childs_own_account_can_be_the_one_that_is_empty() -> None:
    book, own = a_book(), an_account("role", 5)
    book.reserve("root", None, [], 100, NOON)
    assert book.reserve("child", "root", [own], 6, NOON) == Insufficient(own, 5, 6)
    assert book.holdings["root"].left_nanousd == 100


def test_a_parent_that_is_released_first_keeps_what_its_children_hold() -> None:
    book, account = a_book(), an_account("x", 10)
    book.reserve("root", None, [account], 10, NOON)
    book.reserve("child", "root", [], 4, NOON)
    assert book.release("root") == 6
    assert book.balances[account.id] == Balance(account, 0, 4)
    book.spend("child", 3, NOON)
    assert book.release("child") == 1
    assert book.balances[account.id] == Balance(account, 3, 3)


def test_a_parent_that_spends_what_its_child_holds_is_overspent() -> None:
    book, account = a_book(), an_account("x", 10)
    book.reserve("root", None, [account], 10, NOON)
    book.reserve("child", "root", [], 8, NOON)
    spent = book.spend("root", 5, NOON)
    assert spent is not None
    assert (spent.left_nanousd, spent.overspent_nanousd) == (0, 3)
    assert book.balances[account.id] == Balance(account, 5, 13)


# --- whatever happens ------------------------------------------------------------------------

PARENTS: Mapping[str, str | None] = {
    "a": None,
    "b": None,
    "a1": "a",
    "a2": "a",
    "a11": "a1",
    "b1": "b",
}
ACCOUNTS = {key: an_account(key, most) for key, most in (("all", 60), ("role", 25), ("user", 40))}
COUNTED = {
    "a": "all user",
    "b": "all role",
    "a1": "role all",
    "a2": "",
    "a11": "role",
    "b1": "user",
}

NAMES = st.sampled_from(sorted(PARENTS))
AMOUNTS = st.integers(0, 35)
TO_MIDNIGHT = MIDNIGHT - NOON
PAUSES = st.sampled_from([0 * TO_MIDNIGHT, TO_MIDNIGHT / 2, TO_MIDNIGHT - MOMENT, 2 * TO_MIDNIGHT])
MOVES = st.tuples(
    PAUSES,
    st.one_of(
        st.tuples(st.just("reserve"), NAMES, AMOUNTS),
        st.tuples(st.just("spend"), NAMES, AMOUNTS),
        st.tuples(st.just("release"), NAMES, st.just(0)),
    ),
)


@settings(max_examples=600, deadline=None, derandomize=True)
@given(st.lists(MOVES, max_size=40))
def test_an_account_never_gives_away_more_than_it_has(
    moves: list[tuple[timedelta, tuple[str, str, int]]],
) -> None:
    """Spent and reserved together stay within the maximum, unless an overspending was told; and
    each day counts what was spent on that day."""
    book, was_overspent, at = a_book(), False, NOON
    spent_on: Counter[tuple[str, datetime]] = Counter()
    for pause, (move, name, amount) in moves:
        at += pause
        if move == "reserve":
            wanted = [ACCOUNTS[key].in_window_of(at) for key in COUNTED[name].split()]
            book.reserve(name, PARENTS[name], wanted, amount, at)
        elif move == "spend":
            before = book.holdings.get(name, Holding(name)).own_nanousd
            spent = book.spend(name, amount, at)
            if spent is not None:
                was_overspent |= spent.overspent_nanousd > 0
                day = at.replace(hour=0, microsecond=0, minute=0, second=0)
                for balance in spent.balances:
                    spent_on[balance.account.key, day] += max(0, amount - before)
        else:
            book.release(name)
        for balance in book.balances.values():
            assert balance.actual_nanousd == spent_on[balance.account.key, _begun(balance)]
            assert was_overspent or balance.held_nanousd <= balance.account.max_nanousd
        for key in ACCOUNTS:
            _check_sums(book, key)
        for page in book.holdings.values():
            _check_family(book, page)
            late = not page.is_open  # what is spent after a release, nobody kept for the agent
            assert was_overspent or late or _taken(book, page) <= page.granted_nanousd


def _begun(balance: Balance) -> datetime:
    assert balance.account.since is not None
    return balance.account.since


def _check_sums(book: Book, key: str) -> None:
    """What all windows of a budget hold unspent is what the pages hold that it counts."""
    windows = [balance for balance in book.balances.values() if balance.account.key == key]
    counted = [
        page
        for page in book.holdings.values()
        if any(balance.account.id in page.accounts for balance in windows)
    ]
    for balance in windows:
        assert 0 <= balance.actual_nanousd <= balance.held_nanousd
        here = [page for page in counted if balance.account.id in page.accounts]
        unspent = sum(page.unspent_nanousd for page in here)
        assert balance.held_nanousd - balance.actual_nanousd == unspent


def _check_family(book: Book, page: Holding) -> None:
    """Each page knows the sum over its children, and nobody in a family is counted twice."""
    children = [each for each in book.holdings.values() if each.parent == page.agent]
    assert page.children_held_nanousd == sum(each.held_nanousd for each in children)
    assert page.children_actual_nanousd == sum(each.actual_nanousd for each in children)
    for child in children:
        assert not set(child.accounts) & set(page.accounts)


def _taken(book: Book, page: Holding) -> int:
    children = [each for each in book.holdings.values() if each.parent == page.agent]
    return page.own_nanousd + sum(each.held_nanousd for each in children)
