"""The event log: one writer at a time, no gaps, and its fold is what was counted live."""

import asyncio
import itertools
import threading
from dataclasses import replace

import sqlalchemy as sa
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from app.adapters.store import registry
from app.core.agents.agent import AgentId
from app.core.agents.counters import Counters, after, fold
from app.core.agents.events import (
    AgentEvent,
    Finished,
    ModelCalled,
    Noticed,
    Passed,
    Ticked,
    ToolAsked,
    TurnAsked,
    Warned,
)
from app.core.agents.lifecycle import Signal
from app.core.agents.signs import Sign
from app.core.limits import LimitName
from tests.contract.store_support import NOON, World, a_new_agent, later
from tests.contract.test_store_codec import KINDS
from tests.support.anything import values
from tests.support.moves import Changes, begin, change, move

TICK = Ticked(at=later(2))
TURN = TurnAsked(at=later(3))


async def test_events_come_back_in_order(world: World) -> None:
    active = await world.an_active()
    events: list[AgentEvent] = [TICK, TURN, TICK]
    assert await world.store.append(active.id, 0, 3, events)
    assert await world.store.append(active.id, 0, 6, [TURN])
    assert (await world.store.log(active.id))[2:] == [*events, TURN]


async def test_whoever_was_superseded_appends_nothing(world: World) -> None:
    active = await world.an_active()
    for segment, first_seq in ((0, 2), (0, 4), (1, 3)):
        assert not await world.store.append(active.id, segment, first_seq, [TURN, TURN])
    stranger = AgentId("octo/demo", 1, "bug-fix", 1)
    assert not await world.store.append(stranger, 0, 1, [TURN])
    assert len(await world.store.log(active.id)) == 2


async def test_nothing_is_appended_once_the_agent_has_moved(world: World) -> None:
    active = await world.an_active()
    done = Finished(at=later(9), why="issue closed")
    assert await move(world.store, active, Signal.ABANDONED, [done], Changes())
    assert not await world.store.append(active.id, 0, 4, [TURN])


async def test_of_many_who_append_at_one_place_one_does(world: World) -> None:
    active = await world.an_active()
    answers = await asyncio.gather(
        *(store.append(active.id, 0, 3, [TURN, TICK]) for store in world.stores * 15)
    )
    assert sum(answers) == 1
    assert (await world.store.log(active.id))[2:] == [TURN, TICK]


async def test_appends_that_follow_each_other_share_a_transaction(world: World) -> None:
    active = await world.an_active()
    answers = await asyncio.gather(
        *(world.store.append(active.id, 0, 3 + number, [TURN]) for number in range(30))
    )
    assert all(answers)
    assert len(await world.store.log(active.id)) == 32


async def test_many_agents_append_at_once(world: World) -> None:
    agents = [await world.an_active(issue) for issue in range(1, 41)]
    for first_seq in (3, 4, 5):
        answers = await asyncio.gather(
            *(world.store.append(agent.id, 0, first_seq, [TURN]) for agent in agents),
            *(world.store.append(agent.id, 9, first_seq, [TICK]) for agent in agents),
        )
        assert answers == [True] * 40 + [False] * 40
    for agent in agents:
        assert (await world.store.log(agent.id))[2:] == [TURN] * 3


async def test_tokens_are_added_to_the_row(world: World) -> None:
    active = await world.an_active()
    called = ModelCalled(at=later(2), model="m", input_tokens=10, output_tokens=3)
    assert await world.store.append(active.id, 0, 3, [called, TICK, called])
    assert not await world.store.append(active.id, 0, 3, [called])
    asked = ToolAsked(at=later(3), call="1", tool="bash", what="ls")
    assert await world.store.append(active.id, 0, 6, [asked])
    agent = await world.store.agent(active.id)
    assert agent is not None
    assert (agent.input_tokens, agent.output_tokens) == (20, 6)


_issues = itertools.count(1)


