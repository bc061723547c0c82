"""The ledger's arithmetic: nothing is given away twice, and nothing that was spent is forgotten."""

from collections.abc import Mapping
from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from app.core.budgets.budgets import Account, Window
from app.core.budgets.ledger import Balance, Book, Holding, Insufficient, Reserved

NOON = datetime(2026, 5, 4, 12, tzinfo=UTC)
DAY = datetime(2026, 5, 4, tzinfo=UTC)


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
        spent = book.spend("a", told)
        assert spent is not None
        assert (spent.actual_nanousd, spent.left_nanousd) == (actual, 10 - actual)
        assert spent.balances == (Balance(account, actual, 10),)


def test_what_the_grant_did_not_cover_is_counted_told_and_blocks_others() -> None:
    book, account = a_book(), an_account("x", 10)
    book.reserve("a", None, [account], 6, NOON)
    spent = book.spend("a", 9)
    assert spent is not None
    assert (spent.overspent_nanousd, spent.left_nanousd) == (3, 0)
    assert book.reserve("b", None, [account], 2, NOON) == Insufficient(account, 1, 2)
    spent = book.spend("a", 12)
    assert spent is not None
    assert spent.balances == (Balance(account, 12, 12),)
    assert spent.balances[0].left_nanousd == 0
    assert book.release("a") == 0
    assert book.holdings["a"].overspent_nanousd == 6


def test_a_release_frees_the_rest_once_and_late_spending_still_counts() -> None:
    book, account = a_book(), an_account("x", 10)
    book.reserve("a", None, [account], 8, NOON)
    book.spend("a", 3)
    assert [book.release("a"), book.release("a"), book.release("nobody")] == [5, 0, 0]
    assert book.balances[account.id] == Balance(account, 3, 3)
    book.spend("a", 4)
    assert book.balances[account.id] == Balance(account, 4, 4)
    assert book.holdings["a"].left_nanousd == 0


def test_an_agent_that_goes_on_is_counted_in_the_window_in_which_it_goes_on() -> None:
    book, monday = a_book(), an_account("x", 10)
    tuesday = Account("x", Window.DAY, datetime(2026, 5, 5, tzinfo=UTC), 10)
    book.reserve("a", None, [monday], 8, NOON)
    book.spend("a", 3)
    book.release("a")
    assert book.reserve("a", None, [tuesday], 8, NOON) == Reserved(8, 5)
    book.spend("a", 4)
    book.release("a")
    assert book.balances[monday.id] == Balance(monday, 3, 3)
    assert book.balances[tuesday.id] == Balance(tuesday, 1, 1)


def test_what_is_held_stays_with_its_accounts_on_the_next_day_too() -> None:
    book, monday = a_book(), an_account("x", 10)
    tuesday = Account("x", Window.DAY, datetime(2026, 5, 5, tzinfo=UTC), 10)
    book.reserve("a", None, [monday], 6, NOON)
    book.spend("a", 1)
    assert book.reserve("a", None, [tuesday], 9, NOON) == Reserved(9, 8)
    assert book.balances[monday.id] == Balance(monday, 1, 9)
    book.reserve("a/child", "a", [], 4, NOON)
    book.release("a")
    assert book.reserve("a", None, [tuesday], 9, NOON) == Reserved(9, 4)
    book.release("a/child")
    book.release("a")
    assert book.balances[monday.id] == Balance(monday, 1, 1)
    assert book.balances[tuesday.id] == Balance(tuesday)


def test_a_raise_on_the_next_day_is_not_refused_by_a_day_that_is_over() -> None:
    """It would be said to renew at an instant in the past, and waiting would never help."""
    book, account = a_book(), an_account("x", 10)
    book.reserve("a", None, [account], 6, NOON)
    book.reserve("b", None, [account], 4, NOON)
    midnight = datetime(2026, 5, 5, tzinfo=UTC)
    late = book.reserve("a", None, [], 7, midnight - timedelta(seconds=1))
    assert isinstance(late, Insufficient) and late.account == account
    assert book.reserve("a", None, [], 7, midnight) == Reserved(7, 7)


def test_nothing_was_granted_so_nothing_is_counted() -> None:
    assert a_book().spend("a", 5) is None


def test_a_negative_grant_is_nobodys_intention() -> None:
    with pytest.raises(ValueError, match="a: a grant cannot be negative: -1"):
        a_book().reserve("a", None, [], -1, NOON)


# --- children --------------------------------------------------------------------------------


def test_a_child_has_what_its_parent_has_left_and_no_more() -> None:
    book = a_book()
    book.reserve("root", None, [], 10, NOON)
    book.spend("root", 3)
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
    spent = book.spend("leaf", 15)
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
    book.spend("child", 1)
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
    book.spend("child", 3)
    assert book.release("child") == 1
    assert book.balances[account.id] == Balance(account, 3, 3)


def test_a_parent_that_spends_what_its_child_holds_is_overspent() -> None:
    book, account = a_book(), an_account("x", 10)
    book.reserve("root", None, [account], 10, NOON)
    book.reserve("child", "root", [], 8, NOON)
    spent = book.spend("root", 5)
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
MOVES = st.one_of(
    st.tuples(st.just("reserve"), NAMES, AMOUNTS),
    st.tuples(st.just("spend"), NAMES, AMOUNTS),
    st.tuples(st.just("release"), NAMES, st.just(0)),
)


@settings(max_examples=600, deadline=None, derandomize=True)
@given(st.lists(MOVES, max_size=40))
def test_an_account_never_gives_away_more_than_it_has(moves: list[tuple[str, str, int]]) -> None:
    """Spent and reserved together stay within the maximum, unless an overspending was told."""
    book, was_overspent = a_book(), False
    for move, name, amount in moves:
        if move == "reserve":
            wanted = [ACCOUNTS[key] for key in COUNTED[name].split()]
            book.reserve(name, PARENTS[name], wanted, amount, NOON)
        elif move == "spend":
            spent = book.spend(name, amount)
            was_overspent |= spent is not None and spent.overspent_nanousd > 0
        else:
            book.release(name)
        for balance in book.balances.values():
            _check_sums(book, balance)
            assert was_overspent or balance.held_nanousd <= balance.account.max_nanousd
        for page in book.holdings.values():
            _check_family(book, page)
            late = not page.is_open  # what is spent after a release, nobody kept for the agent
            assert was_overspent or late or _taken(book, page) <= page.granted_nanousd


def _check_sums(book: Book, balance: Balance) -> None:
    """Each account is the sum over the pages that it counts."""
    counted = [page for page in book.holdings.values() if balance.account.id in page.accounts]
    assert balance.held_nanousd == sum(page.held_nanousd for page in counted)
    assert balance.actual_nanousd == sum(page.actual_nanousd for page in counted)
    assert 0 <= balance.actual_nanousd <= balance.held_nanousd


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
