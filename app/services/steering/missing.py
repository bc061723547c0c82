"""Issues that GitHub does not find: it may err once, so a later look has to see the same."""

from datetime import datetime, timedelta
from typing import Final

from app.ports import Clock, Issue, Repository

SEEN_AGAIN_AFTER: Final = timedelta(seconds=30)
"""Looks that are closer together may meet the same error of GitHub's."""
KEPT_FOR: Final = timedelta(days=1)
"""After the first look; by then whoever is concerned was looked at."""


class Missing:
    """What one process knows of them."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._since: dict[tuple[str, int], datetime] = {}
        """When each was not found for the first time."""

    def told(self, repository: Repository, number: int) -> None:
        """A delivery says that an issue was deleted or transferred."""
        self._since[repository.full_name, number] = self._clock.now() - SEEN_AGAIN_AFTER

    def is_doubted(self, repository: Repository, number: int) -> bool:
        """Whether it was not found, and has to be looked for once more."""
        return (repository.full_name, number) in self._since

    def is_gone(self, repository: Repository, number: int, found: Issue | None) -> bool:
        """Whether nobody will find it any more, as of this answer of GitHub's."""
        key = repository.full_name, number
        if found is not None:
            self._since.pop(key, None)
            return False
        now = self._clock.now()
        self._since = {each: at for each, at in self._since.items() if now - at < KEPT_FOR}
        return now - self._since.setdefault(key, now) >= SEEN_AGAIN_AFTER
