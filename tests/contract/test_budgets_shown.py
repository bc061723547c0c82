"""What is left of budgets, and of an agent's own part: `squadron costs --budgets` and `explain`."""

import asyncio
import json
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from typer.testing import CliRunner

from app.adapters.store.ledger import SqlLedger
from app.cli.main import app
from app.core.agents.agent import Agent, AgentId
from app.core.budgets.budgets import Account, Window, window_start
from app.core.budgets.ledger import Balance, Holding
from app.core.money import nanousd
from app.ports import FORGOTTEN_AFTER, Funding
from tests.contract.crowd_support import DAY, NOON
from tests.contract.store_support import World, a_new_agent

NOW = datetime.now(UTC)
KEY = "role:octo/demo:bug-fix"


def an_account(key: str, window: Window, most: float, at: datetime = NOW) -> Account:
    return Account(key, window, window_start(window, at), nanousd(most))


TODAY = an_account(KEY, Window.DAY, 20)
MONTH = an_account("installation", Window.MONTH, 100)


@dataclass
class Lives:
    """A parent and its sub-agent, and both of their money."""

    world: World
    ledger: SqlLedger
    parent: AgentId
    child: AgentId

    def prints(self, *words: str) -> str:
        url = self.world.engine.url.render_as_string(hide_password=False)
        environment = {"SQUADRON_DATABASE_URL": url, "COLUMNS": "150"}
        done = CliRunner().invoke(app, words, env=environment)
        assert done.exit_code == 0, done.output
        return done.stdout

    def json(self, *words: str) -> Any:
        return json.loads(self.prints(*words, "--json"))


@pytest.fixture
def lives(world: World) -> Lives:
    ledger = SqlLedger(world.engine, world.writer)

    async def live() -> Lives:
        store = world.store
        funding = Funding(nanousd(3), (TODAY, MONTH))
        parent = await store.create_funded(a_new_agent(), funding, NOW)
        assert isinstance(parent, Agent)
        new = replace(a_new_agent(role="helper"), parent=parent.id, depth=1)
        child = await store.create_funded(new, Funding(nanousd(1), ()), NOW)
        assert isinstance(child, Agent)
        await ledger.report(parent.id, nanousd(0.25), NOW)
        await ledger.report(child.id, nanousd(0.4), NOW)
        return Lives(world, ledger, parent.id, child.id)

    return asyncio.run(live())


def test_what_is_left_of_each_budget_and_who_holds_of_it(lives: Lives) -> None:
    shown = lives.json("costs", "--budgets")
    month, day = shown["budgets"]
    assert day == {
        "budget": KEY,
        "window": "day",
        "renews_at": f"{NOW + timedelta(days=1):%Y-%m-%d}T00:00:00Z",
        "maximum_usd": 20.0,
        "spent_usd": 0.65,
        "reserved_usd": 2.35,
        "left_usd": 17.0,
    }
    assert (month["budget"], month["window"], month["left_usd"]) == ("installation", "month", 97.0)
    child, parent = sorted(shown["agents"], key=lambda one: one["agent"] != str(lives.child))
    assert parent == {
        "agent": str(lives.parent),
        "parent": None,
        "granted_usd": 3.0,
        "spent_usd": 0.25,
        "tree_spent_usd": 0.65,
        "reserved_by_sub_agents_usd": 0.6,
        "left_usd": 1.75,
    }
    assert (child["parent"], child["granted_usd"], child["left_usd"]) == (str(lives.parent), 1, 0.6)


def test_the_same_as_a_table(lives: Lives) -> None:
    lines = lives.prints("costs", "--budgets").splitlines()
    [day] = [line for line in lines if KEY in line and "day" in line]
    cells = [cell.strip() for cell in day.strip("│ ").split("│")]
    renews = f"{NOW + timedelta(days=1):%Y-%m-%d} 00:00 UTC"
    assert cells == [f"{KEY} ($20.00 a day)", "$0.65", "$2.35", "$17.00", renews]
    words = (
        "granted $3.00: $0.65 spent ($0.40 of it by sub-agents), $0.60 held by sub-agents, $1.75"
        " left for it and for further sub-agents"
    )
    assert f"{lives.parent}: {words}" in lines
    assert words in lives.prints("explain", str(lives.parent))
    told = lives.json("explain", str(lives.parent))["budget"]
    assert (told["left_usd"], told["tree_spent_usd"]) == (1.75, 0.65)


