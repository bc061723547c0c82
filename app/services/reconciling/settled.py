"""What needs no second look until it changes."""

from collections import OrderedDict
from datetime import datetime, timedelta
from typing import Final

from app.ports import Clock

SETTLES_IN: Final = timedelta(seconds=5)
"""GitHub tells time in seconds: what has changed just now may change again unnoticed."""
MOST_SETTLED: Final = 50_000


class Settled:
    """Remembers, for this process, by when what had changed when it was dealt with."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._changed_at: OrderedDict[str, datetime] = OrderedDict()

    def has(self, name: str, changed_at: datetime) -> bool:
        """Whether it was dealt with and has not changed since."""
        return self._changed_at.get(name) == changed_at

    def note(self, name: str, changed_at: datetime) -> None:
        """It is dealt with, as it was then; the one that was dealt with longest ago is forgotten
        at the bound."""
        if self._clock.now() - changed_at < SETTLES_IN:
            return
        self._changed_at[name] = changed_at
        self._changed_at.move_to_end(name)
        if len(self._changed_at) > MOST_SETTLED:
            self._changed_at.popitem(last=False)

    def forget(self) -> None:
        """Something else than GitHub has changed: all is to be looked at again."""
        self._changed_at.clear()
