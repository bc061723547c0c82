"""The last pass of reconciliation in the database: one, whoever made it."""

from dataclasses import replace

from app.ports import Pass
from tests.contract.store_support import NOON, World, later

DONE = Pass(
    why="start",
    ended_at=NOON,
    seconds=3.25,
    agents=5_000,
    repositories=200,
    looked_at_fully=33,
    repairs=1,
    requests=640,
    unchanged=600,
    token_requests=201,
    put_off={"reviews": 430},
    failed={"acme/shop: #7": "KeyError"},
)


async def test_the_newest_pass_takes_the_place_of_the_one_before(world: World) -> None:
    assert await world.store.last_pass() is None
    await world.store.save_pass(DONE)
    assert await world.store.last_pass() == DONE
    after = replace(DONE, ended_at=later(300), requests=12, put_off={}, failed={})
    await world.store.save_pass(after)
    assert await world.store.last_pass() == after
