"""The registry in figures, and the stops that are judged: the same on both databases."""

from dataclasses import replace

from app.core.agents.agent import AgentId, Effect, EffectName, EffectState
from app.core.agents.events import Finished, Held, HeldUp, Raised, Tripped, TurnAsked, Waits
from app.core.agents.lifecycle import Signal, State
from app.core.agents.stops import Hold, Layer, Trip
from app.core.history.precision import TOLD_BY
from app.core.limits import LimitName
from tests.contract.store_support import NOON, World, a_new_agent, later
from tests.support.moves import Changes, move

TRIP = Trip(
    limit=LimitName.MAX_TURNS,
    observed=5,
    maximum=5,
    layer=Layer.HOOK,
    at=later(30),
    reason="max_turns reached: 5 of 5 turns.",
)
HOLD = Hold(
    limit=LimitName.MAX_TURNS,
    observed=5,
    maximum=5,
    layer=Layer.HOOK,
    at=later(10),
    reason="max_turns reached: 5 of 5 turns.",
)


async def a_queued(world: World, issue: int, seconds: float, parent: AgentId | None = None) -> None:
    new = replace(a_new_agent(issue), parent=parent, depth=0 if parent is None else 1)
    assert await world.store.create(new, later(seconds)) is not None


async def test_agents_are_counted_by_state_and_role_without_sub_agents(world: World) -> None:
    assert (await world.store.figures()).agents == {}
    working = await world.an_active(1)
    await a_queued(world, 2, 5)
    await a_queued(world, 3, 9)
    await a_queued(world, 1, 2, parent=working.id)
    shown = await world.store.figures()
    assert shown.agents == {(State.ACTIVE, "bug-fix"): 1, (State.QUEUED, "bug-fix"): 2}
    assert shown.queued_since == later(5), "the first of those that wait for a worker"


async def test_who_waits_for_something_else_makes_no_queue_old(world: World) -> None:
    waiting = await world.an_active(1)
    lacks = Changes(waits_for=Waits.PROVIDER, retry_at=later(60), missing_provider="anthropic")
    told = HeldUp(at=later(3), waits_for=Waits.PROVIDER, why="It does not answer.")
    assert await move(world.store, waiting, Signal.INTERRUPTED, [told], lacks) is not None
    shown = await world.store.figures()
    assert shown.queued_since is None
    assert shown.waiting_for_provider == {"anthropic": 1}


async def test_what_is_not_on_github_is_counted_by_effect_and_state(world: World) -> None:
    for issue, check in ((1, EffectState.WANTED), (2, EffectState.WANTED), (3, EffectState.DONE)):
        agent = await world.an_active(issue)
        await world.store.save_effect(agent.id, Effect(EffectName.CHECK, check))
        await world.store.save_effect(agent.id, Effect(EffectName.LABEL, EffectState.REFUSED))
    assert (await world.store.figures()).unwritten == {
        (EffectName.CHECK, EffectState.WANTED): 2,
        (EffectName.LABEL, EffectState.REFUSED): 3,
    }


async def test_stops_are_found_with_what_came_of_them_and_with_the_retry(world: World) -> None:
    paused, nobody = await world.an_active(1), await world.an_active(2)
    raised = Raised(at=later(20), limit=LimitName.MAX_TURNS, amount=5, maximum=10, by="maria")
    turn = TurnAsked(at=later(5))
    held = Held(at=later(10), hold=HOLD)
    assert await world.store.append(paused.id, 0, 3, [turn, held, raised])
    assert await world.store.append(nobody.id, 0, 3, [turn])
    tripped = Tripped(at=later(30), trip=TRIP)
    assert await move(world.store, paused, Signal.TRIPPED, [tripped], Changes(stop=TRIP))
    retry = await world.store.create(a_new_agent(1), later(40))
    assert retry is not None and retry.predecessor == str(paused.id)

    found = await world.store.stopped_since(NOON)
    assert [each.agent.id for each in found] == [paused.id, retry.id]
    first, second = (list(each.log) for each in found)
    assert first[1:] == [held, raised, tripped] and isinstance(first[0], TOLD_BY)
    assert second == []
    assert len(await world.store.stopped_since(later(30))) == 2, "the trip came just then"
    assert await world.store.stopped_since(later(31)) == []


async def test_the_end_of_a_merge_is_among_what_is_told(world: World) -> None:
    agent = await world.an_active(1)
    assert await world.store.append(agent.id, 0, 3, [Held(at=later(10), hold=HOLD)])
    merged = Finished(at=later(50), why="#7 was merged.", since=later(49))
    assert await move(world.store, agent, Signal.FINISHED, [merged], Changes()) is not None
    [history] = await world.store.stopped_since(NOON)
    assert history.log[-1] == merged
