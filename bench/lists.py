"""Lists of agents: a page of them, by how many there are."""

import asyncio
from contextlib import closing
from time import perf_counter
from typing import Final

import sqlalchemy as sa

from app.adapters.clock import SystemClock
from app.adapters.store.database import make_engine
from app.adapters.store.schema import migrate
from app.adapters.store.store import SqlStore
from app.adapters.store.writer import GroupWriter
from app.core.agents.agent import AgentId
from app.ports import FleetFilter
from bench import databases, fleet

THERE: Final = (100, 1_000, 10_000)
ON_A_PAGE: Final = 50
ROUNDS: Final = 20
AIM: Final = 2.0


def main() -> None:
    """Print the figures: of the rounds, the best; the machine may have other work."""
    print(
        f"lists: a page of {ON_A_PAGE} of so many agents that were stopped, from the middle on;"
        f" best of {ROUNDS}; aim: of the most agents within {AIM:g} times that of the fewest"
    )
    for kind in databases.KINDS:
        with databases.empty(kind) as address:
            engine = make_engine(address)
            migrate(engine)
            with closing(GroupWriter(engine)) as writer:
                asyncio.run(_measure(kind, engine, SqlStore(engine, writer, fleet.enqueue_nothing)))
            engine.dispose()


async def _measure(kind: str, engine: sa.Engine, store: SqlStore) -> None:
    now = SystemClock().now()
    await fleet.first(engine, store, now)
    took = dict[int, float]()
    for before, there in zip((1, *THERE), THERE, strict=False):
        fleet.more(engine, before, there, now)
        middle = AgentId(fleet.REPOSITORY, there // 2, fleet.ROLE, 1)
        took[there] = await _best(store, FleetFilter(), middle)
        needing = await _best(store, FleetFilter(may_need_person=True), middle)
        print(
            f"  {kind}, {there:>6} agents: {took[there] * 1e3:5.1f} ms; of those that may need a"
            f" person {needing * 1e3:5.1f} ms"
        )
    print(f"  {kind}: {took[THERE[-1]] / took[THERE[0]]:.2f} times")


async def _best(store: SqlStore, wanted: FleetFilter, after: AgentId) -> float:
    best = float("inf")
    for _ in range(ROUNDS):
        began = perf_counter()
        page = await store.fleet(wanted, after=after, most=ON_A_PAGE)
        best = min(best, perf_counter() - began)
        assert page, "there are some behind it"
    return best
