"""The registry: one live agent a post, and changes of state that happen once."""

import asyncio
from dataclasses import replace
from datetime import timedelta, timezone

import pytest

from app.core.agents.agent import Agent, AgentId, Task
from app.core.agents.events import (
    Created,
    Finished,
    HandedOver,
    Kept,
    ModelCalled,
    SegmentEnded,
    SegmentStarted,
    Slept,
    TakenAway,
    Tripped,
    Waits,
    Woken,
)
from app.core.agents.lifecycle import ImpossibleTransition, Signal, State
from app.core.agents.steps import Cancel, TakeAway
from app.core.agents.stops import Layer, Trip
from app.core.agents.transition import transition
from app.core.agents.work import KeptWork
from app.core.limits import LimitName
from app.ports import Publish
from tests.contract.store_support import NOON, OutOfOrder, World, a_new_agent, later, of_a_start
from tests.support.moves import Changes, begin, move

SLEPT = Slept(at=later(10), waits_for=Waits.BLOCKER, blocked_by=(3, 4), reason="needs #3, #4")
WOKEN = Woken(at=later(20), why="#3 and #4 are closed", by="squadron")
TRIP = Trip(
    limit=LimitName.MAX_TURNS,
    observed=50.0,
    maximum=50.0,
    layer=Layer.HOOK,
    at=later(30),
    reason="Too many turns.",
)
TRIPPED = Tripped(at=later(30), trip=TRIP)


async def sleep(world: World, agent: Agent) -> Agent | None:
    changes = Changes(waits_for=Waits.BLOCKER, blocked_by=(3, 4), summary="half done")
    return await move(world.store, agent, Signal.WAITS, [SLEPT], changes)


async def wake(world: World, agent: Agent) -> Agent | None:
    return await move(world.store, agent, Signal.WOKEN, [WOKEN], Changes())


async def trip(world: World, agent: Agent) -> Agent | None:
    return await move(world.store, agent, Signal.TRIPPED, [TRIPPED], Changes(stop=TRIP))


# --- creation --------------------------------------------------------------------------------


async def test_an_agent_starts_queued_with_its_work(world: World) -> None:
    new = a_new_agent()
    created = await world.store.create(new, NOON)
    assert created is not None
    assert created.id == AgentId("octo/demo", 12, "bug-fix", 1)
    assert (created.state, created.segment, created.segment_attempts) == (State.QUEUED, 0, 0)
    assert created.assignment == new.assignment
    assert (created.branch, created.default_branch) == ("squadron/x", "main")
    assert (created.created_at, created.updated_at) == (NOON, NOON)
    assert created.created_at.utcoffset() == NOON.utcoffset()
    assert await world.store.agent(created.id) == created
    assert await world.store.log(created.id) == [
        Created(
            at=NOON,
            started_by="ada",
            trigger="label squadron:bug-fix",
            task_sha256=created.assignment.task.sha256,
        )
    ]
    assert world.queued() == of_a_start(created.id)


async def test_instants_of_other_time_zones_are_the_same_instants(world: World) -> None:
    there = NOON.astimezone(timezone(timedelta(hours=-7, minutes=-30)))
    created = await world.store.create(a_new_agent(), there)
    assert created is not None
    assert (created.created_at, created.created_at.utcoffset()) == (NOON, timedelta())


async def test_a_post_has_one_live_agent(world: World) -> None:
    created = await asyncio.gather(
        *(world.stores[n % 2].create(a_new_agent(), later(n)) for n in range(20))
    )
    [only] = [agent for agent in created if agent is not None]
    assert len(await world.store.agents()) == 1
    assert world.queued() == of_a_start(only.id)


async def test_other_roles_and_issues_are_other_posts(world: World) -> None:
    for new in (a_new_agent(12), a_new_agent(13), a_new_agent(12, role="pr-review")):
        assert await world.store.create(new, NOON) is not None


async def test_a_successor_names_its_predecessor_and_inherits(world: World) -> None:
    first = await world.an_active()
    asleep = await sleep(world, first)
    assert asleep is not None
    assert await world.store.create(a_new_agent(), later(25)) is None
    assert await trip(world, asleep) is not None
    second = await world.store.create(a_new_agent(branch="squadron/other"), later(40))
    assert second is not None
    assert second.id == replace(first.id, attempt=2)
    assert second.predecessor == str(first.id)
    assert (second.branch, second.summary) == (first.branch, "half done")
    assert (second.trip, second.tokens) == (None, 0)


