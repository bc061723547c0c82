"""Why starts were not made: one row a post, the newest of all, gone when an agent starts there."""

from dataclasses import replace

import pytest

from app.adapters.store import refused as table
from app.core.agents.agent import AgentId
from app.ports import NewAgent, StartRefused
from tests.contract.store_support import NOON, World, a_new_agent, later

START = StartRefused(
    repository="octo/demo",
    issue=12,
    role="bug-fix",
    reason="tom has the permission triage, and write is needed",
    by="tom",
    at=NOON,
    first_at=NOON,
    times=1,
)


async def kept(world: World) -> list[StartRefused]:
    return [*await world.store.refused_starts(NOON)]


async def test_who_asks_again_is_counted_and_who_is_found_again_is_not(world: World) -> None:
    assert await world.store.note_refused(START, is_asked=True)
    for before in (NOON, later(-1)):  # told of twice, and found before it was told of
        assert not await world.store.note_refused(replace(START, at=before), is_asked=True)
    assert not await world.store.note_refused(replace(START, at=later(5)), is_asked=False)
    assert await kept(world) == [START]
    again = replace(START, at=later(9))
    assert await world.store.note_refused(again, is_asked=True)
    assert await kept(world) == [replace(again, times=2)]


async def test_another_reason_takes_the_place_of_the_one_before(world: World) -> None:
    await world.store.note_refused(START, is_asked=True)
    closed = replace(START, reason="the issue is closed", at=later(5))
    for store in world.stores:
        await store.note_refused(closed, is_asked=False)
    assert await kept(world) == [closed]


async def test_an_agent_that_starts_there_ends_it(world: World) -> None:
    other = replace(START, role="pm")
    for start in (START, other):
        await world.store.note_refused(start, is_asked=True)
    created = await world.store.create(a_new_agent(), NOON)
    assert created is not None
    assert await kept(world) == [other]


async def test_a_sub_agent_is_no_start(world: World) -> None:
    await world.store.note_refused(START, is_asked=True)
    child: NewAgent = replace(a_new_agent(), parent=AgentId("octo/demo", 12, "pm", 1))
    assert await world.store.create(child, NOON) is not None
    assert await kept(world) == [START]


async def test_old_ones_are_forgotten_and_the_newest_come_first(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(table, "MOST_KEPT", 3)
    for number in (2, 5, 1, 4, 3):
        start = replace(START, issue=number, at=later(number))
        await world.store.note_refused(start, is_asked=True)
    assert [start.issue for start in await kept(world)] == [5, 4, 3]
    assert [start.issue for start in await world.store.refused_starts(later(4))] == [5, 4]
    await world.store.forget_refused(later(5))
    assert [start.issue for start in await kept(world)] == [5]


async def test_words_of_strangers_are_kept_whatever_they_hold(world: World) -> None:
    wild = replace(START, role="x\0", reason="half a \ud83d pair", by="\0")
    for _ in range(2):
        await world.store.note_refused(wild, is_asked=True)
    (found,) = await kept(world)
    assert (found.reason, found.times) == ("half a \N{REPLACEMENT CHARACTER} pair", 1)
