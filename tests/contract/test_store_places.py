"""What is kept of a repository by its name follows it to the next one; its agents keep theirs."""

from dataclasses import replace
from typing import get_args

from app.adapters.store.ledger import SqlLedger
from app.core.agents.agent import Agent, AgentId, Effect, EffectName, EffectState
from app.core.agents.events import Finished
from app.core.agents.lifecycle import Signal
from app.core.budgets.budgets import Account, Window
from app.core.budgets.ledger import Balance
from app.core.github.comment_kinds import CommentKind
from app.core.rules.brakes import Brake, Place
from app.ports import Funding, HeardCommands, Look, Repository, StartRefused
from tests.contract.store_support import NOON, World, a_new_agent, later
from tests.support.moves import Changes, begin, move

ID = a_new_agent().repository_id
BEFORE, AFTER = Repository("octo/demo", 77), Repository("acme/shop", 78)
LOOK = Look(NOON, NOON, NOON, NOON, triggers={}, heads={})


async def an_agent(world: World) -> Agent:
    created = await world.store.create(a_new_agent(), NOON)
    assert created is not None
    return created


async def test_an_agent_keeps_its_name_and_its_post_moves(world: World) -> None:
    agent = await an_agent(world)
    assert await world.store.places() == {ID: BEFORE}
    assert await world.store.follow(ID, AFTER, NOON) == [BEFORE]
    assert await world.store.places() == {ID: AFTER}
    moved = await world.store.agent(agent.id)
    assert moved == replace(agent, repository="acme/shop", installation_id=78)
    assert await world.store.agents(repository="acme/shop") == [moved]
    assert await world.store.agents(repository="octo/demo") == []
    there = replace(a_new_agent(), repository=AFTER)
    assert await world.store.create(there, NOON) is None, "its post is taken there"


async def test_a_repeat_and_another_repository_change_nothing(world: World) -> None:
    agent = await an_agent(world)
    assert not await world.store.follow(ID, BEFORE, NOON)
    assert not await world.store.follow(ID + 1, AFTER, NOON)
    assert await world.store.agent(agent.id) == agent
    await world.store.follow(ID, AFTER, NOON)
    assert not await world.store.follow(ID, AFTER, NOON)


async def test_another_repository_of_the_old_name_has_ids_of_its_own(world: World) -> None:
    agent = await an_agent(world)
    await world.store.follow(ID, AFTER, NOON)
    other = await world.store.create(replace(a_new_agent(), repository_id=ID + 1), NOON)
    assert other is not None and other.predecessor is None
    assert (str(agent.id), str(other.id)) == ("octo/demo#12/bug-fix/1", "octo/demo#12/bug-fix/2")
    assert await world.store.places() == {ID: AFTER, ID + 1: BEFORE}


async def test_a_successor_has_the_new_name(world: World) -> None:
    agent = await an_agent(world)
    active = await begin(world.store, agent.id, 0, "worker-1", later(1))
    assert active is not None
    await world.store.follow(ID, AFTER, NOON)
    ended = Finished(at=later(2), why="done")
    assert await move(world.store, active, Signal.FINISHED, [ended], Changes())
    heir = await world.store.create(replace(a_new_agent(), repository=AFTER), NOON)
    assert heir is not None
    assert heir.id == AgentId("acme/shop", 12, "bug-fix", 2)
    assert heir.predecessor == str(agent.id)


async def test_what_was_seen_heard_and_refused_follows(world: World) -> None:
    await an_agent(world)
    refused = StartRefused("octo/demo", 3, "docs", "no model", "ada", NOON, NOON, 1)
    heard = HeardCommands("octo/demo", "comment 5", 5, 12, "ada", ("/squadron stop",), False, NOON)
    await world.store.save_look("octo/demo", LOOK)
    await world.store.note_refused(refused, is_asked=True)
    await world.store.hear_commands(heard)
    await world.store.follow(ID, AFTER, NOON)
    assert await world.store.looks() == {"acme/shop": LOOK}
    assert await world.store.refused_starts(NOON) == [replace(refused, repository="acme/shop")]
    assert await world.store.heard_commands("acme/shop", 5) == [
        replace(heard, repository="acme/shop")
    ]


async def test_comments_of_each_kind_are_counted_on_their_own(world: World) -> None:
    told = [
        HeardCommands(
            "octo/demo", f"{kind} 5", 5, 12, "ada", (f"/squadron {kind}",), False, NOON, kind=kind
        )
        for kind in get_args(CommentKind)
    ]
    for each in told:
        await world.store.hear_commands(each)
    assert len(told) == 3 and len(await world.store.heard_commands("octo/demo")) == 3
    for each in told:
        assert await world.store.heard_commands("octo/demo", 5, each.kind) == [each]
    assert await world.store.heard_commands("octo/demo", 5) == [told[0]]


