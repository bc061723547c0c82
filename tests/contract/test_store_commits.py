"""The mark by which a reader sees that something was committed."""

from itertools import product

import pytest

from app.core.rules.brakes import Brake, Place
from tests.contract.store_support import NOON, World


async def test_every_commit_of_anybody_changes_the_mark(world: World) -> None:
    for number, (writes, reads) in enumerate(product(world.stores, world.stores)):
        before = await reads.commit_mark()
        assert await writes.put_brake_on(Brake(Place.repository(f"octo/{number}"), "ada", NOON))
        assert await reads.commit_mark() != before


async def test_who_only_reads_changes_nothing(world: World) -> None:
    if world.engine.dialect.name == "postgresql":
        pytest.skip("what is committed in other databases of the server changes it, too")
    before = await world.store.commit_mark()
    for store in world.stores:
        await store.brakes()
    assert await world.store.commit_mark() == before
