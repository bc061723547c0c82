"""The service's books, read beside it: who holds money, and what `squadron costs` says."""

import asyncio
import json
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

import sqlalchemy as sa
from typer.testing import CliRunner

from app.adapters.store.database import make_engine
from app.adapters.store.ledger import SqlLedger
from app.adapters.store.store import SqlStore
from app.adapters.store.tables import ACCOUNTS, HITS, HITTERS
from app.adapters.store.writer import GroupWriter
from app.cli.main import app
from app.core.agents.agent import Agent, AgentId
from app.core.agents.events import AgentEvent
from app.core.agents.lifecycle import Signal
from app.core.budgets.budgets import Account, Budget, Started, accounts, window_start
from app.core.budgets.ledger import Balance, Reserved
from app.core.budgets.rates import HOUR
from app.ports import WaitingStart
from app.scripted.script import Answer
from app.scripted.usage import input_tokens, output_tokens
from tests.support.moves import move
from tests.support.people import Task
from tests.support.squad import Squad

MOMENT = timedelta(microseconds=1)


class Books:
    """The ledger of a service that has started there."""

    def __init__(self, database_url: str) -> None:
        self.url = database_url
        self._engine = make_engine(database_url)
        self._writer = GroupWriter(self._engine)
        self._ledger = SqlLedger(self._engine, self._writer)

    def close(self) -> None:
        """Hang up."""
        self._writer.close()
        self._engine.dispose()

    def balance(self, budget: Budget, started: Started, agent: Agent) -> Balance:
        """What became of the account that counts a start, in the window in which it was made."""
        [account] = accounts([budget], started, agent.created_at)
        return self.balance_of(account)

    def balance_of(self, account: Account) -> Balance:
        """What became of an account's money."""
        return asyncio.run(self._ledger.balance(account))

    def open_reservations(self) -> Sequence[AgentId]:
        """Who holds money."""
        return asyncio.run(self._ledger.open_reservations())

    def spend_all(self, account: Account, agent: AgentId) -> None:
        """Leave nothing in an account: an agent of whom nobody else knows has spent it."""
        self.spend(account, agent, account.max_nanousd)

    def spend(self, account: Account, agent: AgentId, amount_nanousd: int) -> None:
        """The same of a part of it."""
        at = account.since or datetime.now(UTC)

        async def spend() -> None:
            held = await self._ledger.reserve(agent, (account,), amount_nanousd, at)
            assert isinstance(held, Reserved)
            await self._ledger.report(agent, amount_nanousd, at)
            await self._ledger.release(agent)

        asyncio.run(spend())

    def renew(self, account: Account) -> None:
        """The account's window is over: what was spent in it was spent in the one before."""
        assert account.since is not None, "a total never renews"
        before = replace(account, since=window_start(account.window, account.since - MOMENT))
        with self._engine.begin() as connection:
            done = connection.execute(
                sa.update(ACCOUNTS)
                .where(ACCOUNTS.c.id == account.id)
                .values(id=before.id, since=before.since)
            )
        assert done.rowcount == 1, f"nothing was ever spent under {account.id}"

    def let_an_hour_pass(self, who: str) -> None:
        """Whatever was counted for somebody was counted an hour earlier."""
        with self._engine.begin() as connection:
            counted = sa.select(HITS.c.number, HITS.c.at).where(HITS.c.login == who)
            rows = connection.execute(counted).all()
            assert rows, f"nothing was ever counted for {who}"
            for row in rows:
                is_it = (HITS.c.login == who) & (HITS.c.number == row.number)
                connection.execute(sa.update(HITS).where(is_it).values(at=row.at - HOUR))
            told = sa.select(HITTERS.c.told_at).where(HITTERS.c.login == who)
            if (told_at := connection.scalar(told)) is not None:
                is_it = HITTERS.c.login == who
                connection.execute(sa.update(HITTERS).where(is_it).values(told_at=told_at - HOUR))

    def wait(self, start: WaitingStart) -> None:
        """A start that a service has put off."""
        store = SqlStore(self._engine, self._writer, _refuse)
        assert asyncio.run(store.put_off_start(start))

    def waiting(self) -> Sequence[WaitingStart]:
        """Starts that are put off."""
        store = SqlStore(self._engine, self._writer, _refuse)
        return asyncio.run(store.waiting_starts(datetime.now(UTC)))

    def end_untold(self, agent: AgentId, events: Sequence[AgentEvent]) -> None:
        """Cancel an agent as a process does that dies before it can tell the ledger."""

        async def end() -> None:
            store = SqlStore(self._engine, self._writer, _refuse)
            present = await store.agent(agent)
            assert present is not None
            assert await move(store, present, Signal.ABANDONED, events)

        asyncio.run(end())

    def costs(self, *options: str) -> str:
        """What `squadron costs` prints."""
        environment = {"SQUADRON_DATABASE_URL": self.url, "COLUMNS": "150"}
        done = CliRunner().invoke(app, ["costs", *options], env=environment)
        assert done.exit_code == 0, done.output
        return done.stdout

    def costs_by(self, what: str) -> dict[str, Any]:
        """The rows of `squadron costs --json`, by their keys."""
        shown = json.loads(self.costs("--by", what, "--json"))
        assert shown["by"] == what
        return {row["key"]: row for row in shown["costs"]}


def _refuse(*_: object) -> None:
    raise AssertionError("nothing follows from it")


@contextmanager
def open_books(team: Squad, database_url: str | None) -> Iterator[Books]:
    """`database_url`: None for SQLite in the data directory."""
    books = Books(database_url or f"sqlite:///{team.directory / 'data' / 'squadron.sqlite'}")
    try:
        yield books
    finally:
        books.close()


def billed(team: Squad, task: Task, *answers: Answer) -> list[tuple[str, int, int]]:
    """What the model's server bills for each request of a story, in order: the model, and the
    tokens in and out. `answers`: all that it said, as it said it."""
    requests = team.prompts(task)
    assert len(requests) == len(answers), [one.conversation.messages[-1] for one in requests]
    return [
        (str(request.body["model"]), input_tokens(request.conversation), output_tokens(answer))
        for request, answer in zip(requests, answers, strict=True)
    ]
