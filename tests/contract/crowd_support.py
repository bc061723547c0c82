"""Further processes that use the ledger and count hits, each on a database connection of its own.

`python -m tests.contract.crowd_support WHAT URL NAME COUNT` connects, says "ready", waits for a
line on its standard input, asks for everything at once, and prints what became of it as JSON.
"""

import asyncio
import json
import sys
from collections import Counter
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import Final

import sqlalchemy as sa

from app.adapters.store.database import make_engine
from app.adapters.store.ledger import SqlLedger
from app.adapters.store.rates import SqlRates
from app.adapters.store.writer import GroupWriter
from app.core.agents.agent import AgentId
from app.core.budgets.budgets import Account, Window
from app.core.budgets.ledger import Reserved
from app.core.budgets.rates import Allowed, Refused

NOON: Final = datetime(2026, 5, 4, 12, tzinfo=UTC)
DAY: Final = datetime(2026, 5, 4, tzinfo=UTC)
AMOUNT: Final = 25
FITTING: Final = 40
"""Reservations of `AMOUNT` that fit into the account of a crowd."""
SHARED: Final = Account("role:feat-dev", Window.DAY, DAY, AMOUNT * FITTING)
ROOT: Final = AgentId("octo/demo", 1, "root", 1)
LIMIT: Final = 100
AT_ONCE: Final = 3
MOST_SECONDS: Final = 60


def others(name: str) -> tuple[Account, Account]:
    """Accounts that never run out, and order differently from one process to the next."""
    return (
        Account(f"user:{name}", Window.DAY, DAY, 10**9),
        Account("installation", Window.TOTAL, None, 10**9),
    )


async def reserve_all(ledger: SqlLedger, name: str, count: int) -> Counter[str]:
    """So many agents ask for `AMOUNT` of the shared account at once."""
    accounts = (SHARED, *others(name))
    answers = await asyncio.gather(
        *(
            ledger.reserve(
                AgentId(f"octo/{name}", issue, "feat-dev", 1),
                accounts if issue % 2 else accounts[::-1],
                AMOUNT,
                NOON,
            )
            for issue in range(1, count + 1)
        )
    )
    return Counter("granted" if isinstance(answer, Reserved) else "refused" for answer in answers)


async def spawn_all(ledger: SqlLedger, name: str, count: int) -> Counter[str]:
    """So many children ask for `AMOUNT` of what `ROOT` has left at once."""
    answers = await asyncio.gather(
        *(
            ledger.reserve_child(
                AgentId("octo/demo", 1, name, attempt), ROOT, AMOUNT, NOON, others(name)
            )
            for attempt in range(1, count + 1)
        )
    )
    return Counter("granted" if isinstance(answer, Reserved) else "refused" for answer in answers)


async def hit_all(rates: SqlRates, name: str, count: int, *, named: bool = False) -> Counter[str]:
    """One user does so much, a few at once, so that processes meet many times; `named`: each
    process hears of the same things."""
    found: Counter[str] = Counter()
    for first in range(0, count, AT_ONCE):
        several = range(first, min(first + AT_ONCE, count))
        hits = (
            rates.hit(name, LIMIT, NOON, f"word {number}" if named else None) for number in several
        )
        for answer in await asyncio.gather(*hits):
            found["granted" if isinstance(answer, Allowed) else "refused"] += 1
            found["first refused"] += isinstance(answer, Refused) and answer.first
    return found


async def crowd(engine: sa.Engine, asks: Sequence[tuple[str, str, int]]) -> Counter[str]:
    """Let one process for each of (what, name, count) ask; what became of all together."""
    url = engine.url.render_as_string(hide_password=False)
    processes = [
        await asyncio.create_subprocess_exec(
            sys.executable,
            "-m",
            "tests.contract.crowd_support",
            *(what, url, name, str(count)),
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
        )
        for what, name, count in asks
    ]
    found: Counter[str] = Counter()
    try:
        async with asyncio.timeout(MOST_SECONDS):
            for process in processes:
                assert process.stdout is not None
                assert await process.stdout.readline() == b"ready\n"
            for process, answer in zip(
                processes,
                await asyncio.gather(*(process.communicate(b"go\n") for process in processes)),
                strict=True,
            ):
                assert process.returncode == 0
                part: Mapping[str, int] = json.loads(answer[0])
                found.update(part)
    finally:
        for process in processes:
            if process.returncode is None:
                process.kill()
                await process.wait()
    return found


async def _ask(what: str, url: str, name: str, count: int) -> None:
    engine = make_engine(url)
    writer = GroupWriter(engine)
    try:
        with engine.connect():
            print("ready", flush=True)
        await asyncio.to_thread(sys.stdin.readline)
        if what in ("hits", "named"):
            found = await hit_all(SqlRates(writer), name, count, named=what == "named")
        elif what == "children":
            found = await spawn_all(SqlLedger(engine, writer), name, count)
        else:
            found = await reserve_all(SqlLedger(engine, writer), name, count)
        print(json.dumps(found))
    finally:
        writer.close()
        engine.dispose()


if __name__ == "__main__":
    asyncio.run(_ask(sys.argv[1], sys.argv[2], sys.argv[3], int(sys.argv[4])))
