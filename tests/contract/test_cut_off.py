"""Processes that ended themselves since they had lost the database: noted twice, and forgotten."""

from datetime import UTC, datetime, timedelta
from pathlib import Path

from app.adapters.engine import CutOffNotes
from tests.contract.store_support import NOON, World, later


async def test_who_was_cut_off_is_known_until_it_is_forgotten(world: World) -> None:
    for worker, at in (("old", NOON), ("old", later(60)), ("new", later(30))):
        await world.store.note_cut_off(worker, at)
    assert await world.store.cut_off_workers() == {"old", "new"}
    await world.store.forget_cut_off(later(30))
    assert await world.store.cut_off_workers() == {"new"}


def test_a_process_leaves_its_name_and_the_next_one_finds_it(tmp_path: Path) -> None:
    notes = CutOffNotes(tmp_path)
    assert notes.left() == {}
    before = datetime.now(UTC) - timedelta(seconds=2)
    notes.leave("host-17-a")
    notes.leave("host-18-b")
    left = CutOffNotes(tmp_path).left()
    assert left.keys() == {"host-17-a", "host-18-b"}
    assert all(before <= at <= datetime.now(UTC) + timedelta(seconds=2) for at in left.values())
    notes.forget("host-17-a")
    notes.forget("host-17-a")
    assert CutOffNotes(tmp_path).left().keys() == {"host-18-b"}
