"""An agent and its money: created together or not at all; and what its model calls have cost."""

import asyncio
from dataclasses import replace
from itertools import product

import pytest

from app.adapters.store.ledger import SqlLedger
from app.core.agents.agent import Agent, AgentId
from app.core.agents.events import Created, Finished, HandedOver, ModelCalled
from app.core.agents.lifecycle import Signal, State
from app.core.budgets.budgets import Account, Window
from app.core.budgets.ledger import Balance, Insufficient
from app.core.money import CostsBy
from app.ports import Cost, Funding, NewAgent
from tests.contract.crowd_support import DAY, NOON
from tests.contract.store_support import OutOfOrder, World, a_new_agent, later, of_a_start
from tests.support.moves import Changes, begin, move


def an_account(key: str, most: int) -> Account:
    return Account(key, Window.DAY, DAY, most)


@pytest.fixture
def ledger(world: World) -> SqlLedger:
    return SqlLedger(world.engine, world.writer)


# --- an agent and its money ------------------------------------------------------------------


async def test_an_agent_and_its_money_come_together(world: World, ledger: SqlLedger) -> None:
    account = an_account("x", 10)
    created = await world.store.create_funded(a_new_agent(), Funding(7, (account,)), NOON)
    assert isinstance(created, Agent)
    assert created == await world.store.agent(created.id)
    assert world.queued() == of_a_start(created.id)
    assert await world.store.log(created.id) == [
        Created(
            at=NOON,
            started_by="ada",
            trigger="label squadron:bug-fix",
            task_sha256=created.assignment.task.sha256,
        )
    ]
    assert await ledger.balance(account) == Balance(account, 0, 7)
    assert await ledger.open_reservations() == [created.id]


async def test_without_money_there_is_no_agent_no_work_and_no_reservation(
    world: World, ledger: SqlLedger
) -> None:
    wide, narrow = an_account("wide", 100), an_account("narrow", 6)
    answer = await world.store.create_funded(a_new_agent(), Funding(7, (wide, narrow)), NOON)
    assert answer == Insufficient(narrow, 6, 7)
    assert (await world.store.agents(), world.queued()) == ([], [])
    assert await ledger.balance(wide) == Balance(wide)
    again = await world.store.create_funded(a_new_agent(), Funding(6, (wide, narrow)), NOON)
    assert isinstance(again, Agent)
    assert again.id.attempt == 1


async def test_a_post_that_is_taken_is_no_question_of_money(
    world: World, ledger: SqlLedger
) -> None:
    account = an_account("x", 10)
    funding = Funding(10, (account,))
    assert isinstance(await world.store.create_funded(a_new_agent(), funding, NOON), Agent)
    assert await world.store.create_funded(a_new_agent(), funding, NOON) is None
    assert (await ledger.balance(account)).held_nanousd == 10


async def test_an_agent_that_cannot_be_enqueued_holds_no_money(
    world: World, ledger: SqlLedger
) -> None:
    account = an_account("x", 10)
    world.queue_is_broken = True
    with pytest.raises(OutOfOrder):
        await world.store.create_funded(a_new_agent(), Funding(10, (account,)), NOON)
    assert await world.store.agents() == []
    assert (await ledger.balance(account)).held_nanousd == 0


async def test_as_many_agents_start_as_there_is_money_for(world: World, ledger: SqlLedger) -> None:
    account = an_account("x", 45)
    answers = await asyncio.gather(
        *(
            world.stores[issue % 2].create_funded(a_new_agent(issue), Funding(10, (account,)), NOON)
            for issue in range(1, 21)
        )
    )
    created = {answer.id for answer in answers if isinstance(answer, Agent)}
    assert len(created) == 4
    assert {agent.id for agent in await world.store.agents()} == created
    assert set(await ledger.open_reservations()) == created
    assert (await ledger.balance(account)).held_nanousd == 40


async def test_a_child_is_paid_by_its_parent(world: World, ledger: SqlLedger) -> None:
    account = an_account("x", 10)
    parent = await world.store.create_funded(a_new_agent(), Funding(10, (account,)), NOON)
    assert isinstance(parent, Agent)
    child = replace(a_new_agent(role="researcher"), parent=parent.id, depth=1)
    poor = await world.store.create_funded(child, Funding(11, ()), NOON)
    assert poor == Insufficient(None, 10, 11)
    created = await world.store.create_funded(child, Funding(4, (account,)), NOON)
    assert isinstance(created, Agent)
    assert await ledger.remaining(parent.id) == 6
    spent = await ledger.report(created.id, 3, NOON)
    assert spent is not None
    assert spent.balances == (Balance(account, 3, 10),)


