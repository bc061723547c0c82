"""`ports.Ledger` on a database: lock pages and accounts, let `core/budgets/ledger.py` judge, write.

All that waits for the ledger shares a transaction (`writer.py`). It locks everything it needs
before it judges anything, pages before accounts and each in the order of their ids, so two
processes never wait for each other. On SQLite the transaction itself is the lock.

Whoever is the first to touch a budget in a new window locks all who hold money, too: what they
hold is counted in that window from then on.
"""

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final

import sqlalchemy as sa
from pydantic import TypeAdapter

from app.adapters.store import costs
from app.adapters.store.dialects import insert, upsert
from app.adapters.store.reading import read
from app.adapters.store.tables import ACCOUNTS, HOLDINGS, HOLDS, SPEND
from app.adapters.store.writer import GroupWriter
from app.core.agents.agent import AgentId
from app.core.budgets.budgets import Account, Window
from app.core.budgets.ledger import (
    Balance,
    Book,
    Holding,
    Insufficient,
    Reserved,
    Spending,
    Spent,
)
from app.core.money import CostsBy
from app.ports import FORGOTTEN_AFTER, Cost, SpentUntil, StoreUnavailable

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

    async def report(self, agent: AgentId, actual_nanousd: int, at: datetime) -> Spent | None:
        """The agent itself has spent so much in all; None: nothing was ever granted to it."""
        name = str(agent)
        entry = Entry(lambda _, book: book.spend(name, actual_nanousd, at), (name,), at)
        answer: Spent | None = await self._writer.run_batched(settle, entry)
        return answer

    async def release(self, agent: AgentId) -> int:
        """Free what the agent holds and has not spent; how much."""
        name = str(agent)
        entry = Entry(lambda _, book: book.release(name), (name,), None)
        freed: int = await self._writer.run_batched(settle, entry)
        return freed

    async def remaining(self, agent: AgentId) -> int:
        """What the agent may still spend; 0 when it holds nothing."""
        pages = await read(self._engine, lambda connection: read_pages(connection, [str(agent)]))
        return sum(page.left_nanousd for page in pages)

    async def balance(self, account: Account) -> Balance:
        """What became of an account's money."""
        return await read(self._engine, lambda connection: _balance(connection, account))

    async def balances(self, at: datetime) -> Sequence[Balance]:
        """What is left of all budgets, as far as they were used lately."""
        return await read(self._engine, lambda connection: _balances_at(connection, at))

    async def holding(self, agent: AgentId) -> Holding | None:
        """What an agent was granted, and what became of it."""
        pages = await read(self._engine, lambda connection: read_pages(connection, [str(agent)]))
        return next((page for page in pages if page != Holding(page.agent)), None)

    async def holdings(self) -> Sequence[Holding]:
        """The same of all who hold money."""

        def of_all(connection: sa.Connection) -> Sequence[Holding]:
            return read_pages(connection, connection.scalars(_OPEN).all())

        return await read(self._engine, of_all)

    async def open_reservations(self) -> Sequence[AgentId]:
        """Agents that hold money."""
        names = await read(self._engine, lambda connection: connection.scalars(_OPEN).all())
        return [AgentId.parse(name) for name in names]

    async def costs(
        self, by: CostsBy, since: datetime | None = None, until: datetime | None = None
    ) -> Sequence[Cost]:
        """What model calls from `since` up to `until`, itself excluded, have cost."""
        return await read(
            self._engine, lambda connection: costs.costs(connection, by, since, until)
        )

    async def merged(
        self, by: CostsBy, since: datetime | None = None, until: datetime | None = None
    ) -> Mapping[str, int]:
        """How many pull requests of agents were merged, by the key of their cost."""
        return await read(
            self._engine, lambda connection: costs.merged(connection, by, since, until)
        )

    async def spent_in_time(self, agent: AgentId, points: int) -> Sequence[SpentUntil]:
        """What an agent's own model calls had cost after some of them, in order."""
        return await read(self._engine, lambda connection: costs.in_time(connection, agent, points))

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
            at,
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
    at: datetime | None
    """When it is made; None: it is the same at any time."""
    new: str | None = None
    """Which of them may have no page yet."""
    accounts: Sequence[Account] = ()
    """Those of the pages come with them."""