def test_who_was_released_holds_nothing(lives: Lives) -> None:
    asyncio.run(lives.ledger.release(lives.child))
    asyncio.run(lives.ledger.release(lives.parent))
    assert lives.json("costs", "--budgets")["agents"] == []
    assert "$0.65 spent ($0.40 of it by sub-agents); it holds nothing now" in lives.prints(
        "explain", str(lives.parent)
    )


def test_nobody_has_used_a_budget_yet(world: World) -> None:
    lives = Lives(world, SqlLedger(world.engine, world.writer), *[AgentId("o/r", 1, "x", 1)] * 2)
    assert lives.prints("costs", "--budgets") == "No budget has counted an agent lately.\n"
    assert lives.json("costs", "--budgets") == {"budgets": [], "agents": []}


# --- over the days ---------------------------------------------------------------------------


def test_a_new_day_shows_what_is_held_from_the_day_before_and_nothing_spent(world: World) -> None:
    ledger, agent = SqlLedger(world.engine, world.writer), AgentId("octo/demo", 1, "x", 1)
    monday = an_account("x", Window.DAY, 10, NOON)
    tuesday, total = DAY + timedelta(days=1), an_account("x", Window.TOTAL, 30)

    async def shown(at: datetime) -> Sequence[Balance]:
        return await ledger.balances(at)

    asyncio.run(ledger.reserve(agent, [monday, total], nanousd(4), NOON))
    asyncio.run(ledger.report(agent, nanousd(1), NOON))
    in_all = Balance(total, nanousd(1), nanousd(4))
    assert asyncio.run(shown(NOON)) == [Balance(monday, nanousd(1), nanousd(4)), in_all]
    on_tuesday = Balance(replace(monday, since=tuesday), 0, nanousd(3))
    assert asyncio.run(shown(tuesday)) == [on_tuesday, in_all]
    asyncio.run(ledger.release(agent))
    long_after = DAY + FORGOTTEN_AFTER
    in_all = Balance(total, nanousd(1), nanousd(1))
    assert asyncio.run(shown(long_after - timedelta(seconds=1)))[1:] == [in_all]
    assert asyncio.run(shown(long_after)) == [in_all], "nobody has used the other one for so long"


def test_a_maximum_is_as_it_was_last_counted_with(world: World) -> None:
    ledger = SqlLedger(world.engine, world.writer)
    monday = an_account("x", Window.DAY, 10, NOON)
    tuesday = replace(monday, since=DAY + timedelta(days=1), max_nanousd=nanousd(12))
    for issue, account in enumerate((tuesday, monday), 1):
        agent = AgentId("octo/demo", issue, "x", 1)
        asyncio.run(ledger.reserve(agent, [account], nanousd(4), NOON))
    wednesday = replace(tuesday, since=DAY + timedelta(days=2))
    at = DAY + timedelta(days=2)
    assert asyncio.run(ledger.balances(at)) == [Balance(wednesday, 0, nanousd(8))]


def test_an_agent_that_was_granted_nothing_has_no_page(world: World) -> None:
    ledger, agent = SqlLedger(world.engine, world.writer), AgentId("octo/demo", 1, "x", 1)
    account = an_account("x", Window.DAY, 1)
    assert asyncio.run(ledger.holding(agent)) is None
    asyncio.run(ledger.reserve(agent, [account], nanousd(2), NOW))
    assert asyncio.run(ledger.holding(agent)) is None, "it was refused"
    asyncio.run(ledger.reserve(agent, [account], nanousd(1), NOW))
    assert asyncio.run(ledger.holding(agent)) == Holding(
        str(agent), None, (account.id,), nanousd(1), NOW
    )