async def test_an_agent_that_cannot_be_enqueued_is_not_there(world: World) -> None:
    world.queue_is_broken = True
    with pytest.raises(OutOfOrder):
        await world.store.create(a_new_agent(), NOON)
    assert await world.store.agents() == []


async def test_text_of_strangers_is_stored_whatever_it_holds(world: World) -> None:
    new = a_new_agent()
    wild = replace(new.assignment, task=Task("nul \0", "half a \ud83d pair"))
    created = await world.store.create(
        replace(new, assignment=wild, trigger="\0", started_by="\ud83d"), NOON
    )
    assert created is not None
    assert created.assignment.task.body == "half a \N{REPLACEMENT CHARACTER} pair"
    assert created.started_by == "\N{REPLACEMENT CHARACTER}"
    begun = await begin(world.store, created.id, 0, "worker-1", NOON)
    assert begun is not None
    ended = SegmentEnded(at=NOON, why="nul \0 and \ud83d")
    changes = Changes(summary="nul \0 and \ud83d")
    moved = await move(world.store, begun, Signal.INTERRUPTED, [ended], changes)
    assert moved is not None
    assert moved.summary == "nul \N{REPLACEMENT CHARACTER} and \N{REPLACEMENT CHARACTER}"


# --- segments --------------------------------------------------------------------------------


async def test_a_segment_begins_and_begins_again_after_a_death(world: World) -> None:
    active = await world.an_active()
    assert (active.state, active.worker, active.segment_attempts) == (
        State.ACTIVE,
        "worker-1",
        1,
    )
    again = await begin(world.store, active.id, 0, "worker-2", later(5))
    assert again is not None
    assert (again.worker, again.segment_attempts, again.updated_at) == ("worker-2", 2, later(5))
    assert (await world.store.log(active.id))[1:] == [
        SegmentStarted(at=later(1), segment=0, attempt=1, worker="worker-1", clock_lead=0.0),
        SegmentStarted(at=later(5), segment=0, attempt=2, worker="worker-2", clock_lead=0.0),
    ]


async def test_a_segment_that_is_over_does_not_begin(world: World) -> None:
    active = await world.an_active()
    assert await begin(world.store, active.id, 1, "worker-1", later(5)) is None
    asleep = await sleep(world, active)
    assert asleep is not None
    assert await begin(world.store, active.id, 0, "worker-1", later(11)) is None
    assert await wake(world, asleep) is not None
    assert await begin(world.store, active.id, 0, "worker-1", later(21)) is None
    assert await begin(world.store, active.id, 1, "worker-1", later(22)) is not None
    assert len(await world.store.log(active.id)) == 5


# --- moves -----------------------------------------------------------------------------------


async def test_a_repeated_move_of_an_old_segment_misses(world: World) -> None:
    """The story of `facts/engine.md` 5: on the state alone, step 4 would hit."""
    first = await world.an_active()
    asleep = await sleep(world, first)
    assert asleep is not None
    assert await wake(world, asleep) is not None
    second = await begin(world.store, first.id, 1, "worker-1", later(21))
    assert second is not None

    assert await sleep(world, first) is None
    assert await world.store.agent(first.id) == second

    tripped = await trip(world, second)
    assert tripped is not None
    assert tripped.state is State.ESCALATED
    assert [type(event) for event in await world.store.log(first.id)] == [
        Created,
        SegmentStarted,
        Slept,
        Woken,
        SegmentStarted,
        Tripped,
    ]


async def test_what_a_sleeper_waits_for_goes_when_it_wakes(world: World) -> None:
    asleep = await sleep(world, await world.an_active())
    assert asleep is not None
    assert (asleep.state, asleep.segment) == (State.SLEEPING, 0)
    assert (asleep.waits_for, asleep.blocked_by) == (Waits.BLOCKER, (3, 4))
    assert (asleep.worker, asleep.summary, asleep.updated_at) == (None, "half done", SLEPT.at)
    woken = await wake(world, asleep)
    assert woken is not None
    assert (woken.state, woken.segment, woken.segment_attempts) == (State.QUEUED, 1, 0)
    assert (woken.waits_for, woken.blocked_by) == (None, ())
    assert woken.summary == "half done"
    assert f"agent:{woken.id}:seg:1" in world.queued()


async def test_of_two_who_see_the_same_only_one_moves(world: World) -> None:
    active = await world.an_active()
    moved = await asyncio.gather(
        *(
            move(store, active, Signal.TRIPPED, [TRIPPED], Changes(stop=TRIP))
            for store in world.stores * 8
        ),
        sleep(world, active),
    )
    assert len([agent for agent in moved if agent is not None]) == 1
    assert len(await world.store.log(active.id)) == 3


