"""The ledger: an agent reserves, reports what it spent and releases the rest, every commit durable.

All agents draw on the same budgets, so on PostgreSQL each change waits for the rows of the one
before it: the worst case, and the usual one.
"""

import asyncio
from time import perf_counter
from typing import Final

from app.adapters.clock import SystemClock
from app.adapters.store.database import make_engine
from app.adapters.store.ledger import SqlLedger
from app.adapters.store.schema import migrate
from app.adapters.store.writer import GroupWriter
from app.core.agents.agent import AgentId
from app.core.budgets.budgets import Budget, Scope, Started, Window, accounts
from app.core.budgets.ledger import Reserved
from app.core.money import nanousd
from bench import databases, disk

AT_ONCE: Final = (1, 50)
"""Agents that use the ledger at the same time; each waits for its own answers."""
SECONDS: Final = 2.0
ROUNDS: Final = 3
AIM_PER_SECOND: Final = 500

BUDGETS: Final = (
    Budget(Scope.INSTALLATION, Window.MONTH, nanousd(1_000_000)),
    Budget(Scope.ROLE, Window.DAY, nanousd(1_000_000)),
    Budget(Scope.USER, Window.DAY, nanousd(1_000_000)),
)


def main() -> None:
    """Print the figures: of the rounds, the best; the machine may have other work."""
    print(
        f"ledger: reserve from {len(BUDGETS)} budgets, report, release; best of {ROUNDS} rounds of"
        f" {SECONDS:g} s; aim: {AIM_PER_SECOND} such pairs a second on SQLite"
    )
    print(f"  {disk.floor()}")
    for kind in databases.KINDS:
        with databases.empty(kind) as address:
            asyncio.run(_measure(kind, address))


async def _measure(kind: str, address: str) -> None:
    engine = make_engine(address)
    migrate(engine)
    writer = GroupWriter(engine)
    try:
        ledger, issue = SqlLedger(engine, writer), 0
        for agents in AT_ONCE:
            rounds = []
            for _ in range(ROUNDS):
                begin = perf_counter()
                done = await asyncio.gather(
                    *(
                        _agent(ledger, issue + number, begin + SECONDS)
                        for number in range(1, agents + 1)
                    )
                )
                issue += agents
                rounds.append(sum(done) / (perf_counter() - begin))
            each = ", ".join(f"{rate:,.0f}" for rate in rounds)
            print(f"  {kind}, {agents} at once: {max(rounds):,.0f} pairs/s (rounds: {each})")
    finally:
        writer.close()
        engine.dispose()


async def _agent(ledger: SqlLedger, issue: int, until: float) -> int:
    """Start again and again; how often."""
    clock, attempt = SystemClock(), 0
    while perf_counter() < until:
        attempt += 1
        at = clock.now()
        agent = AgentId("octo/demo", issue, "bug-fix", attempt)
        wanted = accounts(BUDGETS, Started("octo/demo", issue, "bug-fix", "mona"), at)
        answer = await ledger.reserve(agent, wanted, nanousd(1), at)
        assert isinstance(answer, Reserved), answer
        spent = await ledger.report(agent, nanousd(0.25), at)
        assert spent is not None
        assert await ledger.release(agent) == nanousd(0.75)
    return attempt


if __name__ == "__main__":
    main()
