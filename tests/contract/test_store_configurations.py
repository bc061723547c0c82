"""What a repository's configuration in force comes from: kept once for all processes."""

import asyncio

from app.ports import Configuration, Repository
from tests.contract.store_support import NOON, World, a_new_agent

HERE = "octo/demo"
FIRST = ({"config.yaml": b"enabled: true\n", "agents/pm.md": b"\xff\x00"},)
SECOND = ({"config.yaml": b""}, *FIRST)


async def test_it_is_there_for_every_process_and_changes_its_digest(world: World) -> None:
    store, other = world.stores
    assert await store.configuration(HERE) == Configuration("", ())
    assert await store.configuration_digest(HERE) == ""
    first = await store.put_in_force(HERE, FIRST, "")
    assert first and await other.configuration(HERE) == Configuration(first, FIRST)
    second = await other.put_in_force(HERE, SECOND, first)
    assert second and await store.configuration(HERE) == Configuration(second, SECOND)
    assert await store.configuration_digest(HERE) == second != first
    assert await store.put_in_force(HERE, FIRST, second) == first, "the same has the same"
    assert await store.configuration_digest("octo/other") == ""


async def test_who_was_overtaken_puts_nothing_in_force(world: World) -> None:
    both = world.stores
    first = await both[0].put_in_force(HERE, FIRST, "")
    assert await both[1].put_in_force(HERE, SECOND, "") is None
    assert await both[1].put_in_force(HERE, SECOND, "another") is None
    assert first is not None
    further = [({"config.yaml": bytes([number])},) for number in range(8)]
    put = [both[n % 2].put_in_force(HERE, steps, first) for n, steps in enumerate(further)]
    digests = await asyncio.gather(*put)
    [winner] = [number for number, digest in enumerate(digests) if digest is not None]
    there = await both[0].configuration(HERE)
    assert (there.digest, there.steps) == (digests[winner], further[winner])


async def test_it_follows_its_repository(world: World) -> None:
    new = a_new_agent()
    assert await world.store.create(new, NOON) is not None
    digest = await world.store.put_in_force(HERE, FIRST, "")
    await world.store.follow(new.repository_id, Repository("acme/shop", 78), NOON)
    assert await world.store.configuration("acme/shop") == Configuration(str(digest), FIRST)
    assert await world.store.configuration_digest(HERE) == ""
