"""Names that one at a time may hold: in a process, and among processes at one PostgreSQL."""

import asyncio
import threading

import pytest
import sqlalchemy as sa

from app.adapters.exclusive import NamedLocks
from tests.contract.store_support import World

MANY = [f"issue {number}" for number in range(40)]


async def is_free(locks: NamedLocks, name: str) -> bool:
    try:
        async with asyncio.timeout(0.3), locks(name):
            return True
    except TimeoutError:
        return False


def connections(world: World) -> int:
    with world.engine.connect() as connection:
        found = connection.scalar(
            sa.text("SELECT count(*) FROM pg_stat_activity WHERE datname = current_database()")
        )
    return int(found or 0)


async def test_of_one_name_one_at_a_time_goes_on(world: World) -> None:
    locks, inside, most = NamedLocks(world.engine), 0, 0

    async def once() -> None:
        nonlocal inside, most
        async with locks("one"):
            inside += 1
            most = max(most, inside)
            await asyncio.sleep(0)
            inside -= 1

    await asyncio.gather(*(once() for _ in range(20)))
    assert most == 1


async def test_other_names_are_free_and_a_name_is_given_back(world: World) -> None:
    locks = NamedLocks(world.engine)
    async with locks("one"):
        assert await is_free(locks, "two")
        assert not await is_free(locks, "one")
    assert await is_free(locks, "one")
    with pytest.raises(ZeroDivisionError):
        async with locks("one"):
            raise ZeroDivisionError
    assert await is_free(locks, "one")


@pytest.mark.parametrize("migrated", ["postgresql"], indirect=True)
async def test_another_process_waits_for_it(world: World) -> None:
    here, there = NamedLocks(world.engine), NamedLocks(world.engine)
    async with here("one"):
        assert not await is_free(there, "one")
        assert await is_free(there, "two")
        waiting = asyncio.create_task(is_free_at_last(there, "one"))
    assert await waiting


async def is_free_at_last(locks: NamedLocks, name: str) -> bool:
    async with locks(name):
        return True


@pytest.mark.parametrize("migrated", ["postgresql"], indirect=True)
async def test_whoever_is_cancelled_while_it_waits_has_nothing(world: World) -> None:
    here, there = NamedLocks(world.engine), NamedLocks(world.engine)
    async with here("one"):
        waiting = asyncio.create_task(is_free_at_last(there, "one"))
        await asyncio.sleep(0.05)
        waiting.cancel()
        with pytest.raises(asyncio.CancelledError):
            await waiting
    assert await is_free(here, "one")
    assert await is_free(there, "one")


@pytest.mark.parametrize("migrated", ["postgresql"], indirect=True)
async def test_however_many_are_held_or_waited_for_it_takes_one_connection(world: World) -> None:
    before = connections(world)
    here, there = NamedLocks(world.engine), NamedLocks(world.engine)

    async def holds(locks: NamedLocks, name: str, until: asyncio.Event) -> None:
        async with locks(name):
            await until.wait()

    until = asyncio.Event()
    async with asyncio.TaskGroup() as group:
        for locks in (here, there):
            for name in MANY:
                group.create_task(holds(locks, name, until))
        await asyncio.sleep(0.2)
        taken = connections(world) - before
        until.set()
    assert taken <= 2, "one of each process"


@pytest.mark.parametrize("migrated", ["postgresql"], indirect=True)
async def test_after_its_connection_was_cut_locks_are_to_be_had_again(world: World) -> None:
    locks = NamedLocks(world.engine)
    async with locks("one"):
        with world.engine.connect() as connection:
            connection.execute(
                sa.text(
                    "SELECT pg_terminate_backend(pid) FROM pg_stat_activity"
                    " WHERE datname = current_database() AND pid <> pg_backend_pid()"
                )
            )
    assert await is_free(locks, "one")
    async with locks("two"):
        assert not await is_free(locks, "two")


@pytest.mark.parametrize("migrated", ["postgresql"], indirect=True)
async def test_whoever_is_cancelled_while_it_is_given_the_name_leaves_it_to_the_next(
    world: World,
) -> None:
    locks, asked, answered = NamedLocks(world.engine), threading.Event(), threading.Event()

    def wait(*_: object) -> None:
        asked.set()
        answered.wait(timeout=30)

    sa.event.listen(world.engine, "before_cursor_execute", wait)
    cancelled = asyncio.create_task(is_free_at_last(locks, "one"))
    await asyncio.to_thread(asked.wait, 30)
    cancelled.cancel()
    next_one = asyncio.create_task(is_free_at_last(locks, "one"))
    with pytest.raises(asyncio.CancelledError):
        await cancelled
    answered.set()
    assert await next_one
    sa.event.remove(world.engine, "before_cursor_execute", wait)
    assert await asyncio.to_thread(advisory_locks, world) == 0


def advisory_locks(world: World) -> int:
    with world.engine.connect() as connection:
        return int(
            connection.scalar(
                sa.text(
                    "SELECT count(*) FROM pg_locks WHERE locktype = 'advisory' AND database ="
                    " (SELECT oid FROM pg_database WHERE datname = current_database())"
                )
            )
            or 0
        )
