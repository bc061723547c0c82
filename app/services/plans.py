"""The configuration of each repository, from its default branch, cached for seconds."""

from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final

from app.ports import Repository
from app.services.world import PlanReading, World

KEPT_FOR: Final = timedelta(seconds=30)
MOST_CACHED: Final = 1_000


@dataclass(frozen=True, slots=True)
class _Cached:
    reading: PlanReading
    read_at: datetime


class Plans:
    """Reads a repository's plan; a push to its default branch makes it forget."""

    def __init__(self, world: World) -> None:
        self._world = world
        self._cached: dict[str, _Cached] = {}

    async def of(self, repository: Repository) -> PlanReading:
        """The plan as of at most `KEPT_FOR` ago. May raise `GitHubFailed`."""
        now = self._world.clock.now()
        known = self._cached.get(repository.full_name)
        if known is not None and now - known.read_at < KEPT_FOR:
            return known.reading
        files = await self._world.github.configuration(repository)
        reading = self._world.read_configuration(files)
        if len(self._cached) >= MOST_CACHED:
            self._cached.clear()
        self._cached[repository.full_name] = _Cached(reading, now)
        return reading

    def forget(self, full_name: str) -> None:
        """The default branch moved."""
        self._cached.pop(full_name, None)
