"""The inbox: accepted once, looked at once, shortened and forgotten later."""

import asyncio
import json
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from random import Random

import pytest

from app.adapters.store.inbox import MOST_DEAD_SHOWN, MOST_SHORTENED_AT_ONCE
from app.core.github.hints import read
from app.ports import DeadDelivery, Delivery, HandleDelivery
from tests.contract.store_support import NOON, OutOfOrder, World, later


def a_delivery(number: int, seconds: float = 0, body: bytes = b'{"action":"labeled"}') -> Delivery:
    return Delivery(f"delivery-{number}", "issues", body, later(seconds))


async def test_a_delivery_comes_back_byte_for_byte(world: World) -> None:
    sent = a_delivery(1, body=bytes(range(256)) * 30)
    assert await world.store.accept(sent)
    assert await world.store.delivery(sent.id) == sent
    assert await world.store.delivery("delivery-2") is None


async def test_the_last_delivery_is_known_until_its_body_is_forgotten(world: World) -> None:
    assert await world.store.last_delivery() is None
    for number, seconds in ((1, 5), (2, 30), (3, 10)):
        assert await world.store.accept(a_delivery(number, seconds))
    assert await world.store.last_delivery() == later(30)


def test_each_delivery_is_accepted_exactly_once(world: World) -> None:
    """Eight loops in eight threads and two processes, each with all ids twice, in any order."""
    numbers = range(60)

    async def all_twice(thread: int) -> list[tuple[int, bool]]:
        order = [*numbers, *numbers]
        Random(thread).shuffle(order)
        store = world.stores[thread % 2]
        accepted = await asyncio.gather(*(store.accept(a_delivery(number)) for number in order))
        return list(zip(order, accepted, strict=True))

    with ThreadPoolExecutor(8) as threads:
        answers = [
            answer
            for part in threads.map(lambda thread: asyncio.run(all_twice(thread)), range(8))
            for answer in part
        ]
    assert Counter(number for number, accepted in answers if accepted) == Counter(numbers)
    waiting = asyncio.run(world.store.undispatched(1_000))
    assert {delivery.id for delivery in waiting} == {a_delivery(n).id for n in numbers}


async def test_of_equal_ids_in_one_transaction_the_first_is_kept(world: World) -> None:
    bodies = [b"1", b"2", b"3"]
    accepted = await asyncio.gather(
        *(world.store.accept(a_delivery(1, body=body)) for body in bodies)
    )
    assert accepted == [True, False, False]
    kept = await world.store.delivery("delivery-1")
    assert kept is not None
    assert kept.body == b"1"


async def test_the_oldest_are_looked_at_first(world: World) -> None:
    for number, seconds in ((1, 3), (2, 1), (3, 2)):
        await world.store.accept(a_delivery(number, seconds))
    assert [d.id for d in await world.store.undispatched(2)] == ["delivery-2", "delivery-3"]


async def test_dispatching_marks_and_enqueues(world: World) -> None:
    for number in (1, 2, 3):
        await world.store.accept(a_delivery(number))
    await world.store.dispatch(["delivery-1"], {"delivery-2": HandleDelivery("delivery-2")})
    assert [d.id for d in await world.store.undispatched(10)] == ["delivery-3"]
    assert world.queued() == ["delivery:delivery-2"]
    assert await world.store.delivery("delivery-2") == a_delivery(2)
    assert not await world.store.accept(a_delivery(1))


async def test_a_dispatch_that_cannot_enqueue_marks_nothing(world: World) -> None:
    await world.store.accept(a_delivery(1))
    await world.store.accept(a_delivery(2))
    world.queue_is_broken = True
    with pytest.raises(OutOfOrder):
        await world.store.dispatch(["delivery-1"], {"delivery-2": HandleDelivery("delivery-2")})
    assert len(await world.store.undispatched(10)) == 2
    assert world.queued() == []


