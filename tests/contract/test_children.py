"""Sub-agents in the registry: rows of their own that hold no post and are run by their parent."""

import asyncio
import threading
from dataclasses import replace

import sqlalchemy as sa

from app.adapters.store.registry import create
from app.core.agents.agent import Agent, AgentId
from app.core.agents.events import Finished, Slept, Waits, Woken
from app.core.agents.lifecycle import Signal, State
from app.ports import NewAgent
from tests.contract.store_support import NOON, World, a_new_agent, later
from tests.support.moves import Changes, begin, move


def a_new_child(parent: Agent, role: str = "researcher") -> NewAgent:
    new = a_new_agent(parent.id.issue, role, branch=parent.branch)
    return replace(new, parent=parent.id, depth=parent.depth + 1)


async def test_a_child_is_queued_and_its_parent_runs_it(world: World) -> None:
    parent = await world.an_active()
    before = world.queued()
    child = await world.store.create(a_new_child(parent), later(2))
    assert child is not None
    assert (child.parent, child.depth, child.predecessor) == (str(parent.id), 1, None)
    assert (child.state, child.segment, child.branch) == (State.QUEUED, 0, parent.branch)
    assert world.queued() == before
    assert await world.store.agent(child.id) == child
    active = await begin(world.store, child.id, 0, "worker-1", later(3))
    assert active is not None
    assert (active.state, active.parent, active.depth) == (State.ACTIVE, str(parent.id), 1)


async def test_an_agent_that_nobody_started_for_another_has_no_parent(world: World) -> None:
    active = await world.an_active()
    assert (active.parent, active.depth) == (None, 0)


async def test_children_hold_no_post_and_each_takes_the_next_attempt(world: World) -> None:
    parent = await world.an_active()
    created = await asyncio.gather(
        *(
            world.stores[number % 2].create(a_new_child(parent, parent.id.role), later(number))
            for number in range(12)
        )
    )
    assert {child.id.attempt for child in created if child is not None} == set(range(2, 14))
    assert await world.store.create(a_new_agent(), later(20)) is None  # the parent's post


async def test_a_child_that_takes_the_number_first_does_not_cost_an_agent_its_start(
    world: World,
) -> None:
    parent = await world.an_active()
    asked = threading.Event()

    def ask(_1: object, _2: object, statement: str, *_: object) -> None:
        if world.engine.dialect.name == "sqlite" or statement.startswith("INSERT INTO sq_agents"):
            asked.set()

    with world.engine.connect() as other_process:
        if world.engine.dialect.name == "sqlite":
            other_process.exec_driver_sql("BEGIN IMMEDIATE")
        child = create(other_process, world.enqueue, a_new_child(parent, "pm"), later(2))
        sa.event.listen(world.engine, "before_cursor_execute", ask)
        creating = asyncio.create_task(world.store.create(a_new_agent(role="pm"), later(3)))
        assert await asyncio.to_thread(asked.wait, 30)
        sa.event.remove(world.engine, "before_cursor_execute", ask)
        other_process.commit()
    agent = await creating
    assert child is not None
    assert agent is not None
    assert (child.id.attempt, agent.id.attempt) == (1, 2)
    assert (child.parent, agent.parent, agent.predecessor) == (str(parent.id), None, None)


async def test_a_child_is_nobodys_predecessor(world: World) -> None:
    first = await world.an_active()
    child = await world.store.create(
        replace(a_new_child(first, "bug-fix"), branch="squadron/child"), later(2)
    )
    assert child is not None
    assert (child.predecessor, child.branch) == (None, "squadron/child")
    done = Finished(at=later(3), why="issue closed")
    for agent in (first, child):
        assert await move(world.store, agent, Signal.ABANDONED, [done], Changes(summary="cut"))
    second = await world.store.create(a_new_agent(), later(5))
    assert second is not None
    assert second.id == AgentId("octo/demo", 12, "bug-fix", 3)
    assert (second.predecessor, second.branch) == (str(first.id), first.branch)

    other = await world.store.create(a_new_agent(role="pm", branch="squadron/pm"), later(6))
    assert other is not None
    grandchild = await world.store.create(a_new_child(second, "writer"), later(7))
    assert grandchild is not None
    done = Finished(at=later(8), why="done")
    assert await move(world.store, grandchild, Signal.ABANDONED, [done], Changes())
    writer = await world.store.create(a_new_agent(role="writer", branch="squadron/w"), later(9))
    assert writer is not None
    assert (writer.predecessor, writer.branch, writer.id.attempt) == (None, "squadron/w", 2)


async def test_a_child_that_goes_on_is_run_by_its_parent_again(world: World) -> None:
    parent = await world.an_active()
    child = await world.store.create(a_new_child(parent), later(2))
    assert child is not None
    active = await begin(world.store, child.id, 0, "worker-1", later(3))
    assert active is not None
    before = world.queued()
    slept = Slept(at=later(4), waits_for=Waits.ANSWER, blocked_by=(), reason="asked")
    asleep = await move(world.store, active, Signal.WAITS, [slept], Changes())
    assert asleep is not None
    woken = Woken(at=later(5), why="answered", by="ada")
    queued = await move(world.store, asleep, Signal.WOKEN, [woken], Changes())
    assert queued is not None
    assert (queued.state, queued.segment) == (State.QUEUED, 1)
    assert world.queued() == before


async def test_children_are_found_by_their_parent(world: World) -> None:
    parent, other = await world.an_active(1), await world.an_active(2)
    first = await world.store.create(a_new_child(parent), NOON)
    second = await world.store.create(a_new_child(parent), later(1))
    third = await world.store.create(a_new_child(other), later(2))
    assert first is not None
    assert await world.store.agents(parent=parent.id) == [first, second]
    assert await world.store.agents(parent=other.id) == [third]
    assert await world.store.agents(parent=first.id) == []
    assert len(await world.store.agents()) == 5