async def test_what_follows_is_enqueued_only_with_the_move(world: World) -> None:
    active = await world.an_active()
    before = world.queued()
    follow = [Publish(active.id, "trip")]
    done = Finished(at=later(40), why="issue closed")

    world.queue_is_broken = True
    with pytest.raises(OutOfOrder):
        await move(world.store, active, Signal.ABANDONED, [done], Changes(), follow)
    assert await world.store.agent(active.id) == active
    assert len(await world.store.log(active.id)) == 2
    world.queue_is_broken = False

    stale = replace(active, segment=3)
    assert await move(world.store, stale, Signal.ABANDONED, [done], Changes(), follow) is None
    assert world.queued() == before

    assert await move(world.store, active, Signal.ABANDONED, [done], Changes(), follow)
    assert set(world.queued()) == {*before, follow[0].id}


async def take_away(world: World, agent: Agent, said: str = "") -> Agent | None:
    step = TakeAway("#12 was closed.", said)
    return await world.store.move(transition(agent, step, None, later(30)))


async def test_who_was_taken_away_goes_nowhere_but_to_the_end(world: World) -> None:
    active = await world.an_active()
    taken = await take_away(world, active, "comment 7")
    assert taken == replace(
        active, state=State.STOPPING, taken_away_at=later(30), updated_at=later(30)
    )
    assert taken.worker == "worker-1", "what it runs is still there"
    [*_, told] = await world.store.log(active.id)
    assert told == TakenAway(at=later(30), why="#12 was closed.", said="comment 7")
    assert await take_away(world, active) is None, "it is marked already"

    late = SegmentEnded(at=later(31), why="it goes on")
    assert not await world.store.append(active.id, active.segment, 3, [late])
    assert not await world.store.append(active.id, active.segment, 4, [late]), "nobody writes there"
    assert await begin(world.store, active.id, active.segment, "worker-2", later(32)) is None
    assert await sleep(world, active) is None
    assert await trip(world, active) is None
    assert await move(world.store, active, Signal.INTERRUPTED, [late]) is None
    assert await world.store.agent(active.id) == taken

    kept = KeptWork("a" * 40, is_pushed=True)
    cancelled = await world.store.move(transition(taken, Cancel(told), kept, later(40)))
    assert cancelled is not None
    assert (cancelled.state, cancelled.sha) == (State.CANCELLED, "a" * 40)


async def test_who_sleeps_or_waits_in_the_queue_is_taken_away_as_well(world: World) -> None:
    asleep = await sleep(world, await world.an_active())
    assert asleep is not None
    assert await take_away(world, replace(asleep, segment=asleep.segment + 1)) is None
    assert await take_away(world, asleep) is not None
    assert await wake(world, asleep) is None

    queued = await world.store.create(a_new_agent(issue=13), NOON)
    assert queued is not None
    assert await take_away(world, queued) is not None
    assert await begin(world.store, queued.id, 0, "worker-1", later(31)) is None


async def test_an_attempt_that_was_taken_over_moves_nothing(world: World) -> None:
    first = await world.an_active()
    second = await begin(world.store, first.id, 0, "worker-2", later(5))
    assert second is not None
    assert await sleep(world, first) is None
    assert await world.store.agent(first.id) == second
    assert await sleep(world, second) is not None


async def test_an_impossible_move_changes_nothing(world: World) -> None:
    asleep = await sleep(world, await world.an_active())
    assert asleep is not None
    with pytest.raises(ImpossibleTransition):
        await sleep(world, asleep)
    tripped = await trip(world, asleep)
    assert tripped is not None
    with pytest.raises(ImpossibleTransition):
        await wake(world, tripped)
    assert await world.store.agent(asleep.id) == tripped


async def test_a_move_needs_an_event(world: World) -> None:
    active = await world.an_active()
    with pytest.raises(ValueError, match="event"):
        await move(world.store, active, Signal.TRIPPED, [], Changes())
    assert await world.store.agent(active.id) == active


async def test_a_move_carries_its_facts_and_tokens(world: World) -> None:
    active = await world.an_active()
    called = ModelCalled(at=later(2), model="m", input_tokens=3_000_000_000, output_tokens=7)
    changes = Changes(sha="b" * 40, stop=TRIP)
    tripped = await move(world.store, active, Signal.TRIPPED, [called, TRIPPED], changes)
    assert tripped is not None
    assert (tripped.sha, tripped.base_sha, tripped.pull_request) == ("b" * 40, None, None)
    assert (tripped.input_tokens, tripped.output_tokens) == (3_000_000_000, 7)
    assert (tripped.trip, tripped.worker, tripped.updated_at) == (TRIP, None, TRIPPED.at)
    assert await world.store.agent(tripped.id) == tripped


