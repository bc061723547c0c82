"""What was asked of GitHub again, and how far its failures were read, survives the process."""

from datetime import timedelta

from app.core.github.redelivery import AskedAgain
from app.ports import Delivery
from tests.contract.store_support import NOON, World, later


async def test_the_inbox_says_which_deliveries_it_has_ever_taken(world: World) -> None:
    for name in ("one", "two"):
        await world.store.accept(Delivery(name, "issues", b"{}", NOON))
    await world.store.dispatch(["one"], {})
    await world.store.forget_deliveries(later(60))
    for store in world.stores:
        assert await store.known_deliveries({"one", "two", "three"}) == {"one", "two"}
    assert await world.store.known_deliveries(set()) == frozenset()


async def test_the_last_ask_is_kept_and_forgotten_when_it_is_old(world: World) -> None:
    assert await world.store.asked_again() == {}
    first, second = AskedAgain("one", 1, NOON), AskedAgain("one", 2, later(300))
    other = AskedAgain("two", 1, later(60))
    for asked in (first, other, second):
        await world.store.note_asked_again(asked)
    for store in world.stores:
        assert await store.asked_again() == {"one": second, "two": other}
    await world.store.save_failures_read(NOON, forget_before=later(60))
    assert await world.store.asked_again() == {"one": second, "two": other}
    await world.store.save_failures_read(NOON, forget_before=later(61))
    assert await world.store.asked_again() == {"one": second}


async def test_how_far_was_read_is_kept(world: World) -> None:
    assert await world.store.failures_read_from() is None
    for at in (NOON, later(300), NOON - timedelta(days=2)):
        await world.store.save_failures_read(at, forget_before=NOON)
        for store in world.stores:
            assert await store.failures_read_from() == at