# --- what it cost ----------------------------------------------------------------------------


async def test_costs_are_put_down_to_whom_they_belong(world: World, ledger: SqlLedger) -> None:
    store = world.store

    async def work(issue: int, role: str, by: str, *calls: ModelCalled) -> None:
        new = replace(a_new_agent(issue, role), started_by=by)
        created = await store.create(new, NOON)
        assert created is not None
        active = await begin(store, created.id, 0, "worker-1", later(1))
        assert active is not None
        half = len(calls) // 2
        assert await store.append(created.id, 0, 3, calls[:half])
        assert await store.append(created.id, 0, 3 + half, calls[half:])

    def call(
        model: str, cost: int | None, seconds: float = 10, *, is_estimate: bool = False
    ) -> ModelCalled:
        return ModelCalled(
            at=later(seconds),
            model=model,
            input_tokens=100,
            output_tokens=7,
            cost_nanousd=cost,
            is_estimate=is_estimate,
        )

    await work(12, "bug-fix", "Ada", call("big", 50), call("small", 5), call("odd", None))
    await work(12, "pm", "bob", call("small", 3, is_estimate=True))
    await work(13, "bug-fix", "ada", call("small", 2, 3_600), call("small", 0, 3_600))

    def cost(
        key: str, nano: int, calls: int, agents: int, unknown: int = 0, estimated: int = 0
    ) -> Cost:
        return Cost(key, nano, unknown, estimated, 100 * calls, 7 * calls, agents)

    assert await ledger.costs(CostsBy.ISSUE) == [
        cost("octo/demo#12", 58, 4, 2, unknown=1, estimated=1),
        cost("octo/demo#13", 2, 2, 1),
    ]
    assert await ledger.costs(CostsBy.ROLE) == [
        cost("bug-fix", 57, 5, 2, unknown=1),
        cost("pm", 3, 1, 1, estimated=1),
    ]
    assert await ledger.costs(CostsBy.USER) == [
        cost("ada", 57, 5, 2, unknown=1),
        cost("bob", 3, 1, 1, estimated=1),
    ]
    assert await ledger.costs(CostsBy.MODEL) == [
        cost("big", 50, 1, 1),
        cost("small", 10, 4, 3, estimated=1),
        cost("odd", 0, 1, 1, unknown=1),
    ]
    assert await ledger.costs(CostsBy.REPOSITORY) == [
        cost("octo/demo", 60, 6, 3, unknown=1, estimated=1)
    ]
    by_agent = [each.key for each in await ledger.costs(CostsBy.AGENT)]
    assert by_agent == ["octo/demo#12/bug-fix/1", "octo/demo#12/pm/1", "octo/demo#13/bug-fix/1"]

    hour = later(3_600)
    assert await ledger.costs(CostsBy.ISSUE, since=hour) == [cost("octo/demo#13", 2, 2, 1)]
    assert await ledger.costs(CostsBy.ISSUE, until=hour) == [
        cost("octo/demo#12", 58, 4, 2, unknown=1, estimated=1)
    ]
    assert await ledger.costs(CostsBy.ISSUE, since=later(11), until=hour) == []


async def test_a_call_is_counted_with_its_event_and_only_once(
    world: World, ledger: SqlLedger
) -> None:
    active = await world.an_active()
    called = ModelCalled(
        at=later(2), model="m\0", input_tokens=3_000_000_000, output_tokens=1, cost_nanousd=9
    )
    assert await world.store.append(active.id, 0, 3, [called])
    assert not await world.store.append(active.id, 0, 3, [called])
    assert await move(world.store, active, Signal.ABANDONED, [called], Changes())
    assert await ledger.costs(CostsBy.MODEL) == [
        Cost("m\N{REPLACEMENT CHARACTER}", 18, 0, 0, 6_000_000_000, 2, 1)
    ]
    found = await world.store.agent(active.id)
    assert found is not None
    assert found.state is State.CANCELLED


# --- days, and what came of it ----------------------------------------------------------------


