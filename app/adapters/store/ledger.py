"""`ports.Ledger` on a database: lock pages and accounts, let `core/budgets/ledger.py` judge, write.

All that waits for the ledger shares a transaction (`writer.py`). It locks everything it needs
before it judges anything, pages before accounts and each in the order of their ids, so two
processes never wait for each other. On SQLite the transaction itself is the lock.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final

import sqlalchemy as sa
from pydantic import TypeAdapter

from app.adapters.store import costs
from app.adapters.store.dialects import insert, upsert
from app.adapters.store.reading import read
from app.adapters.store.tables import ACCOUNTS, HOLDINGS
from app.adapters.store.writer import GroupWriter
from app.core.agents.agent import AgentId
from app.core.budgets.budgets import Account, Window
from app.core.budgets.ledger import Balance, Book, Holding, Insufficient, Reserved, Spent
from app.ports import Cost, CostsBy, StoreUnavailable

MOST_LEVELS: Final = 100
"""Of agents above an agent; far more than any `max_depth` allows."""

_IDS: Final = TypeAdapter(tuple[str, ...])


class SqlLedger:
    """Implements `ports.Ledger` on SQLite and PostgreSQL."""

    def __init__(self, engine: sa.Engine, writer: GroupWriter) -> None:
        self._engine = engine
        self._writer = writer

    async def reserve(
        self, agent: AgentId, accounts: Sequence[Account], amount_nanousd: int, at: datetime
    ) -> Reserved | Insufficient:
        """Grant the agent `amount_nanousd` in all, from every account or from none."""
        return await self._reserve(agent, None, accounts, amount_nanousd, at)

    async def reserve_child(
        self,
        child: AgentId,
        parent: AgentId,
        amount_nanousd: int,
        at: datetime,
        accounts: Sequence[Account] = (),
    ) -> Reserved | Insufficient:
        """As `reserve`, out of what the parent has left."""
        return await self._reserve(child, str(parent), accounts, amount_nanousd, at)

    async def report(self, agent: AgentId, actual_nanousd: int) -> Spent | None:
        """The agent itself has spent so much in all; None: nothing was ever granted to it."""
        name = str(agent)
        entry = Entry(lambda _, book: book.spend(name, actual_nanousd), (name,))
        answer: Spent | None = await self._writer.run_batched(settle, entry)
        return answer

    async def release(self, agent: AgentId) -> int:
        """Free what the agent holds and has not spent; how much."""
        name = str(agent)
        entry = Entry(lambda _, book: book.release(name), (name,))
        freed: int = await self._writer.run_batched(settle, entry)
        return freed

    async def remaining(self, agent: AgentId) -> int:
        """What the agent may still spend; 0 when it holds nothing."""
        pages = await read(self._engine, lambda connection: _pages(connection, [str(agent)]))
        return sum(page.left_nanousd for page in pages)

    async def balance(self, account: Account) -> Balance:
        """What became of an account's money."""
        found = await read(self._engine, lambda connection: _balances(connection, [account.id]))
        known = found[0] if found else Balance(account)
        return Balance(account, known.actual_nanousd, known.held_nanousd)

    async def open_reservations(self) -> Sequence[AgentId]:
        """Agents that hold money."""
        query = (
            sa.select(HOLDINGS.c.agent_id)
            .where(HOLDINGS.c.open_since.is_not(None))
            .order_by(HOLDINGS.c.agent_id)
        )
        names = await read(self._engine, lambda connection: connection.scalars(query).all())
        return [AgentId.parse(name) for name in names]

    async def costs(
        self, by: CostsBy, since: datetime | None = None, until: datetime | None = None
    ) -> Sequence[Cost]:
        """What model calls from `since` up to `until`, itself excluded, have cost."""
        return await read(
            self._engine, lambda connection: costs.costs(connection, by, since, until)
        )

    async def _reserve(
        self,
        agent: AgentId,
        parent: str | None,
        accounts: Sequence[Account],
        amount_nanousd: int,
        at: datetime,
    ) -> Reserved | Insufficient:
        name = str(agent)
        entry = Entry(
            lambda _, book: book.reserve(name, parent, accounts, amount_nanousd, at),
            (name,) if parent is None else (name, parent),
            new=name,
            accounts=accounts,
        )
        answer: Reserved | Insufficient = await self._writer.run_batched(settle, entry)
        return answer


@dataclass(frozen=True, slots=True)
class Entry:
    """One change of the ledger, and what has to be locked for it."""

    change: Callable[[sa.Connection, Book], Any]
    agents: Sequence[str]
    """Whose pages it reads; those of their parents come with them."""
    new: str | None = None
    """Which of them may have no page yet."""
    accounts: Sequence[Account] = ()
    """Those of the pages come with them."""


def settle(connection: sa.Connection, entries: Sequence[Entry]) -> Sequence[Any]:
    """Make all changes, each after the one before it, and write what they changed."""
    pages = _lock_pages(connection, entries)
    balances = _lock_accounts(connection, entries, pages.values())
    book = Book(pages.values(), balances.values())
    answers = [entry.change(connection, book) for entry in entries]
    changed_pages = [
        _page_row(page) for page in book.holdings.values() if pages.get(page.agent) != page
    ]
    changed_balances = [
        _balance_row(balance)
        for name, balance in book.balances.items()
        if balances.get(name) != balance
    ]
    if changed_pages:
        connection.execute(upsert(connection.dialect.name, HOLDINGS), changed_pages)
    if changed_balances:
        connection.execute(upsert(connection.dialect.name, ACCOUNTS), changed_balances)
    return answers


