"""The pace at which an installation is written to, kept by all processes together."""

from datetime import datetime
from typing import Protocol


class Pacing(Protocol):
    """Each write to GitHub takes its room here first. Raises `StoreUnavailable`."""

    async def take(
        self, installation_id: int, at: datetime, *, creates: bool, urgent: bool
    ) -> datetime | None:
        """None: write now. Else nothing was taken, and there may be room at that instant.

        `creates`: a new comment, issue, check or the like. What is `urgent` goes first.
        """
        ...

    async def stop(self, installation_id: int, until: datetime, at: datetime) -> None:
        """GitHub limits the installation: until then nobody writes."""
        ...