async def test_what_is_known_under_the_new_name_stays(world: World) -> None:
    await an_agent(world)
    newer = replace(LOOK, looked_at=later(60))
    await world.store.save_look("octo/demo", LOOK)
    await world.store.save_look("acme/shop", newer)
    await world.store.follow(ID, AFTER, NOON)
    assert await world.store.looks() == {"acme/shop": newer}


async def test_brakes_follow_and_one_is_enough(world: World) -> None:
    await an_agent(world)
    for place in (Place.repository("octo/demo"), Place.configuration("octo/demo")):
        assert await world.store.put_brake_on(Brake(place, "ada", NOON))
    assert await world.store.put_brake_on(Brake(Place.configuration("acme/shop"), "leo", NOON))
    await world.store.follow(ID, AFTER, NOON)
    brakes = await world.store.brakes()
    assert {(each.place, each.by) for each in brakes} == {
        (Place.repository("acme/shop"), "ada"),
        (Place.configuration("acme/shop"), "leo"),
    }


async def test_a_brake_stays_on_where_only_the_case_of_a_name_changes(world: World) -> None:
    await an_agent(world)
    brake = Brake(Place.repository("octo/demo"), "ada", NOON)
    await world.store.put_brake_on(brake)
    await world.store.follow(ID, Repository("Octo/Demo", 77), NOON)
    assert await world.store.brakes() == [brake]


async def test_what_was_spent_stays_spent(world: World) -> None:
    """A budget of the repository, of one of its issues, or of a role in it, is not begun anew."""
    keys = ("repository:octo/demo", "issue:octo/demo#12", "role:octo/demo:bug-fix", "user:ada")
    others = ("repository:octo/demo-2", "issue:octo/demo2#12")
    accounts = [Account(key, Window.TOTAL, None, 100) for key in (*keys, *others)]
    created = await world.store.create_funded(a_new_agent(), Funding(7, tuple(accounts)), NOON)
    assert isinstance(created, Agent)
    await world.store.follow(ID, AFTER, NOON)
    ledger = SqlLedger(world.engine, world.writer)
    await ledger.report(created.id, 3, NOON)
    moved = ("repository:acme/shop", "issue:acme/shop#12", "role:acme/shop:bug-fix", "user:ada")
    for key in (*moved, *others):
        account = Account(key, Window.TOTAL, None, 100)
        assert (await ledger.balance(account)).actual_nanousd == 3, key
    for key in keys[:3]:
        account = Account(key, Window.TOTAL, None, 100)
        assert await ledger.balance(account) == Balance(account), key


async def test_what_github_refused_is_due_again(world: World) -> None:
    agent = await an_agent(world)
    refused = Effect(EffectName.CHECK, EffectState.REFUSED, error="moved", due_at=later(600))
    done = Effect(EffectName.COMMENT, EffectState.DONE)
    for effect in (refused, done):
        await world.store.save_effect(agent.id, effect)
    assert await world.store.agents_with_due_effects(later(1)) == []
    await world.store.follow(ID, AFTER, NOON)
    assert await world.store.effects(agent.id) == {
        EffectName.CHECK: replace(refused, due_at=NOON),
        EffectName.COMMENT: done,
    }
    assert await world.store.agents_with_due_effects(NOON) == [agent.id]


async def test_a_repository_without_an_agent_is_followed_from_where_it_was_noted(
    world: World,
) -> None:
    brake = Brake(Place.repository("octo/demo"), "ada", NOON)
    await world.store.put_brake_on(brake)
    assert await world.store.put_in_force("octo/demo", [{"config.yaml": b"{}"}], "") is not None
    digest = await world.store.configuration_digest("octo/demo")
    assert not await world.store.follow(ID, BEFORE, NOON)
    assert await world.store.places() == {ID: BEFORE}
    assert await world.store.follow(ID, AFTER, NOON) == [BEFORE]
    assert await world.store.places() == {ID: AFTER}
    assert await world.store.brakes() == [replace(brake, place=Place.repository("acme/shop"))]
    assert await world.store.configuration_digest("acme/shop") == digest
    assert await world.store.configuration_digest("octo/demo") == ""
    for store in world.stores:
        assert not await store.follow(ID, AFTER, NOON)
