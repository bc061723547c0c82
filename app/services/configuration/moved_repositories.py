"""Repositories that were renamed or transferred: their agents go on where those are now.

An agent keeps its id, which names the repository as it was called first; all else follows.
"""

import logging
from collections.abc import Mapping

from app.ports import Repository
from app.services.guard import Guard
from app.services.world import World

log = logging.getLogger("squadron.reconcile")


class Moving:
    """Follows repositories by GitHub's id of them."""

    def __init__(self, world: World, guard: Guard) -> None:
        self._world = world
        self._guard = guard

    async def follow(self, listed: Mapping[int, Repository]) -> list[str]:
        """Follow to wherever GitHub lists them now; what has moved, in words."""
        moved, places = [], await self._world.store.places()
        for repository_id, present in listed.items():
            known = places.get(repository_id)
            if present == known:
                continue
            with self._guard.over(f"where {present.full_name} is"):
                await self.arrived(repository_id, present)
                if known is not None:
                    moved.append(f"{known.full_name} to {present.full_name}")
        return moved

    async def arrived(self, repository_id: int, here: Repository) -> bool:
        """GitHub has just said that the repository is here; whether that is news."""
        before = await self._world.store.follow(repository_id, here, self._world.clock.now())
        for there in before:
            where = {"repository": here.full_name, "before": there.full_name}
            log.info("the repository has moved", extra=where)
        return bool(before)
