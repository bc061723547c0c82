"""How far reconciliation has seen a repository: the latest look takes the place of the others."""

from dataclasses import replace

from app.core.steering.asks import Trigger
from app.ports import Look
from tests.contract.store_support import NOON, World, later

LOOK = Look(
    threads_until=NOON,
    comments_until=later(1),
    looked_at=later(2),
    fully_at=later(3),
    triggers={"issues.opened": Trigger("pm", later(-5))},
    heads={7: "5e1f" * 10},
)


async def test_the_latest_look_is_kept(world: World) -> None:
    assert await world.store.looks() == {}
    assert await world.store.look_at("octo/demo") is None
    await world.store.save_look("octo/demo", LOOK)
    other = replace(LOOK, triggers={}, heads={})
    await world.store.save_look("octo/other", LOOK)
    await world.store.save_look("octo/other", other)
    for store in world.stores:
        assert await store.looks() == {"octo/demo": LOOK, "octo/other": other}
        assert await store.look_at("octo/other") == other
