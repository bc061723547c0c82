"""Brakes in the database: one a place, lifted once, remembered for a while."""

from dataclasses import replace
from datetime import timedelta

import pytest

from app.adapters.store import brakes as table
from app.core.rules.brakes import Brake, Place
from app.ports import Work, WorkKind
from app.services.moves.brakes import BrakeWatch
from tests.contract.store_support import NOON, World, later
from tests.twins.clock import TurnedClock

EVERYTHING, HERE = Place.everything(), Place.repository("octo/demo")
BRAKE = Brake(EVERYTHING, "ada", NOON, "a leak")


async def test_a_place_has_one_brake_whoever_puts_it_on(world: World) -> None:
    assert await world.store.put_brake_on(BRAKE)
    again = replace(BRAKE, by="bob", since=later(5), reason="")
    for store in world.stores:
        assert not await store.put_brake_on(again)
    assert await world.store.put_brake_on(replace(again, place=HERE))
    assert await world.store.brakes() == [BRAKE, replace(again, place=HERE)]


async def test_a_brake_is_lifted_once_and_alone(world: World) -> None:
    other = replace(BRAKE, place=HERE)
    for brake in (BRAKE, other):
        assert await world.store.put_brake_on(brake)
    lifted = replace(BRAKE, lifted_at=later(9), lifted_by="bob")
    assert await world.store.lift_brake(EVERYTHING, "bob", later(9)) == lifted
    assert await world.store.lift_brake(EVERYTHING, "eve", later(10)) is None
    assert await world.store.brakes() == [other]
    assert await world.store.brakes(later(9)) == [lifted, other]
    assert await world.store.brakes(later(9.001)) == [other]


async def test_a_place_can_be_paused_again(world: World) -> None:
    await world.store.put_brake_on(BRAKE)
    await world.store.lift_brake(EVERYTHING, "ada", later(1))
    assert await world.store.put_brake_on(replace(BRAKE, since=later(2)))
    assert [brake.since for brake in await world.store.brakes(NOON)] == [NOON, later(2)]


async def test_only_the_latest_lifted_ones_are_remembered(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(table, "MOST_LIFTED", 2)
    await world.store.put_brake_on(replace(BRAKE, place=HERE))
    for at in range(0, 10, 2):
        await world.store.put_brake_on(replace(BRAKE, since=later(at)))
        await world.store.lift_brake(EVERYTHING, "ada", later(at + 1))
    known = await world.store.brakes(NOON)
    assert [brake.place for brake in known if brake.is_on] == [HERE]
    assert [brake.lifted_at for brake in known if not brake.is_on] == [later(7), later(9)]


class Queue:
    """Keeps what is enqueued, each id once, as the engine does."""

    def __init__(self) -> None:
        self.ids: list[str] = []

    async def enqueue(self, work: Work) -> None:
        assert work.kind is WorkKind.RECONCILIATION
        self.ids.append(work.id)


async def test_who_watches_sees_a_brake_and_sets_a_pass_in_motion_when_it_is_lifted(
    world: World,
) -> None:
    """Also one that was on for less than a look."""
    queue, clock, agent = Queue(), TurnedClock(later(0)), await world.an_active()
    watch = BrakeWatch(world.store, queue, clock)
    await world.store.put_brake_on(replace(BRAKE, place=Place.installation(77)))
    await watch.look()
    assert (watch.holds(agent), queue.ids) == (True, [])
    await world.store.lift_brake(Place.installation(77), "ada", later(1))
    for brake in (BRAKE, replace(BRAKE, place=Place.repository("octo/other"))):
        await world.store.put_brake_on(replace(brake, since=later(1)))
    await world.store.lift_brake(EVERYTHING, "ada", later(1.5))
    clock.turn(timedelta(seconds=2))
    for _ in range(2):
        await watch.look()
        assert not watch.holds(agent)
        assert [work.split(":")[2] for work in queue.ids] == ["installation", "all"]
    other = BrakeWatch(world.store, again := Queue(), clock)
    await other.look()
    assert again.ids == queue.ids, "every process names the same pass alike"
    clock.turn(timedelta(seconds=98))
    await other.look()
    assert again.ids == queue.ids
