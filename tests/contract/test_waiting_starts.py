"""Starts that are put off: kept once each, found when they are due, forgotten when made."""

from dataclasses import replace
from typing import Any

from app.core.agents.agent import Task
from app.core.rules.trust import Sender
from app.ports import Order, Repository, TakenBack, WaitingStart
from tests.contract.store_support import NOON, World, later

ORDER = Order(
    repository=Repository("octo/demo", 77),
    issue=12,
    role="bug-fix",
    by=Sender("ada", is_bot=False),
    trigger="label squadron:bug-fix",
    task=Task("It breaks", "When\N{SNOWMAN}ever"),
    at=NOON,
    is_found=True,
)
START = WaitingStart(ORDER, due_at=later(60), budget="day:2026-05-04:role:bug-fix")


def ordered(start: WaitingStart, **about: Any) -> WaitingStart:
    """The start of another order."""
    return replace(start, order=replace(start.order, **about))


async def test_a_start_waits_until_it_is_due(world: World) -> None:
    assert await world.store.put_off_start(START)
    assert await world.store.waiting_starts(later(59.999)) == []
    assert await world.store.waiting_starts(later(60)) == [START]


async def test_a_start_waits_once_and_says_when_it_was_first_asked_for(world: World) -> None:
    assert await world.store.put_off_start(START)
    again = WaitingStart(
        replace(ORDER, by=Sender("bob", is_bot=False), at=later(30)),
        due_at=later(90),
        budget="month:2026-05-01:installation",
    )
    for store in world.stores:
        assert not await store.put_off_start(again)
    expected = replace(START, due_at=again.due_at, budget=again.budget)
    assert await world.store.waiting_starts(later(90)) == [expected]


async def test_starts_are_told_apart_and_found_in_the_order_they_were_asked_for(
    world: World,
) -> None:
    others = [
        ordered(START, at=later(-1), issue=13),
        ordered(START, at=later(-2), role="pm", by=Sender("renovate[bot]", is_bot=True)),
        ordered(START, at=later(-3), repository=Repository("octo/other", 78)),
        replace(ordered(START, at=later(-4), issue=14), due_at=later(1_000)),
    ]
    for start in (START, *others):
        assert await world.store.put_off_start(start)
    due = await world.store.waiting_starts(later(500))
    assert due == [others[2], others[1], others[0], START]


async def test_a_start_that_was_made_is_forgotten(world: World) -> None:
    await world.store.put_off_start(START)
    await world.store.put_off_start(ordered(START, role="pm"))
    for _ in range(2):
        await world.store.forget_waiting("octo/demo", 12, "bug-fix")
    left = await world.store.waiting_starts(later(60))
    assert [start.order.role for start in left] == ["pm"]
    assert await world.store.put_off_start(START)


async def test_text_of_strangers_waits_whatever_it_holds(world: World) -> None:
    wild = ordered(START, trigger="nul \0", task=Task("half a \ud83d pair", "\0"))
    assert await world.store.put_off_start(wild)
    (found,) = await world.store.waiting_starts(later(60))
    assert (found.order.trigger, found.order.task) == (
        "nul \N{REPLACEMENT CHARACTER}",
        Task("half a \N{REPLACEMENT CHARACTER} pair", "\N{REPLACEMENT CHARACTER}"),
    )


async def test_a_start_whose_text_nobody_told_waits_for_no_budget(world: World) -> None:
    untold = replace(ordered(START, task=None), budget="")
    assert await world.store.put_off_start(untold)
    assert await world.store.waiting_starts(later(60)) == [untold]
    for task in (ORDER.task, Task("Another", "text")):
        assert not await world.store.put_off_start(ordered(untold, task=task))
        assert await world.store.waiting_starts(later(60)) == [replace(START, budget="")]


async def test_a_start_that_was_taken_back_waits_again_only_if_it_is_asked_for_later(
    world: World,
) -> None:
    told, other = TakenBack("comment 5", later(10)), ordered(START, role="pm")
    assert not await world.store.take_back_start("octo/demo", 12, "bug-fix", told)
    await world.store.put_off_start(START)
    await world.store.put_off_start(other)
    assert await world.store.take_back_start("octo/demo", 12, "bug-fix", told)
    again = replace(told, said="comment 6")
    assert not await world.store.take_back_start("octo/demo", 12, "bug-fix", again)
    assert not await world.store.put_off_start(ordered(START, at=later(10)))
    await world.store.forget_waiting("octo/demo", 12, "bug-fix")
    assert await world.store.waiting_starts(later(900)) == [other]
    assert await world.store.taken_back_starts("octo/demo", 12) == {"bug-fix": told}
    assert await world.store.taken_back_starts("octo/demo", 13) == {}
    anew = ordered(START, at=later(11), by=Sender("bob", is_bot=False))
    assert await world.store.put_off_start(anew)
    assert await world.store.waiting_starts(later(900)) == [other, anew]
    assert await world.store.taken_back_starts("octo/demo", 12) == {}


async def test_what_was_taken_back_long_ago_is_forgotten(world: World) -> None:
    await world.store.put_off_start(START)
    await world.store.take_back_start("octo/demo", 12, "bug-fix", TakenBack("x", later(10)))
    await world.store.forget_taken_back(later(10))
    assert await world.store.taken_back_starts("octo/demo", 12) != {}
    await world.store.forget_taken_back(later(10.001))
    assert await world.store.taken_back_starts("octo/demo", 12) == {}
