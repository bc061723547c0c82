"""Whether this process can do its work now, for whoever sends it deliveries."""

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final

from app.ports import Clock, Store, StoreUnavailable
from app.web.sharing import OnceForAll

HOLDS_FOR: Final = timedelta(seconds=2)
"""How long an answer holds: everybody may ask, and each try writes to the disk."""


@dataclass(frozen=True, slots=True)
class NotReady:
    """Why this process cannot do its work now."""

    why: str
    """For everybody."""
    detail: str = ""
    """For the operator alone: what the database's driver says names hosts, users and files."""

    @property
    def in_full(self) -> str:
        """Both together."""
        return f"{self.why}: {self.detail}" if self.detail else self.why


class Readiness:
    """Ready is who takes deliveries, keeps them, and sees to them."""

    def __init__(self, store: Store, clock: Clock, dispatching: Callable[[], str]) -> None:
        """`dispatching`: what is wrong with whoever sees to deliveries; nothing if it is empty."""
        self._store = store
        self._clock = clock
        self._dispatching = dispatching
        self._tried_at: datetime | None = None
        self._found: NotReady | None = None
        self._try = OnceForAll(self._look)

    async def why_not(self) -> NotReady | None:
        """In people's words; None if it is ready."""
        if wrong := self._dispatching():
            return NotReady(wrong)
        if not self._holds():
            await self._try()
        return self._found

    def _holds(self) -> bool:
        """A clock that was set back does not make an answer last."""
        if self._tried_at is None:
            return False
        return timedelta(0) <= self._clock.now() - self._tried_at < HOLDS_FOR

    async def _look(self) -> None:
        try:
            await self._store.undispatched(1)
            await self._store.try_room()
        except StoreUnavailable as error:
            self._found = NotReady("deliveries cannot be kept", str(error))
        else:
            self._found = None
        self._tried_at = self._clock.now()
