"""What agents have cost, whom that is put down to, and what came of it."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

from app.core.budgets.ledger import Balance
from app.core.money import CostsBy
from app.ports import Cost, Ledger


@dataclass(frozen=True, slots=True)
class Spending:
    """In a time."""

    by: CostsBy
    costs: Sequence[Cost]
    """By day the last day comes first, else the dearest."""
    merged: Mapping[str, int]
    """Pull requests of agents that were merged in that time, by the key of their cost."""
    all_merged: int
    without_price: Sequence[Cost]
    """Models of which calls had no price."""
    balances: Sequence[Balance]
    """What is left of budgets now."""

    @property
    def nanousd(self) -> int:
        """Of all calls whose price is known."""
        return sum(cost.nanousd for cost in self.costs)

    @property
    def unknown_calls(self) -> int:
        """Model calls whose price nobody knows."""
        return sum(cost.unknown_calls for cost in self.costs)


async def spending(
    ledger: Ledger, by: CostsBy, since: datetime | None, until: datetime | None, now: datetime
) -> Spending:
    """Of the time from `since` up to `until`, itself excluded. Raises `StoreUnavailable`."""
    models = await ledger.costs(CostsBy.MODEL, since, until)
    merged = await ledger.merged(by, since, until)
    return Spending(
        by,
        models if by is CostsBy.MODEL else await ledger.costs(by, since, until),
        merged,
        sum((await ledger.merged(CostsBy.REPOSITORY, since, until)).values()),
        [cost for cost in models if cost.unknown_calls],
        await ledger.balances(now),
    )
