"""How a process comes by its work: it is called, and it looks by itself now and then."""

from collections.abc import Iterator
from pathlib import Path

import pytest
import sqlalchemy as sa

from app.adapters.engine import durable, pump
from app.adapters.engine.calls import call, hear_own
from app.adapters.store.database import make_engine
from app.ports import WorkKind
from tests.contract.engine_bench import QUEUES, DurableBench, work
from tests.contract.store_support import own_postgresql_database


@pytest.fixture
def database(tmp_path: Path) -> Iterator[sa.Engine]:
    made = make_engine(f"sqlite:///{tmp_path / 'some.sqlite'}")
    yield made
    made.dispose()


@pytest.fixture
def bench(tmp_path: Path) -> Iterator[DurableBench]:
    here = DurableBench(tmp_path)
    yield here
    here.close()


def test_a_process_hears_of_what_it_has_queued_when_that_is_committed(database: sa.Engine) -> None:
    heard: list[str] = []
    stop = hear_own(database, heard.append)
    with database.begin() as connection:
        call(connection, "segment")
        call(connection, "segment")
        call(connection, "publish")
        assert heard == []
    assert sorted(heard) == ["publish", "segment"]
    with database.begin() as connection:
        connection.execute(sa.text("SELECT 1"))
    assert len(heard) == 2, "of a transaction that queued nothing nobody hears"
    stop()
    with database.begin() as connection:
        call(connection, "segment")
    assert len(heard) == 2


def test_whoever_queues_elsewhere_calls_all_that_share_the_database(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(pump, "LOOK_SECONDS", 3_600.0)
    with own_postgresql_database() as url:
        bench = DurableBench(tmp_path, url)
        elsewhere = make_engine(url)
        with elsewhere.begin() as connection:
            bench.engine.enqueue_with(connection, work("from elsewhere"))
            bench.engine.enqueue_with(connection, work("and later", delay_seconds=1))
        bench.until(lambda: {"from elsewhere", "and later"} <= {*bench.desk.ended})
        elsewhere.dispose()
        bench.close()


def test_what_nobody_called_for_is_found_in_the_end(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(pump, "LOOK_SECONDS", 0.2)
    monkeypatch.setattr(durable, "call", lambda _connection, _queue: None)
    bench = DurableBench(tmp_path)
    bench.run(bench.engine.enqueue(work("unheard")))
    bench.run(bench.engine.enqueue(work("unheard, and later", delay_seconds=1)))
    bench.until(lambda: {"unheard", "unheard, and later"} <= {*bench.desk.ended})
    bench.close()


def test_more_than_there_are_places_for_is_done_one_after_the_other(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whoever ends while others are taken has a place to fill, too: nobody looks by itself here."""
    monkeypatch.setattr(pump, "LOOK_SECONDS", 3_600.0)
    bench = DurableBench(tmp_path)
    at_once, most = 0, 0

    async def takes_a_while() -> None:
        nonlocal at_once, most
        at_once += 1
        most = max(most, at_once)
        await bench.pause()
        at_once -= 1

    names = [f"{number}" for number in range(40)]
    with bench.database.begin() as connection:
        for name in names:
            bench.desk.doing[name] = takes_a_while
            bench.engine.enqueue_with(connection, work(name))
    bench.until(lambda: set(names) <= {*bench.desk.ended})
    assert most == QUEUES[WorkKind.DELIVERY]
    assert sorted(bench.desk.begun) == sorted(names), "each once"
    bench.close()


def test_what_was_taken_and_could_not_be_begun_is_queued_again(
    bench: DurableBench, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """The database fails between the two: the places are not lost, and neither is the work."""

    def fail(*_: object) -> None:
        raise sa.exc.OperationalError("SELECT", {}, Exception("disk I/O error"))

    with monkeypatch.context() as patch:
        patch.setattr(pump, "execute_dequeued_workflow", fail)
        for number in range(2 * QUEUES[WorkKind.DELIVERY]):
            bench.run(bench.engine.enqueue(work(f"{number}")))
        bench.until(lambda: "the queues cannot be looked at" in caplog.text)
    names = {f"{number}" for number in range(2 * QUEUES[WorkKind.DELIVERY])}
    for _ in range(2):
        bench.run(bench.engine.sweep())
    bench.until(lambda: names <= {*bench.desk.ended})
    assert sorted(bench.desk.begun) == sorted(names)
