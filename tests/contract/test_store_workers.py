"""The processes of one database, as people see them. Their rows are the engine's."""

from dataclasses import replace
from datetime import datetime

import sqlalchemy as sa

from app.adapters.store.tables import WORKERS
from app.ports import FRESH_SECONDS, Worker
from tests.contract.store_support import NOON, World, a_new_agent, later
from tests.support.moves import begin

HERE = Worker(
    name="here-1-aa",
    version="1.2.3",
    places=4,
    started_at=NOON,
    heard_at=later(60),
    quiet_seconds=0.0,
    drain_asked_at=None,
    agents=(),
)
THERE = replace(HERE, name="there-2-bb", places=0, started_at=later(1))


def joins(world: World, *workers: Worker) -> datetime:
    """They have begun to work, and were heard of just now: by the clock that tells so there."""
    with world.engine.begin() as connection:
        now = later(60)
        if connection.dialect.name == "postgresql":
            now = connection.execute(sa.select(sa.func.now())).scalar_one()
        for each in workers:
            row = {
                "name": each.name,
                "version": each.version,
                "places": each.places,
                "started_at": each.started_at,
                "beat_at": now,
                "settled_at": now,
            }
            connection.execute(sa.insert(WORKERS).values(row))
    return now


async def test_each_process_is_there_with_the_agents_at_work_in_it(world: World) -> None:
    assert await world.store.workers(NOON) == []
    now = joins(world, THERE, HERE)
    for issue in (1, 2, 3):
        await world.store.create(a_new_agent(issue), NOON)
    first, second, _ = await world.store.agents()
    for agent in (second, first):
        assert await begin(world.store, agent.id, 0, HERE.name, later(2))
    found = await world.store.workers(later(60))
    agents = (first.id, second.id)
    quiet = [each.quiet_seconds for each in found]
    assert all(seconds < FRESH_SECONDS for seconds in quiet)
    assert [replace(each, quiet_seconds=0.0) for each in found] == [
        replace(HERE, agents=agents, heard_at=now),
        replace(THERE, heard_at=now),
    ]
    assert [each.takes_agents for each in found] == [True, False], "the other has no places"


async def test_who_is_not_heard_of_is_silent(world: World) -> None:
    joins(world, HERE)
    with world.engine.begin() as connection:
        [beat] = connection.execute(sa.select(WORKERS.c.beat_at)).scalars()
        since = later(0) - later(FRESH_SECONDS + 5)
        connection.execute(sa.update(WORKERS).values(beat_at=beat + since))
    [found] = await world.store.workers(later(60))
    assert found.is_silent and not found.takes_agents
    assert FRESH_SECONDS + 5 <= found.quiet_seconds < FRESH_SECONDS + 60


async def test_a_process_is_told_once_to_take_no_further_agents(world: World) -> None:
    joins(world, HERE, THERE)
    assert await world.store.ask_drain(HERE.name, later(5))
    assert await world.stores[1].ask_drain(HERE.name, later(9)), "it is told already"
    here, there = await world.store.workers(later(60))
    assert (here.drain_asked_at, there.drain_asked_at) == (later(5), None)
    assert not here.takes_agents
    assert not await world.store.ask_drain("nobody", later(9))