# --- notes and queries -----------------------------------------------------------------------


async def test_notes_change_only_what_they_name(world: World) -> None:
    active = await world.an_active()
    await world.store.note_head(active.id, "a" * 40, "b" * 40)
    await world.store.note_head(active.id, None, "c" * 40)
    assert await world.store.agent(active.id) == replace(active, base_sha="a" * 40, sha="c" * 40)


async def test_what_came_to_github_after_a_segment_is_noted_of_who_has_not_gone_on(
    world: World,
) -> None:
    """The log of a running segment is the segment's own; a pull request is never forgotten."""
    active = await world.an_active()
    asleep = await sleep(world, active)
    assert asleep is not None
    kept = Kept(at=later(20), sha="d" * 40, pushed=True, problem="")
    told = HandedOver(at=later(20), pull_request=5)
    await world.store.note_kept(asleep, kept)
    await world.store.note_handed_over(asleep, told)
    assert (await world.store.log(active.id))[-2:] == [kept, told]
    noted = await world.store.agent(active.id)
    assert noted == replace(asleep, sha="d" * 40, pull_request=5)

    await world.store.note_kept(active, replace(kept, sha="e" * 40))
    await world.store.note_handed_over(active, replace(told, pull_request=6))
    assert (await world.store.log(active.id))[-2:] == [kept, told]
    assert await world.store.agent(active.id) == replace(noted, pull_request=6)


async def test_a_head_that_others_pushed_is_noted_of_who_has_not_gone_on(world: World) -> None:
    active = await world.an_active()
    asleep = await sleep(world, active)
    assert asleep is not None
    log = await world.store.log(active.id)
    told = Publish(active.id, "head")
    await world.store.note_pushed_beside(active, "e" * 40, told)
    assert await world.store.agent(active.id) == asleep
    assert told.id not in world.queued()
    await world.store.note_pushed_beside(asleep, "d" * 40, told)
    assert await world.store.agent(active.id) == replace(asleep, sha="d" * 40)
    assert told.id in world.queued()
    assert await world.store.log(active.id) == log


async def test_agents_are_found_by_place_and_state_oldest_first(world: World) -> None:
    assert await world.store.agent(AgentId("octo/demo", 12, "bug-fix", 1)) is None
    for seconds, issue in ((3, 1), (1, 2), (2, 3)):
        await world.store.create(a_new_agent(issue), later(seconds))
    await world.an_active(4)
    store = world.store

    def issues(agents: object) -> list[int]:
        assert isinstance(agents, list)
        return [agent.id.issue for agent in agents]

    assert issues(await store.agents()) == [4, 2, 3, 1]
    assert issues(await store.agents(repository="octo/demo", issue=3)) == [3]
    assert issues(await store.agents(repository="octo/other")) == []
    assert issues(await store.agents(states=frozenset({State.ACTIVE}))) == [4]
    assert issues(await store.agents(states=frozenset())) == []
    await sleep(world, await world.an_active(5))
    assert issues(await store.agents(waits_for=Waits.BLOCKER)) == [5]
    assert issues(await store.agents(waits_for=Waits.REVIEW)) == []


async def test_it_is_told_when_agents_were_moved_last_and_sub_agents_are_left_out(
    world: World,
) -> None:
    parent = await world.an_active(1)
    child = replace(a_new_agent(2), parent=parent.id, depth=1)
    assert await world.store.create(child, later(9)) is not None
    younger = await world.store.create(a_new_agent(3), later(5))
    assert younger is not None
    changed = await world.store.changed_agents(later(1))
    assert [*changed.items()] == [(parent.id, later(1)), (younger.id, later(5))]
    assert await world.store.changed_agents(later(2)) == {younger.id: later(5)}


async def test_what_is_pushed_after_the_end_is_told_in_the_log(world: World) -> None:
    agent = await trip(world, await world.an_active())
    assert agent is not None
    kept = Kept(at=later(60), sha="c" * 40, pushed=True, problem="")
    await world.store.note_kept(agent, kept)
    assert (await world.store.log(agent.id))[-1] == kept
    assert await world.store.agent(agent.id) == replace(agent, sha="c" * 40)
