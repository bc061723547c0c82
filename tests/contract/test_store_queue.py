"""Ranks in the queue and caps on agents at work, with two processes at one database."""

import asyncio
from dataclasses import replace

import pytest

from app.core.agents.agent import Agent
from app.core.agents.events import HeldUp, LetOn, SegmentEnded, Waits
from app.core.agents.lifecycle import Signal, State
from app.core.agents.steps import Begin, HoldBack, LetGoOn
from app.core.agents.transition import transition
from app.core.rules.caps import Caps, Full
from app.ports import Repository
from tests.contract.store_support import NOON, World, a_new_agent, later
from tests.support.moves import begin, move

PER_REPOSITORY = Caps(per_repository=2)
HELD = HeldUp(at=NOON, waits_for=Waits.CAP, why="Two are at work.")


async def queued(world: World, issue: int, repository: str = "octo/demo") -> Agent:
    new = replace(a_new_agent(issue), repository=Repository(repository, 77))
    agent = await world.store.create(new, NOON)
    assert agent is not None
    return agent


async def test_each_agent_of_a_repository_is_behind_the_one_before_it(world: World) -> None:
    assert [(await queued(world, issue)).rank for issue in (1, 2, 3)] == [1, 2, 3]
    assert (await queued(world, 1, "octo/other")).rank == 1


async def test_who_comes_new_is_where_the_last_one_was_begun(world: World) -> None:
    agents = [await queued(world, issue) for issue in range(1, 6)]
    for agent in agents[:3]:
        await begin(world.store, agent.id, 0, "w", NOON)
    assert (await queued(world, 1, "octo/other")).rank == 3
    assert (await queued(world, 9)).rank == 6


async def test_who_is_held_back_is_not_in_line_and_comes_anew_when_it_is_let_on(
    world: World,
) -> None:
    first, second = await queued(world, 1), await queued(world, 2)
    held = await world.store.move(transition(second, HoldBack(HELD), None, NOON))
    assert held is not None
    assert held.rank == 0
    assert (await queued(world, 3)).rank == 2, "nobody is behind who is held back"
    on = await world.store.move(transition(held, LetGoOn(LetOn(at=NOON)), None, NOON))
    assert on is not None
    assert (first.rank, on.rank) == (1, 3)


async def test_who_is_queued_again_is_behind_the_others_of_its_repository(world: World) -> None:
    first, _ = await queued(world, 1), await queued(world, 2)
    at_work = await begin(world.store, first.id, 0, "w", NOON)
    assert at_work is not None
    ended = SegmentEnded(at=NOON, why="the service was stopped")
    again = await move(world.store, at_work, Signal.INTERRUPTED, [ended])
    assert again is not None
    assert again.rank == 3


@pytest.mark.parametrize(
    ("caps", "full"),
    [
        (PER_REPOSITORY, Full(2, None)),
        (Caps(per_role={"bug-fix": 2}), Full(2, "bug-fix")),
        (Caps(per_repository=5, per_role={"bug-fix": 2, "docs": 1}), Full(2, "bug-fix")),
    ],
)
async def test_of_many_who_begin_at_once_so_many_do_as_the_cap_says(
    world: World, caps: Caps, full: Full
) -> None:
    agents = [await queued(world, issue) for issue in range(1, 11)]
    begun = await asyncio.gather(
        *(
            world.stores[n % 2].begin(transition(agent, Begin("w", 0.0), None, NOON), caps)
            for n, agent in enumerate(agents)
        )
    )
    assert [each for each in begun if isinstance(each, Full)] == [full] * 8
    at_work = await world.store.agents(states=frozenset({State.ACTIVE}))
    assert len(at_work) == 2
    assert {each.id for each in begun if isinstance(each, Agent)} == {each.id for each in at_work}


async def test_a_cap_concerns_neither_others_nor_who_begins_once_more(world: World) -> None:
    agents = [await queued(world, issue) for issue in (1, 2, 3)]
    for agent in agents[:2]:
        begun = await world.store.begin(
            transition(agent, Begin("w", 0.0), None, NOON), PER_REPOSITORY
        )
        assert isinstance(begun, Agent)
    other = await queued(world, 1, "octo/other")
    step = Begin("w", 0.0)
    assert isinstance(
        await world.store.begin(transition(other, step, None, NOON), PER_REPOSITORY), Agent
    )
    died = await world.store.agent(agents[0].id)
    assert died is not None
    again = await world.store.begin(transition(died, step, None, later(9)), PER_REPOSITORY)
    assert isinstance(again, Agent)
    assert again.segment_attempts == 2
    last = transition(agents[2], step, None, NOON)
    assert await world.store.begin(last, PER_REPOSITORY) == Full(2, None)
    assert await world.store.begin(last, Caps(per_role={"docs": 1})) is not None
