"""The ledger on both databases: exact under concurrency, repeatable, and it forgets nothing."""

import asyncio
from collections.abc import Sequence
from dataclasses import replace
from datetime import timedelta

import pytest
import sqlalchemy as sa
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from app.adapters.store.ledger import SqlLedger
from app.adapters.store.tables import ACCOUNTS, HOLDINGS
from app.core.agents.agent import AgentId
from app.core.budgets.budgets import Account, Window
from app.core.budgets.ledger import Balance, Book, Insufficient, Reserved, Spent
from app.core.money import nanousd, usd
from tests.contract import ledger_churn
from tests.contract.crowd_support import (
    AMOUNT,
    DAY,
    FITTING,
    NOON,
    ROOT,
    SHARED,
    crowd,
    reserve_all,
)
from tests.contract.store_support import World, later


def an_agent(issue: int = 12, role: str = "bug-fix") -> AgentId:
    return AgentId("octo/demo", issue, role, 1)


def an_account(key: str, most: int) -> Account:
    return Account(key, Window.DAY, DAY, most)


@pytest.fixture
def ledger(world: World) -> SqlLedger:
    return SqlLedger(world.engine, world.writer)


@pytest.fixture
def ledgers(world: World) -> Sequence[SqlLedger]:
    """This process's, and another's."""
    return SqlLedger(world.engine, world.writer), SqlLedger(world.engine, world.other_writer)


# --- many at once ----------------------------------------------------------------------------


async def test_a_hundred_at_once_never_over_commit(ledgers: Sequence[SqlLedger]) -> None:
    found = await asyncio.gather(
        *(reserve_all(ledger, name, 50) for ledger, name in zip(ledgers, "ab", strict=True))
    )
    assert sum(each["granted"] for each in found) == FITTING
    assert sum(each["refused"] for each in found) == 100 - FITTING
    balance = await ledgers[0].balance(SHARED)
    assert (balance.held_nanousd, balance.left_nanousd) == (SHARED.max_nanousd, 0)
    assert len(await ledgers[0].open_reservations()) == FITTING


@pytest.mark.full
async def test_two_processes_never_over_commit(world: World, ledger: SqlLedger) -> None:
    found = await crowd(world.engine, [("agents", "zoe", 60), ("agents", "ann", 60)])
    assert found == {"granted": FITTING, "refused": 120 - FITTING}
    assert (await ledger.balance(SHARED)).held_nanousd == SHARED.max_nanousd


@pytest.mark.full
async def test_children_of_two_processes_share_what_their_parent_has(
    world: World, ledger: SqlLedger
) -> None:
    await ledger.reserve(ROOT, [SHARED], AMOUNT * FITTING, NOON)
    await ledger.report(ROOT, AMOUNT, NOON)
    found = await crowd(world.engine, [("children", "zoe", 60), ("children", "ann", 60)])
    assert found == {"granted": FITTING - 1, "refused": 121 - FITTING}
    assert await ledger.remaining(ROOT) == 0
    assert (await ledger.balance(SHARED)).held_nanousd == SHARED.max_nanousd


async def test_one_agent_that_two_start_at_once_is_granted_once(
    ledgers: Sequence[SqlLedger],
) -> None:
    account = an_account("x", 1_000)
    for issue in range(1, 11):
        answers = await asyncio.gather(
            *(ledger.reserve(an_agent(issue), [account], 10, NOON) for ledger in [*ledgers] * 5)
        )
        assert answers == [Reserved(10, 10)] * 10
    assert (await ledgers[0].balance(account)).held_nanousd == 100


async def test_reports_and_releases_of_many_do_not_disturb_each_other(
    ledgers: Sequence[SqlLedger],
) -> None:
    """Locked in another order by each process, these would wait for each other."""
    accounts = [an_account(key, 10_000) for key in "abc"]

    async def live(ledger: SqlLedger, issue: int) -> None:
        agent, order = an_agent(issue), accounts if issue % 2 else accounts[::-1]
        assert isinstance(await ledger.reserve(agent, order, 20, NOON), Reserved)
        for actual in (3, 7):
            assert isinstance(await ledger.report(agent, actual, NOON), Spent)
        assert await ledger.release(agent) == 13

    await asyncio.gather(*(live(ledgers[issue % 3 % 2], issue) for issue in range(1, 121)))
    for account in accounts:
        assert await ledgers[0].balance(account) == Balance(account, 840, 840)
    assert await ledgers[0].open_reservations() == []


