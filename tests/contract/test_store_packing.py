"""Logs of agents that have long ended are packed, and nobody notices."""

import asyncio
import itertools

import sqlalchemy as sa
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from app.adapters.store import log, packing
from app.adapters.store.tables import EVENTS, PACKED_LOGS
from app.core.agents.agent import Agent
from app.core.agents.events import AgentEvent, Finished, Held, Kept, ToolAsked, TurnAsked
from app.core.agents.lifecycle import Signal
from app.core.history.precision import TOLD_BY
from tests.contract.store_support import NOON, World, later
from tests.contract.test_store_codec import KINDS
from tests.contract.test_store_figures import HOLD
from tests.support.anything import values
from tests.support.moves import Changes, move

ENDED_AT = 50
BEFORE = later(ENDED_AT + 1)
TURN = TurnAsked(at=later(3))

_issues = itertools.count(1)


async def an_ended(
    world: World, *events: AgentEvent, issue: int = 12, seconds: float = ENDED_AT
) -> Agent:
    active = await world.an_active(issue)
    assert await world.store.append(active.id, 0, 3, events)
    merged = Finished(at=later(seconds), why="#7 was merged.", since=later(seconds))
    ended = await move(world.store, active, Signal.FINISHED, [merged], Changes())
    assert ended is not None
    return ended


def rows(world: World) -> list[tuple[str, int]]:
    """Types and numbers of the events that have a row of their own."""
    with world.engine.connect() as connection:
        found = connection.execute(sa.select(EVENTS.c.type, EVENTS.c.seq).order_by(EVENTS.c.seq))
        return [(row.type, row.seq) for row in found]


def packed(world: World) -> int:
    """How many logs are."""
    with world.engine.connect() as connection:
        return len(connection.execute(sa.select(PACKED_LOGS.c.agent_id)).all())


@settings(
    max_examples=25,
    deadline=None,
    derandomize=True,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
@given(st.lists(st.one_of([values(kind) for kind in KINDS]), min_size=1, max_size=8))
def test_a_packed_log_says_what_it_said(world: World, events: list[AgentEvent]) -> None:
    async def story() -> None:
        ended = await an_ended(world, *events, issue=next(_issues))
        before = await world.store.log(ended.id)
        assert await world.store.pack_logs(BEFORE) == 1
        assert await world.store.log(ended.id) == before
        assert await world.store.pack_logs(BEFORE) == 0

    asyncio.run(story())


async def test_those_events_keep_rows_that_are_asked_for_across_agents(world: World) -> None:
    await an_ended(world, TURN, Held(at=later(10), hold=HOLD), TURN)
    judged = await world.store.stopped_since(NOON)
    kept = [each.__name__ for each in TOLD_BY]
    told = [(kind, seq) for kind, seq in rows(world) if kind in kept]
    assert len(told) < len(rows(world))
    await world.store.pack_logs(BEFORE)
    assert rows(world) == told
    assert await world.store.stopped_since(NOON) == judged


async def test_agents_that_have_not_ended_or_not_long_ago_are_left_alone(world: World) -> None:
    await world.an_active(1)
    await an_ended(world, TURN, issue=2, seconds=ENDED_AT + 1)
    before = rows(world)
    assert await world.store.pack_logs(BEFORE) == 0
    assert rows(world) == before
    assert await world.store.pack_logs(later(ENDED_AT + 2)) == 1


async def test_what_comes_later_follows_and_is_packed_with_the_rest(world: World) -> None:
    ended = await an_ended(world, TURN)
    assert await world.store.pack_logs(BEFORE) == 1
    before = await world.store.log(ended.id)
    late = Kept(at=later(70), sha="a" * 40, pushed=True, problem="")
    await world.store.note_kept(ended, late)
    assert rows(world)[-1] == ("Kept", len(before) + 1)
    assert await world.store.log(ended.id) == [*before, late]
    assert await world.store.pack_logs(BEFORE) == 1
    assert ("Kept", len(before) + 1) not in rows(world)
    assert await world.store.log(ended.id) == [*before, late]
    assert await world.store.pack_logs(BEFORE) == 0
    await world.store.note_kept(ended, late)
    assert await world.store.log(ended.id) == [*before, late, late]


async def test_a_log_that_grows_while_it_is_packed_stays_as_it_is(world: World) -> None:
    ended = await an_ended(world, TURN)
    with world.engine.connect() as connection:
        seen = packing.pack(connection, str(ended.id))
    late = Kept(at=later(70), sha="a" * 40, pushed=True, problem="")
    await world.store.note_kept(ended, late)
    with world.engine.begin() as connection:
        assert not packing.keep(connection, seen)
    assert packed(world) == 0
    assert (await world.store.log(ended.id))[-1] == late


async def test_no_more_are_packed_at_once_than_the_writer_has_time_for(world: World) -> None:
    for issue in range(packing.MOST_AT_ONCE + 2):
        await an_ended(world, issue=issue + 1)
    assert await world.store.pack_logs(BEFORE) == packing.MOST_AT_ONCE
    assert await world.store.pack_logs(BEFORE) == 2


async def test_whoever_reads_while_two_processes_pack_reads_all(world: World) -> None:
    agents = [await an_ended(world, *[TURN] * 40, issue=issue) for issue in range(1, 21)]
    whole = {each.id: await world.store.log(each.id) for each in agents}
    done = asyncio.Event()

    async def reads() -> int:
        times = 0
        while not done.is_set() or times < len(agents):
            agent = agents[times % len(agents)].id
            assert await world.store.log(agent) == whole[agent]
            times += 1
        return times

    async def pack() -> None:
        await asyncio.gather(*(store.pack_logs(BEFORE) for store in world.stores))
        done.set()

    await asyncio.gather(reads(), reads(), pack())
    assert packed(world) == len(agents)


async def test_a_log_of_a_thousand_events_takes_a_fraction(world: World) -> None:
    asked = [
        ToolAsked(at=later(n), call=f"call-{n}", tool="bash", what=f"grep -rn name{n} src")
        for n in range(1_000)
    ]
    ended = await an_ended(world, *asked)
    with world.engine.connect() as connection:
        before = sum(len(each) for each in log.read_encoded(connection, str(ended.id)))
    await world.store.pack_logs(BEFORE)
    with world.engine.connect() as connection:
        size = sa.func.sum(sa.func.length(PACKED_LOGS.c.body))
        after = connection.scalar(sa.select(size))
    assert after is not None and after < before / 5