async def test_costs_by_day_begin_with_the_last_one(world: World, ledger: SqlLedger) -> None:
    """A day begins at midnight in UTC."""
    active, midnight = await world.an_active(), 12 * 3_600  # after noon, when the tests begin
    calls = [
        ModelCalled(
            at=later(seconds), model="m", input_tokens=1, output_tokens=1, cost_nanousd=cost
        )
        for seconds, cost in ((midnight - 1, 1), (midnight, 2), (midnight + 86_399, 4))
    ]
    assert await world.store.append(active.id, 0, 3, calls)
    found = [(each.key, each.nanousd) for each in await ledger.costs(CostsBy.DAY)]
    assert found == [("2026-05-05", 6), ("2026-05-04", 1)]
    only = await ledger.costs(CostsBy.DAY, since=later(midnight), until=later(midnight + 1))
    assert [(each.key, each.nanousd) for each in only] == [("2026-05-05", 2)]


async def test_costs_of_a_time_are_those_of_the_calls_in_it(
    world: World, ledger: SqlLedger
) -> None:
    """Wherever it begins and ends, in the middle of a day or with one."""
    active, day, step = await world.an_active(), 86_400, 0.000_001
    edges = [half * day / 2 + by for half in range(1, 8, 2) for by in (-step, 0, step)]
    moments = sorted([*edges, 0, day, 1.3 * day, 2 * day])
    calls = [
        ModelCalled(
            at=later(seconds), model="m", input_tokens=1, output_tokens=2, cost_nanousd=2**number
        )
        for number, seconds in enumerate(moments)
    ]
    unknown = ModelCalled(at=later(day), model="u", input_tokens=1, output_tokens=2)
    assert await world.store.append(active.id, 0, 3, [*calls, unknown])
    bounds = [None, *map(later, edges), later(1.1 * day), later(1.4 * day)]
    for since, until in product(bounds, bounds):
        found = await ledger.costs(CostsBy.MODEL, since, until)
        expected = [
            call
            for call in calls
            if (since is None or call.at >= since) and (until is None or call.at < until)
        ]
        told = [(each.nanousd, each.output_tokens) for each in found if each.key == "m"]
        cost = sum(call.cost_nanousd or 0 for call in expected)
        tokens = sum(call.output_tokens for call in expected)
        assert told == ([(cost, tokens)] if expected else []), f"{since} to {until}"
        is_in = (since is None or since <= later(day)) and (until is None or later(day) < until)
        assert [each.unknown_calls for each in found if each.key == "u"] == [1] * is_in


async def ended(
    world: World, new: NewAgent, seconds: float, pull_request: int | None, *, is_merged: bool = True
) -> AgentId:
    """One that ended then, with a pull request or without."""
    created = await world.store.create(new, later(0))
    assert created is not None
    active = await begin(world.store, created.id, 0, "worker-1", later(1))
    assert active is not None
    if pull_request is not None:
        told = HandedOver(at=later(2), pull_request=pull_request)
        await world.store.note_handed_over(active, told)
    since = later(seconds) if is_merged else None
    done = Finished(at=later(seconds), why="It is over.", since=since)
    over = await move(world.store, active, Signal.FINISHED, [done], Changes())
    assert over is not None
    return over.id


async def test_merged_pull_requests_are_put_down_to_whom_they_belong(
    world: World, ledger: SqlLedger
) -> None:
    """One that nobody reviewed for long is not merged, and one of two agents counts once."""
    at_noon = replace(a_new_agent(1), started_by="Ada")
    merged = await ended(world, at_noon, 50, 7)
    await ended(world, replace(a_new_agent(1, "pm"), started_by="bob"), 60, 7)
    await ended(world, a_new_agent(2), 13 * 3_600, 8)
    await ended(world, a_new_agent(3), 50, None)
    await ended(world, a_new_agent(4), 50, 9, is_merged=False)
    assert await ledger.merged(CostsBy.REPOSITORY) == {"octo/demo": 2}
    assert await ledger.merged(CostsBy.ROLE) == {"bug-fix": 2, "pm": 1}
    assert await ledger.merged(CostsBy.USER) == {"ada": 2, "bob": 1}
    assert await ledger.merged(CostsBy.ISSUE) == {"octo/demo#1": 1, "octo/demo#2": 1}
    assert await ledger.merged(CostsBy.DAY) == {"2026-05-04": 1, "2026-05-05": 1}
    assert (await ledger.merged(CostsBy.AGENT))[str(merged)] == 1
    assert await ledger.merged(CostsBy.MODEL) == {}
    assert await ledger.merged(CostsBy.ROLE, since=later(3_600)) == {"bug-fix": 1}
    assert await ledger.merged(CostsBy.ROLE, since=later(51), until=later(61)) == {"pm": 1}
    assert await world.store.pack_logs(later(10**6)) == 5
    assert await ledger.merged(CostsBy.ROLE) == {"bug-fix": 2, "pm": 1}
