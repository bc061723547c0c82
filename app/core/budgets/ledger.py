"""The arithmetic of the ledger: who holds how much money, and what that leaves to everybody else.

Every amount is in nano-USD. An agent *holds* what it may still spend together with what it has
spent; an account, and a parent, can give away only what nobody holds:

    an open agent holds its grant, or what it and its children have taken if that is more
    a released agent holds what it has spent, and what its children hold
    left = grant - own spending - what the children hold        (of an agent, for itself or a child)
    left = maximum - what is held by its agents                 (of an account)

Spending is told as a total that only grows, so telling it twice changes nothing. Money that is
gone is counted even where the grant did not cover it: then the agent is overspent, and nothing is
given away until others have let go of enough.

When a window ends, what an agent has spent stays in it, and what the agent still holds is counted
in the next one: so a day's budget bounds what is spent on that day.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from datetime import datetime

from app.core.budgets.budgets import Account


@dataclass(frozen=True, slots=True)
class Holding:
    """One agent's page of the ledger."""

    agent: str
    parent: str | None = None
    """Out of whose grant this one was given; None: out of the accounts alone."""
    accounts: tuple[str, ...] = ()
    """Ids of the accounts that count it; those that count its parent do so through the parent."""
    granted_nanousd: int = 0
    open_since: datetime | None = None
    """When the present grant was made; None before the first one, and after the release."""
    own_nanousd: int = 0
    """What the agent has spent itself."""
    children_actual_nanousd: int = 0
    children_held_nanousd: int = 0

    @property
    def is_open(self) -> bool:
        """Whether the agent may still spend."""
        return self.open_since is not None

    @property
    def actual_nanousd(self) -> int:
        """What the agent and all below it have spent."""
        return self.own_nanousd + self.children_actual_nanousd

    @property
    def held_nanousd(self) -> int:
        """What nobody else may have."""
        return max(self.granted_nanousd, self._taken) if self.is_open else self._taken

    @property
    def unspent_nanousd(self) -> int:
        """What the agent and all below it hold and have not spent."""
        return self.held_nanousd - self.actual_nanousd

    @property
    def left_nanousd(self) -> int:
        """What the agent may still spend, or give to a child."""
        return max(0, self.granted_nanousd - self._taken) if self.is_open else 0

    @property
    def overspent_nanousd(self) -> int:
        """How far the agent, and what its children hold, went beyond the grant."""
        return max(0, self._taken - self.granted_nanousd)

    @property
    def _taken(self) -> int:
        return self.own_nanousd + self.children_held_nanousd


@dataclass(frozen=True, slots=True)
class Balance:
    """An account, and what became of its money."""

    account: Account
    actual_nanousd: int = 0
    held_nanousd: int = 0

    @property
    def unspent_nanousd(self) -> int:
        """What agents hold of it and have not spent."""
        return self.held_nanousd - self.actual_nanousd

    @property
    def left_nanousd(self) -> int:
        """What can be given to further agents."""
        return max(0, self.account.max_nanousd - self.held_nanousd)


@dataclass(frozen=True, slots=True)
class Spending:
    """What an agent itself had spent in all after one of its model calls."""

    at: datetime
    agent: str
    own_nanousd: int


@dataclass(frozen=True, slots=True)
class Reserved:
    """The agent has its grant."""

    granted_nanousd: int
    left_nanousd: int


@dataclass(frozen=True, slots=True)
class Insufficient:
    """Nothing was reserved: there is not enough left."""

    account: Account | None
    """What is too empty, of several the one that renews last; None: the parent's grant."""
    left_nanousd: int
    asked_nanousd: int
    """What was asked for beyond what the agent holds already."""


@dataclass(frozen=True, slots=True)
class Spent:
    """An agent's spending, after it was told."""

    actual_nanousd: int
    """The agent's own and its children's."""
    left_nanousd: int
    overspent_nanousd: int
    """More than 0: the grant did not cover it, which somebody should be told."""
    balances: tuple[Balance, ...]
    """Of every account that counts the agent, its parents' included."""