def settle(connection: sa.Connection, entries: Sequence[Entry]) -> Sequence[Any]:
    """Make all changes, each after the one before it, and write what they changed."""
    names = {name for entry in entries for name in entry.agents}
    pages = _with_parents(connection, names)
    if _is_left_behind(connection, entries, pages.values()):
        names.update(connection.scalars(_OPEN))
        pages = _with_parents(connection, names)
    if _locks_rows(connection):
        new = {entry.new for entry in entries if entry.new is not None}
        pages = _locked_pages(connection, names | pages.keys(), new - pages.keys())
    turn = _turn_of(connection, entries, pages.values())
    balances = _lock_accounts(connection, entries, pages.values(), turn)
    book = Book(pages.values(), balances.values(), turn.spendings)
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


def _locked_pages(
    connection: sa.Connection, wanted: set[str], new: set[str]
) -> Mapping[str, Holding]:
    """The pages of `wanted`, of all above them, and empty ones of `new`."""
    if new:  # a row to lock, or two processes could both make the first grant
        connection.execute(
            insert(connection, HOLDINGS).on_conflict_do_nothing(),
            [_page_row(Holding(name)) for name in sorted(new)],
        )
    for _ in range(MOST_LEVELS):
        pages = {page.agent: page for page in read_pages(connection, sorted(wanted), locked=True)}
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
        found |= {page.agent: page for page in read_pages(connection, sorted(wanted))}
        wanted = {page.parent for page in found.values() if page.parent is not None} - found.keys()
        if not wanted:
            return found
    raise _too_many_levels()


def _too_many_levels() -> StoreUnavailable:
    return StoreUnavailable(f"the ledger knows more than {MOST_LEVELS} agents above one agent")


def _is_left_behind(
    connection: sa.Connection, entries: Sequence[Entry], pages: Iterable[Holding]
) -> bool:
    """Whether a window is over in which somebody holds money, of a budget that `entries` touch."""
    told_at = {entry.at for entry in entries if entry.at is not None}
    touched = [account for entry in entries for account in entry.accounts]
    touched += [one.in_window_of(at) for one in _counting(connection, pages) for at in told_at]
    if not touched:
        return False
    holding = connection.execute(_HOLDING, {"names": sorted({one.key for one in touched})})
    begun = {(one.key, one.window.value, one.since) for one in touched if one.since is not None}
    return any(
        (key, window) == (row.key, row.time_window) and row.since < since
        for row in holding
        for key, window, since in begun
    )


def _counting(connection: sa.Connection, pages: Iterable[Holding]) -> Sequence[Account]:
    """The accounts that count `pages`."""
    ids = sorted({each for page in pages for each in page.accounts})
    return [balance.account for balance in read_balances(connection, ids)] if ids else []


@dataclass(frozen=True, slots=True)
class _Turn:
    """The end of windows, for all whose pages are locked."""

    spendings: Sequence[Spending]
    """What was spent and not told."""
    begun: Mapping[str, Account]
    """Accounts of the windows in which something was spent since, or is held now; by id."""


def _turn_of(
    connection: sa.Connection, entries: Sequence[Entry], pages: Collection[Holding]
) -> _Turn:
    told_at = {entry.at for entry in entries if entry.at is not None}
    accounts = _counting(connection, pages)
    if not any(account.is_over(at) for account in accounts for at in told_at):
        return _Turn((), {})
    names = [page.agent for page in pages]
    spendings = [
        Spending(row.at, row.agent_id, int(row.own_nanousd))
        for row in connection.execute(_UNTOLD, {"names": names})
    ]
    instants = told_at | {spending.at for spending in spendings}
    begun = [account.in_window_of(at) for account in accounts for at in instants]
    return _Turn(spendings, {account.id: account for account in begun})


def _lock_accounts(
    connection: sa.Connection, entries: Sequence[Entry], pages: Iterable[Holding], turn: _Turn
) -> Mapping[str, Balance]:
    """The accounts of all `entries` and `pages`, and of the windows that begin."""
    given = {account.id: account for entry in entries for account in entry.accounts}
    given = {**turn.begun, **given}
    wanted = {*given, *(each for page in pages for each in page.accounts)}
    if not wanted:
        return {}
    locks_rows = _locks_rows(connection)
    if given and locks_rows:
        connection.execute(
            insert(connection, ACCOUNTS).on_conflict_do_nothing(),
            [_balance_row(Balance(account)) for _, account in sorted(given.items())],
        )
    found = read_balances(connection, sorted(wanted), locked=locks_rows)
    return {balance.account.id: balance for balance in found}


