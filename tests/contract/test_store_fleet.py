"""The fleet in the database: pages by key, filters, the queue, and glances beside the logs."""

import json
from collections.abc import Sequence
from dataclasses import replace
from datetime import timedelta

import pytest
import sqlalchemy as sa

from app.adapters.store.tables import GLANCES
from app.core.agents.agent import Agent, AgentId, Effect, EffectName, EffectState
from app.core.agents.events import Finished, HeldUp, ModelCalled, Waits
from app.core.agents.lifecycle import Signal, State
from app.core.agents.queueing import QueuePlace
from app.core.agents.steps import HoldBack, Sleep
from app.core.agents.stops import Layer, Trip
from app.core.agents.transition import transition
from app.core.limits import LimitName
from app.core.words.glance import Glance, NotedGlance, first_glance, glance
from app.core.words.report import report
from app.ports import FleetAgent, FleetFilter, NewAgent, Repository
from app.services.moves.glances import MOST_AT_ONCE, catch_up, note_glance
from tests.contract.store_support import NOON, World, a_new_agent, later
from tests.support.moves import Changes, begin, move

ALL = FleetFilter()
TRIP = Trip(
    limit=LimitName.MAX_TOOL_CALLS,
    observed=50,
    maximum=50,
    layer=Layer.HOOK,
    at=NOON,
    reason="max_tool_calls reached: 50 of 50.",
)


def at(repository: str, issue: int, role: str = "bug-fix") -> NewAgent:
    return replace(a_new_agent(issue, role), repository=Repository(repository, 77))


async def queued(world: World, new: NewAgent, seconds: float = 0) -> Agent:
    agent = await world.store.create(new, later(seconds))
    assert agent is not None
    return agent


async def asleep(world: World, agent: Agent, waits_for: Waits, seconds: float = 0) -> Agent:
    begun = await begin(world.store, agent.id, 0, "worker-1", agent.updated_at)
    assert begun is not None
    sleep = transition(begun, Sleep(waits_for, "Red or blue?"), None, later(seconds))
    sleeper = await world.store.move(sleep)
    assert sleeper is not None
    return sleeper


async def stopped(world: World, agent: Agent) -> Agent:
    return await _ended(world, agent, Signal.TRIPPED, Changes(stop=TRIP))


async def completed(world: World, agent: Agent) -> Agent:
    return await _ended(world, agent, Signal.FINISHED, Changes())


async def _ended(world: World, agent: Agent, signal: Signal, changes: Changes) -> Agent:
    begun = await begin(world.store, agent.id, 0, "worker-1", agent.updated_at)
    assert begun is not None
    done = Finished(at=agent.updated_at + timedelta(seconds=1), why="done")
    ended = await move(world.store, begun, signal, [done], changes)
    assert ended is not None
    return ended


async def page(
    world: World,
    wanted: FleetFilter = ALL,
    after: Agent | None = None,
    most: int = 100,
    *,
    newest_first: bool = False,
) -> Sequence[FleetAgent]:
    behind = None if after is None else after.id
    return await world.store.fleet(wanted, after=behind, most=most, newest_first=newest_first)


async def ids(world: World, wanted: FleetFilter) -> set[AgentId]:
    return {each.agent.id for each in await page(world, wanted)}


# --- pages ------------------------------------------------------------------------------------


