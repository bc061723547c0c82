"""Limits that were moved without a human: kept per repository, role and limit."""

from dataclasses import replace

from app.core.history.adapting import Adapted
from app.core.limits import LimitName
from tests.contract.store_support import World, later

CALLS = Adapted("bug-fix", LimitName.MAX_TOOL_CALLS, 200, 150, later(0))
COST = Adapted("bug-fix", LimitName.MAX_COST_USD, 0.1, 0.08, later(1))
PM = replace(CALLS, role="pm")


async def test_the_latest_step_of_each_limit_is_kept(world: World) -> None:
    store, other = world.stores
    assert await store.adapted("octo/demo") == []
    for each in (CALLS, PM, COST):
        await store.adapt("octo/demo", each)
    await store.adapt("octo/other", replace(CALLS, value=1))
    further = replace(CALLS, value=130, at=later(604_800))
    await other.adapt("octo/demo", further)
    assert await store.adapted("octo/demo") == [COST, further, PM]