async def test_old_bodies_are_forgotten_and_ids_are_not(world: World) -> None:
    for number in range(4):
        await world.store.accept(a_delivery(number, seconds=number))
    await world.store.dispatch(
        ["delivery-0", "delivery-3"], {"delivery-1": HandleDelivery("delivery-1")}
    )
    assert await world.store.forget_deliveries(later(3)) == 2
    assert await world.store.forget_deliveries(later(3)) == 0
    assert await world.store.delivery("delivery-0") is None
    assert not await world.store.accept(a_delivery(0))
    assert [d.id for d in await world.store.undispatched(10)] == ["delivery-2"]
    assert await world.store.delivery("delivery-3") is not None


async def test_after_a_while_as_much_of_a_body_is_kept_as_anybody_reads(world: World) -> None:
    payload = {
        "action": "opened",
        "repository": {"full_name": "octo/demo", "default_branch": "main"},
        "installation": {"id": 42},
        "issue": {"number": 7, "title": "Fix it", "labels": [], "node_id": "x" * 5_000},
        "sender": {"login": "mona", "type": "User"},
    }
    said = read("issues", payload)
    body = json.dumps(payload).encode()
    for number in range(4):
        delivery = Delivery(f"delivery-{number}", "issues", body, later(number))
        await world.store.accept(delivery)
    ids = ("delivery-1", "delivery-3")
    await world.store.dispatch(["delivery-0"], {each: HandleDelivery(each) for each in ids})
    assert await world.store.shorten_deliveries(later(3)) == 2
    assert await world.store.shorten_deliveries(later(3)) == 0
    assert await world.store.delivery("delivery-0") is None, "it concerned nobody"
    short = await world.store.delivery("delivery-1")
    assert short is not None and len(short.body) < len(body) / 4
    assert said is not None and read("issues", json.loads(short.body)) == said
    [new] = await world.store.undispatched(10)
    late = await world.store.delivery("delivery-3")
    assert late is not None and (new.id, new.body, late.body) == ("delivery-2", body, body)
    assert not await world.store.accept(replace(new, id="delivery-1")), "its id is known"
    assert await world.store.forget_deliveries(later(2)) == 1, "and forgotten in its time"


async def test_more_bodies_are_shortened_than_fit_a_transaction(world: World) -> None:
    ids = [a_delivery(number).id for number in range(MOST_SHORTENED_AT_ONCE + 20)]
    await asyncio.gather(*(world.store.accept(Delivery(one, "x", b"{}", NOON)) for one in ids))
    await world.store.dispatch([], {each: HandleDelivery(each) for each in ids})
    assert await world.store.shorten_deliveries(later(1)) == len(ids)


async def test_what_was_given_up_is_told_with_its_first_reason_until_it_is_forgotten(
    world: World,
) -> None:
    for number in range(3):
        await world.store.accept(a_delivery(number))
    ids = [a_delivery(n).id for n in range(3)]
    await world.store.dispatch([], {each: HandleDelivery(each) for each in ids})
    assert await world.store.dead_deliveries() == []
    for number, reason, seconds in ((0, "403", 5), (2, "no access", 9), (0, "another", 20)):
        await world.store.give_up(a_delivery(number).id, reason, later(seconds))
    await world.store.give_up("nobody-knows-it", "403", later(1))
    assert await world.store.dead_deliveries() == [
        DeadDelivery(a_delivery(2), "no access", later(9)),
        DeadDelivery(a_delivery(0), "403", later(5)),
    ]
    assert await world.store.forget_deliveries(later(60)) == 3
    assert await world.store.dead_deliveries() == []


async def test_no_more_of_them_are_told_than_fit_a_page(world: World) -> None:
    for number in range(MOST_DEAD_SHOWN + 1):
        await world.store.accept(a_delivery(number))
        await world.store.give_up(a_delivery(number).id, "403", later(number))
    told = [dead.delivery.id for dead in await world.store.dead_deliveries()]
    assert told == [a_delivery(n).id for n in range(MOST_DEAD_SHOWN, 0, -1)]


async def test_more_bodies_are_forgotten_than_fit_a_transaction(world: World) -> None:
    ids = [a_delivery(number).id for number in range(1_100)]
    await asyncio.gather(*(world.store.accept(Delivery(one, "x", b"", NOON)) for one in ids))
    await world.store.dispatch(ids, {})
    assert await world.store.forget_deliveries(later(1)) == len(ids)
