"""Effects: remembered as they are, found when they are due."""

from dataclasses import replace

from app.core.agents.agent import MADE_AT, SETTLED, Effect, EffectName, EffectState
from tests.contract.store_support import NOON, World, later


async def test_an_effect_comes_back_as_it_was_last_saved(world: World) -> None:
    agent = (await world.an_active()).id
    plain = Effect(EffectName.ISSUE)
    full = Effect(
        EffectName.COMMENT,
        EffectState.REFUSED,
        url="https://github.example/octo/demo/issues/12#issuecomment-9",
        number=9_000_000_000,
        content="5d41402a",
        attempts=3,
        error="403: locked \0",
        due_at=later(60),
        edits=(NOON, later(30)),
        detail={"head": "a" * 40},
    )
    await world.store.save_effect(agent, plain)
    await world.store.save_effect(agent, replace(full, error="", detail={}))
    await world.store.save_effect(agent, full)
    found = await world.store.effects(agent)
    assert list(found) == [EffectName.COMMENT, EffectName.ISSUE]
    assert found[EffectName.ISSUE] == plain
    assert found[EffectName.COMMENT] == replace(full, error="403: locked \N{REPLACEMENT CHARACTER}")


async def test_agents_whose_effects_are_due_are_found(world: World) -> None:
    agents = [(await world.an_active(number)).id for number in range(1, 7)]
    due, at_once, not_yet, done, refused, given_up = agents
    for agent, effect in (
        (due, Effect(EffectName.CHECK, due_at=NOON)),
        (due, Effect(EffectName.ISSUE)),
        (at_once, Effect(EffectName.CHECK)),
        (not_yet, Effect(EffectName.CHECK, due_at=later(1))),
        (done, Effect(EffectName.CHECK, EffectState.DONE)),
        (refused, Effect(EffectName.CHECK, EffectState.REFUSED, due_at=NOON)),
        (given_up, Effect(EffectName.CHECK, EffectState.REFUSED)),
    ):
        await world.store.save_effect(agent, effect)
    assert await world.store.agents_with_due_effects(NOON) == [due, at_once, refused]
    assert await world.store.agents_with_due_effects(later(1)) == [
        due,
        at_once,
        not_yet,
        refused,
    ]


async def test_agents_are_found_with_what_may_be_there_twice(world: World) -> None:
    agents = [(await world.an_active(number)).id for number in range(1, 6)]
    made, settled, wanted, people, unmade = agents
    at = {MADE_AT: NOON.isoformat()}
    check = Effect(EffectName.CHECK, EffectState.DONE)
    for agent, effect in (
        (made, replace(check, detail=at)),
        (made, Effect(EffectName.COMMENT, EffectState.DONE, detail=at)),
        (settled, replace(check, detail={**at, SETTLED: NOON.isoformat()})),
        (wanted, Effect(EffectName.CHECK, detail=at)),
        (people, replace(check, detail={**at, "said": f'"{SETTLED}":'})),
        (unmade, check),
    ):
        await world.store.save_effect(agent, effect)
    assert await world.store.agents_with_new_effects(later(1)) == [made, people]
    assert await world.store.agents_with_new_effects(later(2)) == []


async def test_an_agent_without_effects_has_none(world: World) -> None:
    assert await world.store.effects((await world.an_active()).id) == {}


async def test_what_was_tried_in_vain_is_told_and_can_be_asked_for_at_once(world: World) -> None:
    here, there = [(await world.an_active(number)).id for number in (1, 2)]
    vain = Effect(EffectName.CHECK, attempts=3, due_at=later(600))
    refused = Effect(EffectName.COMMENT, EffectState.REFUSED, attempts=1, due_at=later(900))
    for agent, effect in (
        (here, vain),
        (here, refused),
        (here, Effect(EffectName.ISSUE, due_at=later(60))),
        (there, replace(vain, state=EffectState.DONE)),
    ):
        await world.store.save_effect(agent, effect)
    assert await world.store.failing_effects() == [(here, vain), (here, refused)]

    await world.store.ask_effects_again(NOON, "octo/elsewhere")
    assert await world.store.agents_with_due_effects(NOON) == []
    await world.store.ask_effects_again(NOON, here.repository)
    assert await world.store.agents_with_due_effects(NOON) == [here]
    found = await world.store.effects(here)
    assert [found[name].due_at for name in found] == [NOON, NOON, later(60)]
    assert (await world.store.effects(there))[EffectName.CHECK].due_at == later(600)

    await world.store.save_effect(here, vain)
    await world.store.ask_effects_again(NOON)
    assert (await world.store.effects(here))[EffectName.CHECK].due_at == NOON


async def test_what_is_forgotten_was_never_wanted(world: World) -> None:
    agent, other = [(await world.an_active(number)).id for number in (1, 2)]
    kept = Effect(EffectName.CHECK, EffectState.DONE)
    for one in (agent, other):
        await world.store.save_effect(one, Effect(EffectName.PULL_REQUEST, attempts=2))
    await world.store.save_effect(agent, kept)
    for _ in range(2):
        await world.store.forget_effect(agent, EffectName.PULL_REQUEST)
    assert await world.store.effects(agent) == {EffectName.CHECK: kept}
    assert [found for found, _ in await world.store.failing_effects()] == [other]