# --- one agent -------------------------------------------------------------------------------


async def test_a_repeat_after_a_crash_reserves_nothing_more(
    ledgers: Sequence[SqlLedger],
) -> None:
    account, agent = an_account("x", 10), an_agent()
    for ledger in ledgers:
        assert await ledger.reserve(agent, [account], 6, NOON) == Reserved(6, 6)
        assert (await ledger.balance(account)).held_nanousd == 6
    assert isinstance(await ledgers[0].report(agent, 2, NOON), Spent)
    assert await ledgers[1].reserve(agent, [account], 6, later(60)) == Reserved(6, 4)
    assert await ledgers[1].open_reservations() == [agent]


async def test_a_refusal_says_which_budget_how_much_is_left_and_when_it_renews(
    ledger: SqlLedger,
) -> None:
    wide, narrow = an_account("wide", 100), an_account("narrow", 10)
    await ledger.reserve(an_agent(1), [wide, narrow], 7, NOON)
    refused = await ledger.reserve(an_agent(2), [wide, narrow], 4, NOON)
    assert refused == Insufficient(narrow, left_nanousd=3, asked_nanousd=4)
    assert isinstance(refused, Insufficient)
    assert refused.account is not None
    assert refused.account.renews_at == DAY + timedelta(days=1)
    assert await ledger.balance(wide) == Balance(wide, 0, 7)
    assert await ledger.open_reservations() == [an_agent(1)]
    assert await ledger.remaining(an_agent(2)) == 0
    assert await ledger.report(an_agent(2), 5, NOON) is None


async def test_a_new_window_has_its_money_again(ledger: SqlLedger) -> None:
    monday = an_account("x", 10)
    tuesday = replace(monday, since=DAY + timedelta(days=1))
    assert isinstance(await ledger.reserve(an_agent(1), [monday], 10, NOON), Reserved)
    assert isinstance(await ledger.reserve(an_agent(2), [monday], 10, NOON), Insufficient)
    assert isinstance(await ledger.reserve(an_agent(2), [tuesday], 10, NOON), Reserved)


async def test_overspending_is_recorded_told_and_blocks_others(ledger: SqlLedger) -> None:
    account = an_account("x", 10)
    await ledger.reserve(an_agent(1), [account], 6, NOON)
    over = Spent(13, left_nanousd=0, overspent_nanousd=7, balances=(Balance(account, 13, 13),))
    assert await ledger.report(an_agent(1), 13, NOON) == over
    assert await ledger.report(an_agent(1), 13, NOON) == over
    assert await ledger.reserve(an_agent(2), [account], 1, NOON) == Insufficient(account, 0, 1)
    assert await ledger.release(an_agent(1)) == 0
    assert await ledger.balance(account) == Balance(account, 13, 13)


async def test_a_release_frees_the_rest_once(ledger: SqlLedger) -> None:
    account = an_account("x", 10)
    await ledger.reserve(an_agent(), [account], 10, NOON)
    await ledger.report(an_agent(), 4, NOON)
    assert [await ledger.release(an_agent()) for _ in range(2)] == [6, 0]
    assert await ledger.balance(account) == Balance(account, 4, 4)
    assert await ledger.open_reservations() == []
    assert isinstance(await ledger.reserve(an_agent(2), [account], 6, NOON), Reserved)


async def test_nobody_knows_an_agent_that_was_granted_nothing(ledger: SqlLedger) -> None:
    assert await ledger.report(an_agent(), 4, NOON) is None
    assert await ledger.release(an_agent()) == 0
    assert await ledger.remaining(an_agent()) == 0


async def test_amounts_are_whole_however_large(ledger: SqlLedger) -> None:
    account = an_account("x", nanousd(9_000_000_000))
    assert isinstance(
        await ledger.reserve(an_agent(), [account], nanousd(8_999_999_999.999), NOON), Reserved
    )
    assert (await ledger.balance(account)).left_nanousd == 1_000_000


async def test_a_wrong_amount_spoils_nothing_for_those_it_shares_a_commit_with(
    ledger: SqlLedger,
) -> None:
    account = an_account("x", 10)
    answers = await asyncio.gather(
        *(ledger.reserve(an_agent(issue), [account], issue - 2, NOON) for issue in (1, 2, 3)),
        return_exceptions=True,
    )
    assert isinstance(answers[0], ValueError)
    assert answers[1:] == [Reserved(0, 0), Reserved(1, 1)]


