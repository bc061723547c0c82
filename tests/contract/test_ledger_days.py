"""The end of a day in the ledger, on both databases: who holds money takes it along."""

import asyncio
import sys
from dataclasses import replace
from datetime import timedelta

import pytest
import sqlalchemy as sa

from app.adapters.store.ledger import SqlLedger
from app.core.agents.agent import Agent, AgentId
from app.core.agents.events import ModelCalled
from app.core.budgets.budgets import Account, Window
from app.core.budgets.ledger import Balance, Insufficient, Reserved, Spent
from app.ports import Funding
from tests.contract import ledger_churn
from tests.contract.crowd_support import DAY, NOON
from tests.contract.store_support import World, a_new_agent
from tests.support.moves import begin

MIDNIGHT = DAY + timedelta(days=1)
MOMENT = timedelta(microseconds=1)
MONDAY = Account("role:bug-fix", Window.DAY, DAY, 10)
TUESDAY = replace(MONDAY, since=MIDNIGHT)
KILLS = 6


def an_agent(issue: int) -> AgentId:
    return AgentId("octo/demo", issue, "bug-fix", 1)


@pytest.fixture
def ledger(world: World) -> SqlLedger:
    return SqlLedger(world.engine, world.writer)


@pytest.fixture
def other(world: World) -> SqlLedger:
    """Another process's."""
    return SqlLedger(world.engine, world.other_writer)


async def test_what_is_held_at_midnight_nobody_else_gets_on_the_next_day(
    ledger: SqlLedger, other: SqlLedger
) -> None:
    await ledger.reserve(an_agent(1), [MONDAY], 8, NOON)
    await ledger.report(an_agent(1), 3, NOON)
    assert await other.balance(TUESDAY) == Balance(TUESDAY, 0, 5), "as people see it at midnight"
    refused = await other.reserve(an_agent(2), [TUESDAY], 6, MIDNIGHT)
    assert refused == Insufficient(TUESDAY, 5, 6)
    assert await other.reserve(an_agent(2), [TUESDAY], 5, MIDNIGHT) == Reserved(5, 5)
    assert await ledger.balance(MONDAY) == Balance(MONDAY, 3, 3)
    assert await ledger.balance(TUESDAY) == Balance(TUESDAY, 0, 10)
    assert await ledger.remaining(an_agent(1)) == 5


async def test_a_day_s_last_spending_and_the_next_day_s_first(ledger: SqlLedger) -> None:
    await ledger.reserve(an_agent(1), [MONDAY], 8, NOON)
    await ledger.reserve(an_agent(2), [MONDAY], 2, NOON)
    await ledger.report(an_agent(1), 3, MIDNIGHT - MOMENT)
    spent = await ledger.report(an_agent(1), 4, MIDNIGHT)
    assert isinstance(spent, Spent)
    assert spent.balances == (Balance(TUESDAY, 1, 7),), "the other one's, too"
    assert await ledger.balance(MONDAY) == Balance(MONDAY, 3, 3)


async def test_a_call_that_nobody_told_before_a_crash_is_counted_on_its_day(
    world: World, ledger: SqlLedger
) -> None:
    agent = await world.store.create_funded(a_new_agent(), Funding(8, (MONDAY,)), NOON)
    assert isinstance(agent, Agent)
    assert await begin(world.store, agent.id, 0, "worker-1", NOON) is not None
    calls = [
        ModelCalled(at=at, model="x", input_tokens=1, output_tokens=1, cost_nanousd=cost)
        for at, cost in (
            (MIDNIGHT - MOMENT, 3),
            (MIDNIGHT, 2),
            (MIDNIGHT + timedelta(days=1), 1),
        )
    ]
    assert await world.store.append(agent.id, 0, 3, calls)
    wednesday = replace(MONDAY, since=MIDNIGHT + timedelta(days=1))
    thursday = MIDNIGHT + timedelta(days=2)
    await ledger.report(agent.id, 6, thursday)
    assert await ledger.balance(MONDAY) == Balance(MONDAY, 3, 3)
    assert await ledger.balance(TUESDAY) == Balance(TUESDAY, 2, 2)
    assert await ledger.balance(wednesday) == Balance(wednesday, 1, 1)
    now = replace(MONDAY, since=thursday)
    assert await ledger.balance(now) == Balance(now, 0, 2)


async def test_a_start_at_midnight_is_funded_beside_who_works_through(
    world: World, ledger: SqlLedger
) -> None:
    await ledger.reserve(an_agent(1), [MONDAY], 8, NOON)
    poor = await world.store.create_funded(a_new_agent(), Funding(3, (TUESDAY,)), MIDNIGHT)
    assert poor == Insufficient(TUESDAY, 2, 3)
    agent = await world.store.create_funded(a_new_agent(), Funding(2, (TUESDAY,)), MIDNIGHT)
    assert isinstance(agent, Agent)
    assert await ledger.balance(TUESDAY) == Balance(TUESDAY, 0, 10)


async def test_many_at_midnight_never_over_commit(ledger: SqlLedger, other: SqlLedger) -> None:
    for issue in range(1, 6):
        assert await ledger.reserve(an_agent(issue), [MONDAY], 1, NOON) == Reserved(1, 1)
    answers = await asyncio.gather(
        *(
            each.reserve(an_agent(100 * number + issue), [TUESDAY], 1, MIDNIGHT)
            for number, each in enumerate((ledger, other), 1)
            for issue in range(20)
        )
    )
    assert sum(isinstance(answer, Reserved) for answer in answers) == 5
    assert await ledger.balance(TUESDAY) == Balance(TUESDAY, 0, 10)


# --- killed in the middle --------------------------------------------------------------------


async def test_killed_in_the_middle_of_whatever_it_does_the_books_balance(world: World) -> None:
    """Each process grants, books and releases over days until a `kill -9` meets it."""
    url = world.engine.url.render_as_string(hide_password=False)
    for seed in range(KILLS):
        process = await asyncio.create_subprocess_exec(
            *(sys.executable, "-m", "tests.contract.ledger_churn", url, str(seed)),
            stdout=asyncio.subprocess.PIPE,
        )
        assert process.stdout is not None
        try:
            async with asyncio.timeout(60):
                for _ in range(10 + 7 * seed):
                    assert await process.stdout.readline(), "it ended by itself"
        finally:
            process.kill()
            await process.wait()
        _check_books(world.engine)


def _check_books(engine: sa.Engine) -> None:
    with engine.begin() as connection:
        pages = {page.agent: page for page in ledger_churn.pages(connection)}
        balances = ledger_churn.balances(connection)
    assert pages and balances
    for page in pages.values():
        children = [each for each in pages.values() if each.parent == page.agent]
        assert page.children_held_nanousd == sum(each.held_nanousd for each in children)
        assert page.children_actual_nanousd == sum(each.actual_nanousd for each in children)
    for balance in balances:
        counted = [page for page in pages.values() if balance.account.id in page.accounts]
        unspent = sum(page.unspent_nanousd for page in counted)
        assert balance.held_nanousd - balance.actual_nanousd == unspent
    roots = [page.actual_nanousd for page in pages.values() if page.parent is None]
    everything = [each for each in balances if each.account.key == ledger_churn.ALL]
    assert sum(each.actual_nanousd for each in everything) == sum(roots)