@pytest.mark.parametrize("newest_first", [False, True])
async def test_pages_follow_each_other_without_gap_or_repeat(
    world: World, newest_first: bool
) -> None:
    """Some came at the same instant; one comes while somebody reads."""
    agents = [await queued(world, a_new_agent(issue), issue // 3) for issue in range(1, 8)]
    read, last = list[AgentId](), None
    while found := await page(world, after=last, most=2, newest_first=newest_first):
        assert len(found) <= 2
        if last is None:
            late = await queued(world, a_new_agent(99), 60)
            agents += [] if newest_first else [late]
        read += [each.agent.id for each in found]
        last = found[-1].agent
    expected = sorted(
        agents, key=lambda agent: (agent.created_at, str(agent.id)), reverse=newest_first
    )
    assert read == [agent.id for agent in expected]


async def test_behind_an_agent_that_is_not_there_is_nobody(world: World) -> None:
    agent = await queued(world, a_new_agent())
    assert await page(world, after=replace(agent, id=replace(agent.id, attempt=9))) == []


async def test_filters_leave_out_who_does_not_fit(world: World) -> None:
    pm = await queued(world, at("octo/demo", 1, "pm"))
    other = await queued(world, at("Octo/Other", 2), 50)
    sleeper = await asleep(world, await queued(world, at("octo/demo", 3)), Waits.ANSWER)
    everybody = {pm.id, other.id, sleeper.id}
    assert await ids(world, ALL) == everybody
    assert await ids(world, FleetFilter(role="pm")) == {pm.id}
    assert await ids(world, FleetFilter(repository="octo/OTHER")) == {other.id}
    assert await ids(world, FleetFilter(states=frozenset({State.SLEEPING}))) == {sleeper.id}
    both = frozenset({State.SLEEPING, State.QUEUED})
    assert await ids(world, FleetFilter(states=both)) == everybody
    assert await ids(world, FleetFilter(since=later(50))) == {other.id}
    assert await ids(world, FleetFilter(repository="octo/demo", role="docs")) == set()


async def test_who_may_need_a_person(world: World) -> None:
    """Nobody who works, sleeps for a review, is done, or whose work another has taken over."""
    asks = await asleep(world, await queued(world, a_new_agent(1)), Waits.ANSWER)
    lost = await asleep(world, await queued(world, a_new_agent(2)), Waits.ACCESS)
    waits = await queued(world, a_new_agent(3))
    over = await stopped(world, await queued(world, a_new_agent(4)))
    alone = await stopped(world, await queued(world, a_new_agent(5)))
    refused = await completed(world, await queued(world, a_new_agent(6)))
    no = Effect(EffectName.COMMENT, EffectState.REFUSED, error="403: it is locked")
    await world.store.save_effect(refused.id, no)
    later_one = await queued(world, a_new_agent(4), 9)
    await completed(world, await queued(world, a_new_agent(7)))
    await asleep(world, await queued(world, a_new_agent(8)), Waits.REVIEW)
    await world.an_active(9)
    needing = {each.id for each in (asks, lost, waits, alone, refused, later_one)}
    assert await ids(world, FleetFilter(may_need_person=True)) == needing
    found = {each.agent.id: each for each in await page(world)}
    assert [each for each in found if found[each].is_taken_over] == [over.id]
    assert found[refused.id].effects == {EffectName.COMMENT: no}


async def test_nobody_waits_about_a_stop_that_was_dismissed(world: World) -> None:
    """Those of one issue, or of one agent; somebody is waited for again when that is undone."""
    store, needing = world.store, FleetFilter(may_need_person=True)
    seen_to = await stopped(world, await queued(world, a_new_agent(4, "docs")))
    late = await stopped(world, await queued(world, a_new_agent(4), 50))
    other = await stopped(world, await queued(world, a_new_agent(5)))
    repository, now = late.repository_id, later(99)
    await store.dismiss(repository, 4, now, stopped_before=seen_to.updated_at)
    assert await ids(world, needing) == {late.id, other.id}
    await store.note_dismissed(seen_to.id, None)
    await store.dismiss(repository + 1, 4, now, stopped_before=None)
    assert await ids(world, needing) == {seen_to.id, late.id, other.id}
    await store.dismiss(repository, 4, now, stopped_before=None)
    assert await ids(world, needing) == {other.id}
    again = await store.agent(late.id)
    assert again is not None and again.dismissed_at == now


async def test_of_effects_lists_tell_what_is_refused_and_who_was_called(world: World) -> None:
    agent = await queued(world, a_new_agent())
    call = Effect(EffectName.CALL, EffectState.DONE, url="https://github.example/c/1")
    await world.store.save_effect(agent.id, call)
    await world.store.save_effect(agent.id, Effect(EffectName.CHECK, EffectState.DONE))
    [listed] = await page(world)
    assert listed.effects == {EffectName.CALL: call}


async def test_a_sub_agent_takes_nothing_over_and_needs_nobody(world: World) -> None:
    parent = await stopped(world, await queued(world, a_new_agent()))
    await queued(world, replace(a_new_agent(), parent=parent.id, depth=1), 5)
    found = await page(world)
    assert [each.agent.parent for each in found] == [None, str(parent.id)]
    assert not any(each.is_taken_over for each in found)
    assert await ids(world, FleetFilter(may_need_person=True)) == {parent.id}


async def test_states_are_counted_whatever_states_are_wanted(world: World) -> None:
    await completed(world, await queued(world, at("octo/demo", 1)))
    await completed(world, await queued(world, at("octo/demo", 2)))
    await queued(world, at("octo/demo", 3, "pm"))
    await queued(world, at("octo/other", 4))
    counted = {State.COMPLETED: 2, State.QUEUED: 2}
    assert await world.store.fleet_states(ALL) == counted
    assert await world.store.fleet_states(FleetFilter(states=frozenset({State.PAUSED}))) == counted
    of_one = FleetFilter(repository="octo/demo", role="pm")
    assert await world.store.fleet_states(of_one) == {State.QUEUED: 1}


async def test_facets_are_the_values_that_there_are(world: World) -> None:
    for issue, by in enumerate(("Ada", "ada", "bob"), 1):
        await queued(world, replace(at("octo/demo", issue), started_by=by))
    await queued(world, at("octo/another", 9, "pm"))
    found = await world.store.facets(10)
    assert found.repositories == ["octo/another", "octo/demo"]
    assert found.roles == ["bug-fix", "pm"]
    assert found.starters == ["ada", "bob"]
    assert (await world.store.facets(1)).roles == ["bug-fix"]
    assert len(await ids(world, FleetFilter(started_by="ADA"))) == 3


async def test_one_agent_or_those_that_one_has_started(world: World) -> None:
    parent = await queued(world, a_new_agent(1))
    child = await queued(world, replace(a_new_agent(2), parent=parent.id, depth=1))
    await queued(world, a_new_agent(3))
    assert await ids(world, FleetFilter(agent=child.id)) == {child.id}
    assert await ids(world, FleetFilter(parent=parent.id)) == {child.id}


# --- names ------------------------------------------------------------------------------------


async def test_the_newest_of_an_issue_or_of_a_role_on_it(world: World) -> None:
    store = world.store
    first = await stopped(world, await queued(world, a_new_agent()))
    retry = await queued(world, a_new_agent(), 5)
    await queued(world, replace(a_new_agent(), parent=retry.id, depth=1), 6)
    pm = await queued(world, a_new_agent(role="pm"), 3)
    assert await store.newest_agent("octo/demo", 12, "") == retry
    assert await store.newest_agent("Octo/Demo", 12, "PM") == pm
    assert await store.newest_agent("octo/demo", 1, "") is None
    assert await store.newest_agent("octo/dem_", 12, "") is None
    assert await store.agent_alike(str(first.id).upper()) == first
    assert await store.agent_alike("octo/demo#12/bug-fix/9") is None


async def test_an_agent_is_found_by_the_name_that_its_repository_had(world: World) -> None:
    store = world.store
    agent = await queued(world, a_new_agent())
    assert await store.follow(agent.repository_id, Repository("octo/demo", 77), NOON) == ()
    moved = Repository("acme/new", 77)
    assert [each.full_name for each in await store.follow(agent.repository_id, moved, NOON)]
    for name in ("octo/demo", "acme/new"):
        found = await store.newest_agent(name, 12, "")
        assert found is not None and found.id == agent.id


# --- the queue --------------------------------------------------------------------------------


async def test_places_in_the_queue_by_rank_and_of_one_rank_first_come_first_served(
    world: World,
) -> None:
    mine = [await queued(world, a_new_agent(issue), issue) for issue in (1, 2, 3)]
    other = await queued(world, at("octo/other", 1), 9)
    at_work, held = await queued(world, a_new_agent(4)), await queued(world, a_new_agent(5))
    await begin(world.store, at_work.id, 0, "worker-1", NOON)
    why = HeldUp(at=NOON, waits_for=Waits.PROVIDER, why="openai is away.")
    await world.store.move(transition(held, HoldBack(why), None, NOON))
    await queued(world, replace(a_new_agent(1), parent=mine[0].id, depth=1))
    places = await world.store.places_in_queue()
    assert places == {
        mine[0].id: QueuePlace(1, 0),
        other.id: QueuePlace(2, 0),
        mine[1].id: QueuePlace(3, 1),
        mine[2].id: QueuePlace(4, 2),
    }
    assert await world.store.places_in_queue([mine[2].id, held.id]) == {
        mine[2].id: QueuePlace(4, 2)
    }
    assert [*places] == [mine[0].id, other.id, mine[1].id, mine[2].id], "the first is first"
    found = {each.agent.id: each.queue for each in await page(world)}
    assert {agent: place for agent, place in found.items() if place is not None} == places


# --- glances ----------------------------------------------------------------------------------


async def seen(world: World) -> Glance:
    [listed] = await page(world)
    return listed.seen


async def test_lists_show_what_was_noted_and_never_what_is_older(world: World) -> None:
    agent = await world.an_active()
    assert await seen(world) == first_glance(agent)
    said = ModelCalled(
        at=later(2), model="x", input_tokens=7, output_tokens=1, cost_nanousd=5_000_000
    )
    assert await world.store.append(agent.id, 0, 3, [said])
    log = await world.store.log(agent.id)
    await note_glance(world.store, agent, later(2))
    now = await seen(world)
    assert now == glance(report(agent, log, later(2)))
    assert (now.tokens, now.cost_nanousd, now.has_unpriced) == (8, 5_000_000, False)
    await world.stores[1].note_glance(agent.id, NotedGlance(first_glance(agent), 2))
    assert await seen(world) == now, "another process was late"


async def test_lists_leave_out_a_limit_that_this_version_does_not_know(world: World) -> None:
    agent = await world.an_active()
    await note_glance(world.store, agent, NOON)
    before = await seen(world)
    with world.engine.begin() as connection:
        body = json.loads(str(connection.scalar(sa.select(GLANCES.c.body))))
        body["uses"]["max_of_tomorrow"] = [1, 2]
        body["of_tomorrow"] = True
        connection.execute(sa.update(GLANCES).values(body=json.dumps(body)))
    assert await seen(world) == before


async def test_lists_catch_up_with_logs(world: World) -> None:
    """With those of whom nothing was noted, and those to whom something has happened since; who is
    at work is told of by its segment."""
    store = world.store
    never = await stopped(world, await queued(world, a_new_agent(1)))
    late = await queued(world, a_new_agent(2))
    await note_glance(store, late, NOON)
    late = await asleep(world, late, Waits.ANSWER)
    fresh = await queued(world, a_new_agent(3))
    await note_glance(store, fresh, NOON)
    await world.an_active(4)
    behind = await store.behind_glances(10)
    assert {agent.id for agent in behind} == {never.id, late.id}
    assert await catch_up(store, later(60)) == 2
    assert await store.behind_glances(10) == []
    whys = {each.agent.id: each.seen.why for each in await page(world)}
    assert (whys[never.id], whys[late.id]) == (TRIP.reason, "Red or blue?")


async def test_however_many_are_behind_lists_catch_up(world: World) -> None:
    many = MOST_AT_ONCE * 2 + 1
    for issue in range(1, many + 1):
        await queued(world, a_new_agent(issue))
    assert await catch_up(world.store, NOON) == many
    assert await catch_up(world.store, NOON) == 0
