"""Readiness: each answer is true, and strangers cannot make us write by asking."""

from contextlib import AbstractContextManager
from datetime import timedelta
from typing import Any

import sqlalchemy as sa

from app.web.readiness import HOLDS_FOR, NotReady, Readiness
from tests.contract.store_support import World, heard
from tests.twins.clock import TurnedClock


class Disk:
    """The database's, as far as it is tried."""

    def __init__(self) -> None:
        self.is_full = False
        self.tries = 0

    def note(self, _: Any, __: Any, statement: str, *___: Any) -> None:
        """Before each statement."""
        if "sq_room" not in statement:
            return
        self.tries += 1
        if self.is_full:
            raise sa.exc.OperationalError(statement, {}, OSError("the disk is full"))


def disk_of(world: World, disk: Disk) -> AbstractContextManager[None]:
    return heard(world.engine, "before_cursor_execute", disk.note)


async def test_it_is_ready_exactly_while_what_a_delivery_takes_is_kept(world: World) -> None:
    clock = TurnedClock()
    readiness = Readiness(world.store, clock, lambda: "")
    disk = Disk()
    with disk_of(world, disk):
        assert await readiness.why_not() is None
        disk.is_full = True
        clock.turn(HOLDS_FOR)
        wrong = await readiness.why_not()
        assert wrong is not None and wrong.why == "deliveries cannot be kept"
        assert "the disk is full" in wrong.detail and wrong.in_full.startswith(wrong.why)
        disk.is_full = False
        clock.turn(HOLDS_FOR)
        assert await readiness.why_not() is None


async def test_whoever_asks_again_at_once_makes_it_write_nothing(world: World) -> None:
    clock = TurnedClock()
    readiness = Readiness(world.store, clock, lambda: "")
    disk = Disk()
    with disk_of(world, disk):
        for _ in range(100):
            assert await readiness.why_not() is None
        assert disk.tries == 2, "once, and taken out again"


async def test_a_clock_that_was_set_back_does_not_make_an_answer_last(world: World) -> None:
    clock = TurnedClock()
    readiness = Readiness(world.store, clock, lambda: "")
    disk = Disk()
    with disk_of(world, disk):
        assert await readiness.why_not() is None
        disk.is_full = True
        clock.set_by(-timedelta(hours=1))
        assert await readiness.why_not() is not None


async def test_a_dispatcher_that_ended_is_told_before_anything_is_tried(world: World) -> None:
    readiness = Readiness(world.store, TurnedClock(), lambda: "the dispatcher has ended")
    disk = Disk()
    with disk_of(world, disk):
        assert await readiness.why_not() == NotReady("the dispatcher has ended")
        assert disk.tries == 0
