"""What every engine promises: the durable one, and its twin of the stories."""

import json
import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack
from datetime import UTC, datetime, timedelta
from functools import partial

import pytest
import sqlalchemy as sa

from app.adapters.engine import pump
from app.adapters.store.tables import WORKERS
from app.core.agents.agent import AgentId
from app.ports import RunSegment, WorkKind
from tests.contract.engine_bench import QUEUES, Bench, DurableBench, TwinBench, work
from tests.contract.store_support import own_postgresql_database


@pytest.fixture(scope="module", params=["sqlite", "postgresql", "twin"])
def bench(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[DurableBench | TwinBench]:
    """The durable ones look at their queues when they are called, and at no other time."""
    directory = tmp_path_factory.mktemp("engine")
    with ExitStack() as stack:
        patch = stack.enter_context(pytest.MonkeyPatch.context())
        patch.setattr(pump, "LOOK_SECONDS", 3_600.0)
        here: DurableBench | TwinBench
        if request.param == "twin":
            here = TwinBench(directory)
        elif request.param == "sqlite":
            here = DurableBench(directory)
        else:
            here = DurableBench(directory, stack.enter_context(own_postgresql_database()))
        stack.callback(here.close)
        yield here


def test_work_is_there_if_and_only_if_its_transaction_commits(bench: Bench) -> None:
    with bench.database.begin() as connection:
        bench.engine.enqueue_with(connection, work("committed"))
    with bench.database.connect() as connection, connection.begin() as transaction:
        bench.engine.enqueue_with(connection, work("taken back"))
        transaction.rollback()
    bench.run(bench.engine.enqueue(work("later")))
    bench.until(lambda: {"committed", "later"} <= {*bench.desk.ended})
    assert "taken back" not in bench.desk.begun


def test_an_id_that_was_used_never_runs_again(bench: Bench) -> None:
    for _ in range(3):
        bench.run(bench.engine.enqueue(work("once")))
    bench.until(lambda: "once" in bench.desk.ended)
    bench.run(bench.engine.enqueue(work("once")))
    bench.run(bench.engine.enqueue(work("after it")))
    bench.until(lambda: "after it" in bench.desk.ended)
    assert bench.desk.begun.count("once") == 1


def test_what_is_delayed_comes_after_what_is_not(bench: Bench) -> None:
    bench.run(bench.engine.enqueue(work("delayed", delay_seconds=2)))
    assert bench.run(bench.engine.is_pending(work("delayed").id))
    bench.run(bench.engine.enqueue(work("at once")))
    bench.until(lambda: "at once" in bench.desk.ended)
    assert "delayed" not in bench.desk.begun
    bench.until(lambda: "delayed" in bench.desk.ended)


def test_what_fails_is_tried_again_and_is_pending_meanwhile(bench: Bench) -> None:
    async def fail_once() -> None:
        if bench.desk.begun.count("fails") == 1:
            raise RuntimeError("the first time")

    bench.desk.doing["fails"] = fail_once
    bench.run(bench.engine.enqueue(work("fails")))
    bench.until(lambda: "fails" in bench.desk.begun)
    assert bench.run(bench.engine.is_pending(work("fails").id))
    bench.until(lambda: "fails" in bench.desk.ended)
    bench.until(lambda: not bench.run(bench.engine.is_pending(work("fails").id)))
    assert bench.desk.begun.count("fails") == 2


def test_so_many_of_a_kind_are_done_at_once_and_no_kind_holds_up_another(bench: Bench) -> None:
    may_end: list[bool] = []

    async def wait() -> None:
        while not may_end:
            await bench.pause()

    agent = AgentId("octo/demo", 1, "docs", 1)
    segments = [RunSegment(agent, number) for number in range(QUEUES[WorkKind.SEGMENT] + 1)]
    names = [segment.id for segment in segments]
    for segment in segments:
        bench.desk.doing[segment.id] = wait
        bench.run(bench.engine.enqueue(segment))
    bench.until(lambda: sum(name in bench.desk.begun for name in names) == 2)
    bench.run(bench.engine.enqueue(work("beside them")))
    bench.until(lambda: "beside them" in bench.desk.ended)
    assert sum(name in bench.desk.begun for name in names) == QUEUES[WorkKind.SEGMENT]
    may_end.append(True)
    bench.until(lambda: all(name in bench.desk.ended for name in names))


def test_of_segments_that_wait_the_lowest_rank_is_begun_first(bench: Bench) -> None:
    """All but one of the places are taken until the end, so that one comes after the other."""
    may_end = set[str]()
    agent = AgentId("octo/demo", 2, "docs", 1)
    *at_work, last = [RunSegment(agent, number) for number in range(QUEUES[WorkKind.SEGMENT])]

    async def until_it_may(name: str) -> None:
        while name not in may_end:
            await bench.pause()

    for segment in (*at_work, last):
        bench.desk.doing[segment.id] = partial(until_it_may, segment.id)
        bench.run(bench.engine.enqueue(segment))
    bench.until(lambda: all(each.id in bench.desk.begun for each in (*at_work, last)))
    ranks = {10: 5, 11: 7, 12: 6, 13: 5}
    in_line = [RunSegment(agent, number, rank=rank) for number, rank in ranks.items()]
    for segment in in_line:
        bench.run(bench.engine.enqueue(segment))
    may_end.add(last.id)
    bench.until(lambda: all(each.id in bench.desk.ended for each in in_line))
    may_end.update(each.id for each in at_work)
    begun = [name for name in bench.desk.begun if name in {each.id for each in in_line}]
    assert begun == [RunSegment(agent, number).id for number in (10, 13, 12, 11)]


def test_a_process_that_drains_begins_no_segments_and_all_else(bench: Bench) -> None:
    """It says so to whoever runs them; the process that comes after it takes them."""
    with bench.database.begin() as connection:
        places = connection.execute(sa.select(WORKERS.c.name, WORKERS.c.places)).all()
        assert places == [(bench.engine.worker, QUEUES[WorkKind.SEGMENT])]
    bench.run(bench.engine.sweep())
    assert not bench.handed_over.is_set()
    with bench.database.begin() as connection:
        connection.execute(sa.update(WORKERS).values(drain_asked_at=datetime.now(UTC)))

    def is_heard() -> bool:
        bench.run(bench.engine.sweep())
        return bench.handed_over.is_set()

    bench.until(is_heard)
    left = RunSegment(AgentId("octo/demo", 3, "docs", 1), 1)
    bench.run(bench.engine.enqueue(left))
    for number in range(3):
        bench.run(bench.engine.enqueue(work(f"all else {number}")))
    bench.until(lambda: {f"all else {number}" for number in range(3)} <= {*bench.desk.ended})
    assert left.id not in bench.desk.begun
    assert bench.run(bench.engine.is_pending(left.id))
    bench.crash()
    bench.until(lambda: left.id in bench.desk.ended)
    with bench.database.begin() as connection:
        names = connection.execute(sa.select(WORKERS.c.name)).scalars().all()
    assert names == [bench.engine.worker]
    assert not bench.handed_over.is_set()


def test_what_a_process_did_not_end_the_next_one_does(bench: Bench) -> None:
    async def wait() -> None:
        while bench.desk.begun.count("cut off") == 1:
            await bench.pause()

    bench.desk.doing["cut off"] = wait
    bench.run(bench.engine.enqueue(work("cut off")))
    bench.run(bench.engine.enqueue(work("waits for its time", delay_seconds=1)))
    bench.until(lambda: "cut off" in bench.desk.begun)
    before = bench.engine.worker
    bench.crash()
    bench.until(lambda: {"cut off", "waits for its time"} <= {*bench.desk.ended})
    assert bench.run(bench.engine.is_at_work(bench.engine.worker))
    assert not bench.run(bench.engine.is_at_work(before))


def test_finished_work_is_forgotten_and_no_other(bench: Bench) -> None:
    bench.run(bench.engine.enqueue(work("over")))
    bench.run(bench.engine.enqueue(work("far away", delay_seconds=86_400)))
    bench.until(lambda: not bench.run(bench.engine.is_pending(work("over").id)))
    assert bench.run(bench.engine.forget_finished(datetime.now(UTC) - timedelta(days=1))) == 0
    assert bench.run(bench.engine.forget_finished(datetime.now(UTC) + timedelta(days=1))) > 0
    assert bench.run(bench.engine.is_pending(work("far away").id))


SPEAKS = """
import logging
from app.adapters.logs import log_to_stderr
from app.core.text.redact import Redactor
import app.adapters.engine
from dbos._logger import init_logger
log_to_stderr(Redactor(["canary-secret"]))
init_logger()
logging.getLogger("dbos").warning("the queue is away: canary-secret")
"""
"""As `serve` begins, and then the engine does."""


def test_a_line_of_the_engine_is_json_redacted_and_there_once() -> None:
    done = subprocess.run(
        [sys.executable, "-c", SPEAKS], capture_output=True, text=True, check=True, timeout=60
    )
    [line] = done.stderr.splitlines()
    told = json.loads(line)
    assert (told["logger"], told["level"]) == ("dbos", "WARNING")
    assert told["message"] == "the queue is away: [redacted]"
