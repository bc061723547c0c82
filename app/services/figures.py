"""What an operator's monitoring asks of the database, gathered for one look."""

from datetime import datetime, timedelta
from typing import Final

from app.core.history.precision import stops
from app.core.money import CostsBy
from app.ports import Figures, Ledger, Store

HOUR: Final = timedelta(hours=1)
JUDGED_FOR: Final = timedelta(days=30)
"""Stops of so many days are told with what people made of them."""


async def figures(store: Store, ledger: Ledger, at: datetime) -> Figures:
    """Raises `StoreUnavailable`."""
    return Figures(
        at=at,
        registry=await store.figures(),
        trips_last_hour=await trips_since(store, at - HOUR),
        spent_last_hour_nanousd=await spent_since(ledger, at - HOUR),
        balances=await ledger.balances(at),
        stops=stops(await store.stopped_since(at - JUDGED_FOR)),
        last_pass=await store.last_pass(),
    )


async def trips_since(store: Store, since: datetime) -> int:
    """How many agents were stopped for good, sub-agents among them."""
    changed = await store.agents(changed_since=since)
    return sum(agent.stop is not None and agent.stop.at >= since for agent in changed)


async def spent_since(ledger: Ledger, since: datetime) -> int:
    """Of calls whose price is known, in nano-USD."""
    costs = await ledger.costs(CostsBy.REPOSITORY, since)
    return sum(cost.nanousd for cost in costs)