@settings(
    max_examples=25,
    deadline=None,
    derandomize=True,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
@given(st.lists(st.lists(st.one_of([values(kind) for kind in KINDS]), max_size=4), max_size=5))
def test_the_fold_of_the_log_is_what_was_counted_live(
    world: World, parts: list[list[AgentEvent]]
) -> None:
    async def story() -> None:
        active = await world.an_active(next(_issues))
        live: Counters = fold(await world.store.log(active.id))
        next_seq = 3
        for part in parts:
            assert await world.store.append(active.id, 0, next_seq, part)
            next_seq += len(part)
            for event in part:
                live = after(live, event)
            assert fold(await world.store.log(active.id)) == live

    asyncio.run(story())


async def test_two_processes_with_many_agents_do_not_stand_in_each_others_way(
    world: World,
) -> None:
    """Each transaction holds the rows of many agents; the two name them in opposite orders."""
    agents = [(await world.an_active(issue)).id for issue in range(1, 31)]
    done = Finished(at=later(9), why="issue closed")
    for first_seq in range(3, 13):
        here = [world.stores[0].append(agent, 0, first_seq, [TURN]) for agent in agents]
        there = [world.stores[1].append(agent, 0, first_seq, [TURN]) for agent in agents[::-1]]
        answers = await asyncio.gather(*here, *there)
        assert [a != b for a, b in zip(answers[:30], answers[:29:-1], strict=True)] == [True] * 30
    states = [await world.store.agent(agent) for agent in agents]
    moved = await asyncio.gather(
        *(
            move(store, agent, Signal.ABANDONED, [done], Changes())
            for store, order in zip(world.stores, (states, states[::-1]), strict=True)
            for agent in order
            if agent is not None
        )
    )
    assert len([agent for agent in moved if agent is not None]) == 30


async def test_an_append_waits_for_a_move_that_is_about_to_commit(world: World) -> None:
    active = await world.an_active()
    done = Finished(at=later(9), why="issue closed")
    step = change(active, Signal.ABANDONED, [done], Changes())
    asked = threading.Event()

    def ask(*_: object) -> None:
        asked.set()

    with world.engine.connect() as other_process:
        if world.engine.dialect.name == "sqlite":
            other_process.exec_driver_sql("BEGIN IMMEDIATE")
        assert registry.move(other_process, world.enqueue, step) is not None
        sa.event.listen(world.engine, "before_cursor_execute", ask)
        appending = asyncio.create_task(world.store.append(active.id, 0, 3, [TURN]))
        assert await asyncio.to_thread(asked.wait, 30)
        sa.event.remove(world.engine, "before_cursor_execute", ask)
        other_process.commit()
    assert not await appending
    assert (await world.store.log(active.id))[2:] == [done]


async def test_what_limits_told_in_an_hour_is_read_with_whom_they_told_it(world: World) -> None:
    """Close to a limit, or past one that only warns; of the living, and of who has just ended. A
    sign is no limit."""
    close = Warned(at=later(100), limit=LimitName.MAX_TURNS, observed=4, maximum=5)
    past = Passed(at=later(101), limit=LimitName.MAX_TURNS, observed=5, maximum=5, shadow=False)
    earlier = replace(close, at=later(99))
    sign = Noticed(at=later(101), sign=Sign.FAILING)
    told: list[list[AgentEvent]] = [[earlier, close, TURN, past, sign], [close], [earlier]]
    for issue, events in enumerate(told, 1):
        agent = await world.an_active(issue)
        assert await world.store.append(agent.id, 0, 3, events)
    [_, ended, _] = await world.store.agents()
    done = Finished(at=later(102), why="merged")
    assert await move(world.store, ended, Signal.FINISHED, [done], Changes())
    planner = await world.store.create(a_new_agent(4, "planner"), NOON)
    assert planner is not None
    assert await begin(world.store, planner.id, 0, "worker-1", later(1))
    assert await world.store.append(planner.id, 0, 3, [past])
    await world.an_active(5)  # whom nothing has warned
    names = [str(each.id) for each in await world.store.agents()]
    told_since = {
        seconds: [
            (names.index(str(agent)) + 1, event)
            for agent, event in await world.store.warned(later(seconds))
        ]
        for seconds in (100, 101, 103)
    }
    assert told_since == {
        100: [(1, close), (2, close), (1, past), (4, past)],
        101: [(1, past), (4, past)],
        103: [],
    }
