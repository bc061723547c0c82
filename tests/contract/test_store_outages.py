"""Providers of models that are away, in the database: one probe, whoever asks for it."""

import asyncio
from datetime import timedelta

from app.core.agents.events import HeldUp, Waits
from app.core.agents.lifecycle import Signal, State
from app.core.rules.outages import Outage, ProviderFailure
from tests.contract.store_support import NOON, World, later
from tests.support.moves import Changes, begin, move

DOWN = ProviderFailure("openai", "it answered with HTTP status 503")
PAUSE = timedelta(seconds=5)


async def test_an_outage_is_kept_until_there_is_an_answer(world: World) -> None:
    assert await world.store.outages() == {}
    found = await world.store.provider_failed(DOWN, "a", NOON)
    assert found == Outage(DOWN, NOON, 1, NOON + PAUSE)
    assert await world.store.outages() == {"openai": found}
    assert await world.store.provider_answered("openai") == found
    assert await world.store.outages() == {}
    assert await world.store.provider_answered("openai") is None


async def test_providers_are_away_each_for_itself(world: World) -> None:
    refused = ProviderFailure("anthropic", "there is no key", is_refused=True)
    await world.store.provider_failed(DOWN, "a", NOON)
    await world.store.provider_failed(refused, "b", NOON)
    await world.store.provider_answered("openai")
    [left] = (await world.store.outages()).values()
    assert left.failure == refused


async def test_of_many_who_may_ask_at_once_one_does(world: World) -> None:
    await world.store.provider_failed(DOWN, "a", NOON)
    assert await world.store.ask_provider("openai", "a", NOON) is not None
    agents = [f"agent-{n}" for n in range(10)]
    asks = [
        world.stores[n % 2].ask_provider("openai", each, later(5)) for n, each in enumerate(agents)
    ]
    kept_out = await asyncio.gather(*asks)
    assert kept_out.count(None) == 1
    winner = agents[kept_out.index(None)]
    assert await world.store.ask_provider("openai", winner, later(6)) is None
    assert (await world.store.outages())["openai"].probe == winner
    assert await world.store.ask_provider("anthropic", "a", later(6)) is None


async def test_many_who_fail_at_once_are_one_try(world: World) -> None:
    failing = [world.stores[n % 2].provider_failed(DOWN, f"agent-{n}", NOON) for n in range(10)]
    await asyncio.gather(*failing)
    assert (await world.store.outages())["openai"].tries == 1


async def test_a_start_lets_anyone_ask_at_once(world: World) -> None:
    for n in range(4):
        await world.store.provider_failed(DOWN, "a", later(10_000 * n))
    await world.store.ask_provider("openai", "a", later(40_000))
    await world.store.ask_providers_at_once(later(40_001))
    assert await world.store.ask_provider("openai", "b", later(40_001)) is None
    assert await world.store.ask_provider("openai", "a", later(40_002)) is not None
    assert (await world.store.outages())["openai"].tries == 4


async def test_who_waits_for_one_says_so_until_its_segment_begins(world: World) -> None:
    agent = await world.an_active()
    told = HeldUp(at=later(2), waits_for=Waits.PROVIDER, why="it is away")
    changes = Changes(
        waits_for=Waits.PROVIDER, retry_at=later(7), missing_provider="openai", pause_seconds=5
    )
    held = await move(world.store, agent, Signal.INTERRUPTED, [told], changes)
    assert held is not None and held.state is State.QUEUED
    assert (held.retry_at, held.missing_provider) == (later(7), "openai")
    begun = await begin(world.store, held.id, held.segment, "worker-1", later(8))
    assert begun is not None and begun.state is State.ACTIVE
    assert (begun.retry_at, begun.missing_provider, begun.waits_for) == (None, None, None)
