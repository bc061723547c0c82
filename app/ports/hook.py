"""The App's webhook, as GitHub remembers it."""

from collections.abc import Sequence
from datetime import datetime
from typing import Protocol

from app.core.github.redelivery import Attempt


class Hook(Protocol):
    """What became of GitHub's deliveries to us. Every method may raise `RateLimited`, `Refused`
    or `Unreachable`."""

    async def failed(self, since: datetime, most: int) -> Sequence[Attempt]:
        """Tries to deliver that failed from `since` on, newest first; of these `most`."""
        ...

    async def deliver_again(self, attempt: int) -> None:
        """Ask for one more try with the same content and guid. It comes later, or fails again."""
        ...
