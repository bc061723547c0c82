"""Money and rates: what may still be spent, by whom, and who asks too often."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final, Protocol

from app.core.agents.agent import AgentId
from app.core.budgets.budgets import Account
from app.core.budgets.ledger import Balance, Holding, Insufficient, Reserved, Spent
from app.core.budgets.rates import HOUR, Allowed, Refused
from app.core.money import CostsBy
from app.ports.logs import SpentUntil

FORGOTTEN_AFTER: Final = timedelta(days=62)
"""A budget of which nobody has used anything for so long is not listed any more."""


@dataclass(frozen=True, slots=True)
class Funding:
    """What an agent asks for before it may start."""

    amount_nanousd: int
    accounts: tuple[Account, ...]
    """What counts it besides its parent's grant."""


@dataclass(frozen=True, slots=True)
class Cost:
    """What one issue, role, user, … has cost."""

    key: str
    """`octo/demo#12`, `bug-fix`, `ada`, …"""
    nanousd: int
    """Of the calls whose price is known."""
    unknown_calls: int
    """Model calls whose price nobody knows."""
    estimated_calls: int
    """Model calls of which nobody reported what they used."""
    input_tokens: int
    output_tokens: int
    agents: int


class Ledger(Protocol):
    """Who holds how much money. Amounts are whole nano-USD; each method is one transaction.

    The arithmetic is that of `core/budgets/ledger.py`; over-commit is impossible whatever runs at
    once.
    All methods raise `StoreUnavailable` when the database does not answer within its bound.
    """

    async def reserve(
        self, agent: AgentId, accounts: Sequence[Account], amount_nanousd: int, at: datetime
    ) -> Reserved | Insufficient:
        """Grant the agent `amount_nanousd` in all, from every account or from none.

        A repeat grants nothing more, and a larger amount is a raise. What the agent holds stays
        with the budgets it came from, in their window of `at`; after a `release` the grant, less
        what was spent before, comes from `accounts`.
        """
        ...

    async def reserve_child(
        self,
        child: AgentId,
        parent: AgentId,
        amount_nanousd: int,
        at: datetime,
        accounts: Sequence[Account] = (),
    ) -> Reserved | Insufficient:
        """As `reserve`, out of what the parent has left; `accounts` that count the parent already
        are not charged twice."""
        ...

    async def report(self, agent: AgentId, actual_nanousd: int, at: datetime) -> Spent | None:
        """The agent itself, children aside, has spent so much in all since it was created.

        Counted in its accounts and for its parents, covered by the grant or not: each model call
        in the window that it was made in, and what no call in the log explains in that of `at`.
        A total that was told before, or less, changes nothing. None: nothing was ever granted to
        it.
        """
        ...

    async def release(self, agent: AgentId) -> int:
        """Free what the agent holds and has not spent; how much. A repeat frees nothing."""
        ...

    async def remaining(self, agent: AgentId) -> int:
        """What the agent may still spend; 0 when it holds nothing."""
        ...

    async def balance(self, account: Account) -> Balance:
        """What became of an account's money, by the maximum that `account` names."""
        ...

    async def balances(self, at: datetime) -> Sequence[Balance]:
        """What is left of all budgets at `at`, by key and window: each account of the present
        window, and one for each budget of which nothing was used in that window yet. Budgets of
        which nothing was used for `FORGOTTEN_AFTER` are left out."""
        ...

    async def holding(self, agent: AgentId) -> Holding | None:
        """What an agent was granted, and what became of it; None: nothing was ever granted."""
        ...

    async def holdings(self) -> Sequence[Holding]:
        """The same of all who hold money, in the order of their ids."""
        ...

    async def open_reservations(self) -> Sequence[AgentId]:
        """Agents that hold money, for reconciliation: those among them that are final, or unknown
        to the registry, are to be released."""
        ...

    async def costs(
        self, by: CostsBy, since: datetime | None = None, until: datetime | None = None
    ) -> Sequence[Cost]:
        """What model calls from `since` up to `until`, itself excluded, have cost; dearest first,
        of days the last first.

        An agent's calls are its own, never its parent's: the sum over all keys is the whole.
        """
        ...

    async def merged(
        self, by: CostsBy, since: datetime | None = None, until: datetime | None = None
    ) -> Mapping[str, int]:
        """How many pull requests of agents were merged from `since` up to `until`, itself excluded,
        by the key of their cost. By model: none, for an agent may call several."""
        ...

    async def spent_in_time(self, agent: AgentId, points: int) -> Sequence[SpentUntil]:
        """What an agent's own model calls had cost after some of them, in order: at most so many,
        with the last of all."""
        ...


class Rates(Protocol):
    """Bounds on how often each user may do something, across all processes."""

    async def hit(
        self,
        user: str,
        most: int,
        at: datetime,
        what: str | None = None,
        window: timedelta = HOUR,
    ) -> Allowed | Refused:
        """Count one hit of `user`, whose name ignores case; the one after `most` in the window
        before `at` is refused. `what`: a name by which it counts once in a window, however often it
        is told.
        """
        ...
