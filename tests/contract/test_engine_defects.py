"""What other versions of the engine did wrong, tried with the one that is pinned.

dbos-inc/dbos-transact-py#761: "database is locked" where work is looked up, and the work has failed
for good. #541: two processes that take work from one SQLite file do some of it twice. (#716, a
PostgreSQL that starts anew while work is taken over: `tests/crash/test_postgres_restart.py`.)
"""

import asyncio
import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager
from datetime import UTC, datetime
from pathlib import Path

import pytest
import sqlalchemy as sa

from app.adapters.engine import SingleProcess
from app.adapters.engine.membership import AlreadyRunning
from app.adapters.store import database
from app.adapters.store.tables import WORKERS
from tests.contract.engine_bench import DurableBench, work

WORKS = 12
LOCKED_SECONDS = 4.0
"""Longer than a statement waits."""


@pytest.fixture
def bench(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[DurableBench]:
    monkeypatch.setattr(database, "MOST_LOCK_WAIT_SECONDS", 1)
    here = DurableBench(tmp_path)
    yield here
    here.close()


@contextmanager
def locked(bench: DurableBench) -> Iterator[None]:
    """Somebody else writes into the database, and takes long."""
    file = str(bench.database.url.database)
    with closing(sqlite3.connect(file, timeout=30, isolation_level=None)) as other:
        other.execute("BEGIN IMMEDIATE")
        yield
        other.execute("COMMIT")


def all_done(bench: DurableBench) -> bool:
    return not any(bench.run(bench.engine.is_pending(work(f"{n}").id)) for n in range(WORKS))


def test_a_locked_database_ends_no_work_and_loses_none(bench: DurableBench) -> None:
    """While it is looked up, while it runs, and while its end is noted; what the engine could not
    note, the sweep finds."""

    async def takes_a_while() -> None:
        await asyncio.sleep(1)

    for n in range(WORKS):
        bench.desk.doing[f"{n}"] = takes_a_while
        bench.run(bench.engine.enqueue(work(f"{n}")))
    bench.until(lambda: bench.desk.begun)
    with locked(bench):
        bench.run(asyncio.sleep(LOCKED_SECONDS))

    def is_over() -> bool:
        bench.run(bench.engine.sweep())
        return all_done(bench)

    bench.until(is_over)
    assert {f"{n}" for n in range(WORKS)} <= {*bench.desk.ended}


def test_of_a_process_that_was_killed_nothing_stays(bench: DurableBench) -> None:
    """On SQLite whoever starts is alone."""
    with bench.database.begin() as connection:
        row = {"name": "killed", "version": "1", "places": 4}
        times = dict.fromkeys(("started_at", "beat_at", "settled_at"), datetime.now(UTC))
        connection.execute(sa.insert(WORKERS).values({**row, **times}))
    bench.crash()
    with bench.database.begin() as connection:
        names = connection.execute(sa.select(WORKERS.c.name)).scalars().all()
    assert names == [bench.engine.worker]


def test_a_second_process_with_the_same_sqlite_file_is_refused(tmp_path: Path) -> None:
    """Whatever its data directory, and by whatever name it goes to the file."""
    file, link = tmp_path / "squadron.sqlite", tmp_path / "link.sqlite"
    link.symlink_to(file)
    by_name, by_link, other = (
        database.make_engine(f"sqlite:///{each}")
        for each in (file, link, tmp_path / "other.sqlite")
    )
    first = SingleProcess(tmp_path / "one", by_name, "first")
    with pytest.raises(AlreadyRunning, match=r"uses .*link\.sqlite"):
        SingleProcess(tmp_path / "two", by_link, "second")
    first.leave()
    second = SingleProcess(tmp_path / "two", by_link, "second")
    with pytest.raises(AlreadyRunning, match="works in"):
        SingleProcess(tmp_path / "two", other, "third")
    second.leave()
