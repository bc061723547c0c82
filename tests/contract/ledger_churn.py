"""A process that uses the ledger without end, to be killed in the middle of it.

`python -m tests.contract.ledger_churn URL SEED` grants, books and releases for a few agents and
their sub-agents, over days that pass quickly, and prints a line for each thing it has done.
"""

import asyncio
import random
import sys
from collections.abc import Sequence
from dataclasses import replace
from datetime import timedelta
from typing import Final

import sqlalchemy as sa

from app.adapters.store.database import make_engine
from app.adapters.store.ledger import SqlLedger, read_balances, read_pages
from app.adapters.store.tables import ACCOUNTS, HOLDINGS
from app.adapters.store.writer import GroupWriter
from app.core.agents.agent import AgentId
from app.core.budgets.budgets import Budget, Scope, Started, Window, accounts
from app.core.budgets.ledger import Balance, Holding
from tests.contract.crowd_support import NOON

ALL: Final = "installation"
BUDGETS: Final = (
    Budget(Scope.INSTALLATION, Window.DAY, 2_000),
    Budget(Scope.ROLE, Window.WEEK, 5_000),
)
MOST_STEPS: Final = 5_000


def pages(connection: sa.Connection) -> Sequence[Holding]:
    """All of them."""
    return read_pages(connection, connection.scalars(sa.select(HOLDINGS.c.agent_id)).all())


def balances(connection: sa.Connection) -> Sequence[Balance]:
    """Of all accounts."""
    return read_balances(connection, connection.scalars(sa.select(ACCOUNTS.c.id)).all())


async def _churn(url: str, seed: int) -> None:
    engine, chance, at = make_engine(url), random.Random(seed), NOON
    writer = GroupWriter(engine)
    ledger, spent = SqlLedger(engine, writer), dict[AgentId, int]()
    parents = [AgentId(f"octo/life-{seed}", issue, "bug-fix", 1) for issue in (1, 2, 3)]
    try:
        for step in range(MOST_STEPS):
            at += timedelta(hours=chance.randrange(9))
            parent = chance.choice(parents)
            started = Started("octo/demo", parent.issue, "bug-fix", "mona")
            counted, child = accounts(BUDGETS, started, at), replace(parent, role="helper")
            agent = chance.choice([parent, child])
            match chance.randrange(4):
                case 0:
                    await ledger.reserve(parent, counted, chance.randrange(900), at)
                case 1:
                    await ledger.reserve_child(child, parent, chance.randrange(300), at)
                case 2:
                    spent[agent] = spent.get(agent, 0) + chance.randrange(90)
                    await ledger.report(agent, spent[agent], at)
                case _:
                    await ledger.release(agent)
            print(step, flush=True)
    finally:
        writer.close()
        engine.dispose()


if __name__ == "__main__":
    asyncio.run(_churn(sys.argv[1], int(sys.argv[2])))
