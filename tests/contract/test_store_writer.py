"""Group commit: many share a transaction, the guilty fails alone, nothing waits without end."""

import asyncio
import threading
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager

import pytest
import sqlalchemy as sa

from app.adapters.store.writer import MOST_JOBS_A_COMMIT, MOST_WAITING_JOBS, GroupWriter
from app.ports import StoreUnavailable
from tests.contract.store_support import QUEUED_WORK, World

Job = Callable[[sa.Connection], str]


def inserts(name: str) -> Job:
    def job(connection: sa.Connection) -> str:
        connection.execute(sa.insert(QUEUED_WORK), {"id": name})
        return name

    return job


@asynccontextmanager
async def held_up(writer: GroupWriter) -> AsyncIterator[None]:
    """Whatever is asked inside waits together, and is written when the block ends."""
    begun, go_on = threading.Event(), threading.Event()

    def job(connection: sa.Connection) -> None:
        connection.execute(sa.select(1))
        begun.set()
        assert go_on.wait(30)

    holding = asyncio.create_task(writer.run(job))
    assert await asyncio.to_thread(begun.wait, 30)
    try:
        yield
        await asyncio.sleep(0)  # the tasks made inside get to ask
    finally:
        go_on.set()
    await holding


@contextmanager
def counted_commits(engine: sa.Engine) -> Iterator[list[sa.Connection]]:
    commits: list[sa.Connection] = []
    count = commits.append
    sa.event.listen(engine, "commit", count)
    yield commits
    sa.event.remove(engine, "commit", count)


async def test_whoever_waits_shares_a_commit(world: World) -> None:
    names = [f"job-{number:03}" for number in range(100)]
    with counted_commits(world.engine) as commits:
        async with held_up(world.writer):
            jobs = [asyncio.create_task(world.writer.run(inserts(name))) for name in names]
        assert await asyncio.gather(*jobs) == names
        assert len(commits) == 2
    assert world.queued() == names


async def test_a_commit_takes_a_bounded_number(world: World) -> None:
    with counted_commits(world.engine) as commits:
        async with held_up(world.writer):
            jobs = [
                asyncio.create_task(world.writer.run(inserts(f"job-{number}")))
                for number in range(MOST_JOBS_A_COMMIT + 1)
            ]
        await asyncio.gather(*jobs)
        assert len(commits) == 3


async def test_only_the_guilty_fails(world: World) -> None:
    def fails(connection: sa.Connection) -> str:
        inserts("half-done")(connection)
        raise ZeroDivisionError

    async with held_up(world.writer):
        jobs = [
            asyncio.create_task(world.writer.run(job))
            for job in (inserts("a"), fails, inserts("a"), inserts("b"))
        ]
    first, guilty, doubled, last = await asyncio.gather(*jobs, return_exceptions=True)
    assert (first, last) == ("a", "b")
    assert isinstance(guilty, ZeroDivisionError)
    assert isinstance(doubled, sa.exc.IntegrityError)
    assert world.queued() == ["a", "b"]


async def test_a_job_that_fails_is_not_tried_again(world: World) -> None:
    tries = []

    def fails(connection: sa.Connection) -> None:
        tries.append(connection)
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        await world.writer.run(fails)
    assert len(tries) == 1


async def test_a_job_is_not_begun_for_a_caller_that_left(world: World) -> None:
    async with held_up(world.writer):
        job = asyncio.create_task(world.writer.run(inserts("left")))
        await asyncio.sleep(0)
        job.cancel()
        await asyncio.wait([job])
    assert job.cancelled()
    assert await world.writer.run(inserts("stayed")) == "stayed"
    assert world.queued() == ["stayed"]


async def test_closing_writes_what_waits_and_refuses_the_rest(world: World) -> None:
    async with held_up(world.writer):
        jobs = [asyncio.create_task(world.writer.run(inserts(f"{n:02}"))) for n in range(20)]
        await asyncio.sleep(0)
        closing = asyncio.create_task(asyncio.to_thread(world.writer.close))
    assert len(await asyncio.gather(*jobs)) == 20
    await closing
    assert len(world.queued()) == 20
    with pytest.raises(StoreUnavailable, match="closed"):
        await world.writer.run(inserts("late"))


async def test_no_more_wait_than_the_bound(world: World) -> None:
    async with held_up(world.writer):
        jobs = [
            asyncio.create_task(world.writer.run(lambda _: None)) for _ in range(MOST_WAITING_JOBS)
        ]
        await asyncio.sleep(0)
        with pytest.raises(StoreUnavailable, match="waiting"):
            await world.writer.run(inserts("one too many"))
    await asyncio.gather(*jobs)
    assert world.queued() == []


async def test_a_caller_whose_event_loop_is_gone_hurts_nobody(world: World) -> None:
    """Its job was taken, and is done; there is only nobody left to tell."""
    begun, go_on = threading.Event(), threading.Event()

    def job(connection: sa.Connection) -> str:
        begun.set()
        assert go_on.wait(30)
        return inserts("orphan")(connection)

    async def leave() -> None:
        asking = asyncio.create_task(world.writer.run(job))
        assert await asyncio.to_thread(begun.wait, 30)
        asking.cancel()

    await asyncio.to_thread(asyncio.run, leave())
    go_on.set()
    assert await world.writer.run(inserts("other")) == "other"
    assert world.queued() == ["orphan", "other"]


async def test_after_a_lost_connection_the_next_one_is_used(world: World) -> None:
    if world.engine.dialect.name == "sqlite":
        pytest.skip("a file has no connection to lose")

    def cuts_itself_off(connection: sa.Connection) -> None:
        connection.execute(sa.text("SELECT pg_terminate_backend(pg_backend_pid())"))

    async with held_up(world.writer):
        guilty = asyncio.create_task(world.writer.run(cuts_itself_off))
        innocent = asyncio.create_task(world.writer.run(inserts("innocent")))
    assert await innocent == "innocent"
    with pytest.raises(StoreUnavailable):
        await guilty
    assert await world.writer.run(inserts("next")) == "next"