class Book:
    """The pages and accounts that a transaction has read and locked.

    It needs the page of each agent it is asked about, of that agent's parents, and the accounts
    of all of them; and for a grant in a new window the pages of all who still hold something in
    the window before.
    """

    def __init__(
        self,
        holdings: Iterable[Holding],
        balances: Iterable[Balance],
        spendings: Iterable[Spending] = (),
    ) -> None:
        """`spendings`: what agents have spent and nobody has told yet, where a window has ended
        since; each counts in the window that it was spent in."""
        self.holdings = {holding.agent: holding for holding in holdings}
        self.balances = {balance.account.id: balance for balance in balances}
        self._spendings = sorted(spendings, key=lambda spending: (spending.at, spending.agent))

    def reserve(
        self,
        agent: str,
        parent: str | None,
        accounts: Sequence[Account],
        amount_nanousd: int,
        at: datetime,
    ) -> Reserved | Insufficient:
        """Grant `amount_nanousd` in all, what was spent included, from all accounts or from none.

        A repeat grants nothing more; a larger amount is a raise. What an agent holds stays with
        the budgets it came from; one that holds nothing is counted by `accounts` from now on.
        Raises `ValueError` for a negative amount.
        """
        if amount_nanousd < 0:
            raise ValueError(f"{agent}: a grant cannot be negative: {amount_nanousd}")
        self._turn(at)
        for account in accounts:
            known = self.balances.get(account.id, Balance(account))
            self.balances[account.id] = replace(known, account=account)
        before = self.holdings.get(agent, Holding(agent))
        if before == Holding(agent):
            before = Holding(agent, parent)
        if before.is_open and amount_nanousd <= before.granted_nanousd:
            return Reserved(before.granted_nanousd, before.left_nanousd)
        after = replace(
            before,
            accounts=self._counting(before, accounts),
            granted_nanousd=amount_nanousd,
            open_since=before.open_since or at,
        )
        short = self._shortage(after, after.held_nanousd - before.held_nanousd)
        if short is not None:
            return short
        self._put(after)
        return Reserved(after.granted_nanousd, after.left_nanousd)

    def spend(self, agent: str, own_nanousd: int, at: datetime) -> Spent | None:
        """The agent itself has spent so much in all, the last of it at `at`; None if nothing was
        ever granted to it."""
        if self.holdings.get(agent, Holding(agent)) == Holding(agent):
            return None
        self._turn(at)
        self._spend(Spending(at, agent, own_nanousd))
        after = self.holdings[agent]
        return Spent(
            after.actual_nanousd,
            after.left_nanousd,
            after.overspent_nanousd,
            tuple(self.balances[each] for page in self._chain(after) for each in page.accounts),
        )

    def release(self, agent: str) -> int:
        """Let go of what is not spent; how much that is."""
        before = self.holdings.get(agent)
        if before is None:
            return 0
        after = replace(before, open_since=None)
        self._put(after)
        return before.held_nanousd - after.held_nanousd

    def _counting(self, before: Holding, accounts: Sequence[Account]) -> tuple[str, ...]:
        """The accounts of an agent that is granted something: none twice along its parents."""
        if before.held_nanousd != before.actual_nanousd:
            return before.accounts  # what it and its children hold is to be freed where it is held
        parent = self.holdings.get(before.parent or "")
        above = {each for page in self._chain(parent) for each in page.accounts}
        return tuple(account.id for account in accounts if account.id not in above)

    def _turn(self, at: datetime) -> None:
        """End the windows that are over at `at`, each after what was spent in it is counted."""
        for spending in self._spendings:
            if spending.at <= at:
                self._let_windows_end(spending.at)
                self._spend(spending)
        self._let_windows_end(at)

    def _let_windows_end(self, at: datetime) -> None:
        for page in list(self.holdings.values()):
            if page.is_open or page.unspent_nanousd:
                self._move_on(page, at)

    def _spend(self, spending: Spending) -> None:
        page = self.holdings[spending.agent]
        if spending.own_nanousd <= page.own_nanousd:
            return
        for each in list(self._chain(page)):
            self._move_on(each, spending.at)
        self._put(
            replace(self.holdings[spending.agent], own_nanousd=spending.own_nanousd),
        )

    def _move_on(self, page: Holding, at: datetime) -> None:
        """Count what the page still holds in the windows of `at`; what it has spent stays."""
        accounts = []
        for each in page.accounts:
            ended = self.balances[each]
            account = ended.account.in_window_of(at)
            accounts.append(account.id)
            if account.id == each:
                continue
            begun = self.balances.get(account.id, Balance(account))
            held = page.unspent_nanousd
            self.balances[each] = replace(ended, held_nanousd=ended.held_nanousd - held)
            self.balances[account.id] = replace(begun, held_nanousd=begun.held_nanousd + held)
        if tuple(accounts) != page.accounts:
            self.holdings[page.agent] = replace(page, accounts=tuple(accounts))

    def _shortage(self, after: Holding, more_nanousd: int) -> Insufficient | None:
        """What has too little left."""
        if after.parent is not None:
            parent = self.holdings.get(after.parent, Holding(after.parent))
            if not parent.is_open or parent.left_nanousd < more_nanousd:
                return Insufficient(None, parent.left_nanousd, more_nanousd)
        empty = [
            self.balances[each]
            for each in after.accounts
            if self.balances[each].left_nanousd < more_nanousd
        ]
        if not empty:
            return None
        last = max(empty, key=lambda balance: _renewal(balance.account))
        return Insufficient(last.account, last.left_nanousd, more_nanousd)

    def _put(self, after: Holding) -> None:
        """Write a page, and what it changes in its accounts and for its parents."""
        before = self.holdings.get(after.agent, Holding(after.agent))
        held = after.held_nanousd - before.held_nanousd
        actual = after.actual_nanousd - before.actual_nanousd
        self.holdings[after.agent] = after
        for each in after.accounts:
            balance = self.balances[each]
            self.balances[each] = replace(
                balance,
                actual_nanousd=balance.actual_nanousd + actual,
                held_nanousd=balance.held_nanousd + held,
            )
        if after.parent is not None and (held or actual):
            parent = self.holdings[after.parent]
            self._put(
                replace(
                    parent,
                    children_actual_nanousd=parent.children_actual_nanousd + actual,
                    children_held_nanousd=parent.children_held_nanousd + held,
                )
            )

    def _chain(self, page: Holding | None) -> Iterable[Holding]:
        """A page, and those of its parents."""
        while page is not None:
            yield page
            page = self.holdings.get(page.parent or "")


def _renewal(account: Account) -> tuple[bool, datetime | None, str]:
    """Orders accounts by when they renew; those that never do come last."""
    return account.renews_at is None, account.renews_at, account.id