async def test_budget_flow_example_of_seed_003(ledger: SqlLedger) -> None:
    """Seed 003, "Budget Flow Example", figure by figure."""
    root, a, b = an_agent(1, "root"), an_agent(1, "a"), an_agent(1, "b")
    account = an_account("installation", nanousd(100))

    async def root_remaining() -> float:
        return usd(await ledger.remaining(root))

    async def root_actual() -> float:
        return usd((await ledger.balance(account)).actual_nanousd)

    assert await ledger.reserve(root, [account], nanousd(3.00), NOON) == Reserved(
        nanousd(3.00), nanousd(3.00)
    )
    assert (await root_actual(), await root_remaining()) == (0.00, 3.00)
    await ledger.report(root, nanousd(0.15), NOON)
    assert (await root_actual(), await root_remaining()) == (0.15, 2.85)
    await ledger.reserve_child(a, root, nanousd(0.10), NOON)
    assert await root_remaining() == 2.75
    await ledger.reserve_child(b, root, nanousd(0.10), NOON)
    assert await root_remaining() == 2.65
    await ledger.report(a, nanousd(0.07), NOON)
    assert await root_actual() == 0.22
    assert usd(await ledger.release(a)) == 0.03
    assert await root_remaining() == 2.68
    await ledger.report(b, nanousd(0.09), NOON)
    assert await root_actual() == 0.31
    assert usd(await ledger.release(b)) == 0.01
    assert await root_remaining() == 2.69
    assert usd((await ledger.balance(account)).held_nanousd) == 3.00
    assert usd(await ledger.release(root)) == 2.69
    assert usd((await ledger.balance(account)).held_nanousd) == 0.31


# --- whatever happens ------------------------------------------------------------------------

FAMILY = {"a": None, "b": None, "a1": "a", "a2": "a", "a11": "a1"}
COUNTED = {
    "a": [an_account("all", 60), an_account("user", 40)],
    "b": [an_account("all", 60)],
    "a1": [an_account("role", 25), an_account("all", 60)],
    "a2": [],
    "a11": [an_account("role", 25)],
}
MOVES = st.lists(
    st.tuples(
        st.sampled_from(["reserve", "spend", "release"]),
        st.sampled_from(sorted(FAMILY)),
        st.integers(0, 35),
        st.integers(0, 1),
        st.sampled_from([0, 8, 16, 40]),
    ),
    max_size=12,
)
"""What, for whom, how much, by which process, after how many hours."""


@settings(
    max_examples=15,
    deadline=None,
    derandomize=True,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
@given(MOVES)
async def test_what_is_stored_is_what_the_arithmetic_says(
    world: World, ledgers: Sequence[SqlLedger], moves: list[tuple[str, str, int, int, int]]
) -> None:
    """The ledger, each time read and written anew by one of two processes, against one book."""
    with world.engine.begin() as connection:
        for table in (HOLDINGS, ACCOUNTS):
            connection.execute(sa.delete(table))
    book, at = Book([], []), NOON
    for move, name, amount, process, hours in moves:
        at += timedelta(hours=hours)
        counted = [account.in_window_of(at) for account in COUNTED[name]]
        ledger, agent = ledgers[process], an_agent(1, name)
        parent = FAMILY[name]
        above = None if parent is None else str(an_agent(1, parent))
        told: object
        if move == "reserve":
            expected: object = book.reserve(str(agent), above, counted, amount, at)
            if parent is None:
                told = await ledger.reserve(agent, counted, amount, at)
            else:
                told = await ledger.reserve_child(agent, an_agent(1, parent), amount, at, counted)
        elif move == "spend":
            expected, told = (
                book.spend(str(agent), amount, at),
                await ledger.report(agent, amount, at),
            )
        else:
            expected, told = book.release(str(agent)), await ledger.release(agent)
        assert told == expected
    for name in FAMILY:  # who has not heard of the day yet
        assert await ledgers[0].report(an_agent(1, name), 0, at) == book.spend(
            str(an_agent(1, name)), 0, at
        )
    for name in FAMILY:
        page = book.holdings.get(str(an_agent(1, name)))
        assert await ledgers[0].remaining(an_agent(1, name)) == (page.left_nanousd if page else 0)
    with world.engine.begin() as connection:
        stored = ledger_churn.balances(connection)
    in_use = [balance for balance in stored if balance != Balance(balance.account)]
    expected_in_use = [each for each in book.balances.values() if each != Balance(each.account)]
    assert {each.account.id: each for each in in_use} == {
        each.account.id: each for each in expected_in_use
    }
