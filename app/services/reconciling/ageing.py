"""What is long over takes less room in the database, or none."""

import logging
from datetime import timedelta
from typing import Final

from app.services.views import REFUSED_SHOWN_FOR
from app.services.world import World

WHOLE_DELIVERIES_KEPT_FOR: Final = timedelta(hours=1)
"""For whoever looks at what GitHub sent just now; after it as much is kept as is read again when a
delivery is handled late."""
FINISHED_WORK_KEPT_FOR: Final = timedelta(days=7)
"""Bodies of deliveries and records of work. Delivery ids stay, so that a redelivery is known."""

log = logging.getLogger("squadron.housekeeping")


class Ageing:
    """Once an hour, in every process: nothing of it is wrong when two do it at once."""

    def __init__(self, world: World) -> None:
        self._world = world

    async def go_on(self) -> None:
        """Let everything be as old as it is now. Raises `StoreUnavailable`."""
        store, now = self._world.store, self._world.clock.now()
        await store.shorten_deliveries(now - WHOLE_DELIVERIES_KEPT_FOR)
        await store.forget_deliveries(now - FINISHED_WORK_KEPT_FOR)
        await store.forget_cut_off(now - FINISHED_WORK_KEPT_FOR)
        await store.forget_refused(now - REFUSED_SHOWN_FOR)
        await self._pack()

    async def _pack(self) -> None:
        """Not beside another version of Squadron: one that reads no packed logs would take an
        agent's log for a few lines."""
        store, now = self._world.store, self._world.clock.now()
        at_work = {each.version for each in await store.workers(now) if not each.is_silent}
        if len(at_work) > 1:
            log.info("logs not packed: versions differ", extra={"versions": sorted(at_work)})
            return
        days = timedelta(days=self._world.house.pack_after_days)
        if packed := await store.pack_logs(now - days):
            log.info("logs packed", extra={"agents": packed})