def _lock_pages(connection: sa.Connection, entries: Sequence[Entry]) -> Mapping[str, Holding]:
    """The pages of all agents of `entries`, and of all above them."""
    names = {name for entry in entries for name in entry.agents}
    pages = _with_parents(connection, names)
    if not _locks_rows(connection):
        return pages
    new = sorted({entry.new for entry in entries if entry.new is not None} - pages.keys())
    if new:  # a row to lock, or two processes could both make the first grant
        connection.execute(
            insert(connection, HOLDINGS).on_conflict_do_nothing(),
            [_page_row(Holding(name)) for name in new],
        )
    wanted = names | pages.keys()
    for _ in range(MOST_LEVELS):
        pages = {page.agent: page for page in _pages(connection, sorted(wanted), locked=True)}
        parents = {page.parent for page in pages.values() if page.parent is not None}
        if parents <= wanted:
            return pages
        wanted |= parents  # another process made a page since we looked for parents
    raise _too_many_levels()


def _with_parents(connection: sa.Connection, names: Iterable[str]) -> Mapping[str, Holding]:
    """The pages of `names`, and of all above them, as they are now."""
    found: dict[str, Holding] = {}
    wanted = set(names)
    for _ in range(MOST_LEVELS):
        found |= {page.agent: page for page in _pages(connection, sorted(wanted))}
        wanted = {page.parent for page in found.values() if page.parent is not None} - found.keys()
        if not wanted:
            return found
    raise _too_many_levels()


def _too_many_levels() -> StoreUnavailable:
    return StoreUnavailable(f"the ledger knows more than {MOST_LEVELS} agents above one agent")


def _lock_accounts(
    connection: sa.Connection, entries: Sequence[Entry], pages: Iterable[Holding]
) -> Mapping[str, Balance]:
    """The accounts of all `entries` and `pages`."""
    given = {account.id: account for entry in entries for account in entry.accounts}
    wanted = {*given, *(each for page in pages for each in page.accounts)}
    if not wanted:
        return {}
    locks_rows = _locks_rows(connection)
    if given and locks_rows:
        connection.execute(
            insert(connection, ACCOUNTS).on_conflict_do_nothing(),
            [_balance_row(Balance(account)) for _, account in sorted(given.items())],
        )
    found = _balances(connection, sorted(wanted), locked=locks_rows)
    return {balance.account.id: balance for balance in found}


def _locks_rows(connection: sa.Connection) -> bool:
    """SQLite's transaction is alone from its beginning: what it has read stays so."""
    return connection.dialect.name != "sqlite"


_NAMES: Final[sa.BindParameter[Any]] = sa.bindparam("names", expanding=True)
_PAGES: Final = (
    sa.select(HOLDINGS).where(HOLDINGS.c.agent_id.in_(_NAMES)).order_by(HOLDINGS.c.agent_id)
)
_LOCKED_PAGES: Final = _PAGES.with_for_update()
_BALANCES: Final = sa.select(ACCOUNTS).where(ACCOUNTS.c.id.in_(_NAMES)).order_by(ACCOUNTS.c.id)
_LOCKED_BALANCES: Final = _BALANCES.with_for_update()


def _pages(
    connection: sa.Connection, names: Sequence[str], *, locked: bool = False
) -> Sequence[Holding]:
    rows = connection.execute(_LOCKED_PAGES if locked else _PAGES, {"names": names})
    return [
        Holding(
            agent=row.agent_id,
            parent=row.parent,
            accounts=_IDS.validate_json(row.accounts),
            granted_nanousd=row.granted_nanousd,
            open_since=row.open_since,
            own_nanousd=row.own_nanousd,
            children_actual_nanousd=row.children_actual_nanousd,
            children_held_nanousd=row.children_held_nanousd,
        )
        for row in rows
    ]


def _page_row(page: Holding) -> Mapping[str, object]:
    return {
        "agent_id": page.agent,
        "parent": page.parent,
        "accounts": _IDS.dump_json(page.accounts).decode(),
        "granted_nanousd": page.granted_nanousd,
        "open_since": page.open_since,
        "own_nanousd": page.own_nanousd,
        "children_actual_nanousd": page.children_actual_nanousd,
        "children_held_nanousd": page.children_held_nanousd,
    }


def _balances(
    connection: sa.Connection, ids: Sequence[str], *, locked: bool = False
) -> Sequence[Balance]:
    rows = connection.execute(_LOCKED_BALANCES if locked else _BALANCES, {"names": ids})
    return [
        Balance(
            Account(row.key, Window(row.time_window), row.since, row.max_nanousd),
            row.actual_nanousd,
            row.held_nanousd,
        )
        for row in rows
    ]


def _balance_row(balance: Balance) -> Mapping[str, object]:
    account = balance.account
    return {
        "id": account.id,
        "key": account.key,
        "time_window": account.window.value,
        "since": account.since,
        "max_nanousd": account.max_nanousd,
        "actual_nanousd": balance.actual_nanousd,
        "held_nanousd": balance.held_nanousd,
    }