def _locks_rows(connection: sa.Connection) -> bool:
    """SQLite's transaction is alone from its beginning: what it has read stays so."""
    return connection.dialect.name != "sqlite"


_NAMES: Final[sa.BindParameter[Any]] = sa.bindparam("names", expanding=True)
_PAGES: Final = (
    sa.select(HOLDINGS).where(HOLDINGS.c.agent_id.in_(_NAMES)).order_by(HOLDINGS.c.agent_id)
)
_LOCKED_PAGES: Final = _PAGES.with_for_update()
_HOLDING: Final = sa.select(ACCOUNTS.c.key, ACCOUNTS.c.time_window, ACCOUNTS.c.since).where(
    HOLDS, ACCOUNTS.c.key.in_(_NAMES), ACCOUNTS.c.since.is_not(None)
)
_OPEN: Final = (
    sa.select(HOLDINGS.c.agent_id)
    .where(HOLDINGS.c.open_since.is_not(None))
    .order_by(HOLDINGS.c.agent_id)
)
_TOTALS: Final = (
    sa.select(
        SPEND.c.agent_id,
        SPEND.c.at,
        sa.func.sum(sa.func.coalesce(SPEND.c.nanousd, 0))
        .over(partition_by=SPEND.c.agent_id, order_by=SPEND.c.seq)
        .label("own_nanousd"),
    )
    .where(SPEND.c.agent_id.in_(_NAMES))
    .subquery()
)
_UNTOLD: Final = (
    sa.select(_TOTALS)
    .join(HOLDINGS, HOLDINGS.c.agent_id == _TOTALS.c.agent_id)
    .where(_TOTALS.c.own_nanousd > HOLDINGS.c.own_nanousd)
)
_BALANCES: Final = sa.select(ACCOUNTS).where(ACCOUNTS.c.id.in_(_NAMES)).order_by(ACCOUNTS.c.id)
_LOCKED_BALANCES: Final = _BALANCES.with_for_update()


def read_pages(
    connection: sa.Connection, names: Sequence[str], *, locked: bool = False
) -> Sequence[Holding]:
    """The pages of these agents; `locked`: for the rest of the transaction."""
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


def read_balances(
    connection: sa.Connection, ids: Sequence[str], *, locked: bool = False
) -> Sequence[Balance]:
    """These accounts; `locked`: for the rest of the transaction."""
    rows = connection.execute(_LOCKED_BALANCES if locked else _BALANCES, {"names": ids})
    return [
        Balance(
            Account(row.key, Window(row.time_window), row.since, row.max_nanousd),
            row.actual_nanousd,
            row.held_nanousd,
        )
        for row in rows
    ]


def _balance(connection: sa.Connection, account: Account) -> Balance:
    """With what is still held in a window before, which nobody has ended yet."""
    found = read_balances(connection, [account.id])
    known = found[0] if found else Balance(account)
    held = known.held_nanousd
    if account.since is not None:
        left_behind = (
            sa.select(sa.func.sum(ACCOUNTS.c.held_nanousd - ACCOUNTS.c.actual_nanousd))
            .where(HOLDS, ACCOUNTS.c.key == account.key)
            .where(ACCOUNTS.c.time_window == account.window.value)
            .where(ACCOUNTS.c.since < account.since)
        )
        held += int(connection.scalar(left_behind) or 0)
    return Balance(account, known.actual_nanousd, held)


def _balances_at(connection: sa.Connection, at: datetime) -> Sequence[Balance]:
    """Each budget once: of its newest window, which has to be used lately, or never ends."""
    query = sa.select(ACCOUNTS.c.id).where(
        ACCOUNTS.c.since.is_(None) | (ACCOUNTS.c.since > at - FORGOTTEN_AFTER) | HOLDS
    )
    newest: dict[tuple[str, Window], Account] = {}
    for balance in read_balances(connection, connection.scalars(query).all()):
        account = balance.account
        known = newest.get((account.key, account.window), account)
        is_newer = known.since is None or account.since is None or account.since > known.since
        newest[account.key, account.window] = account if is_newer else known
    windows = list(Window)
    present = [account.in_window_of(at) for account in newest.values()]
    present.sort(key=lambda account: (account.key, windows.index(account.window)))
    return [_balance(connection, account) for account in present]


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
