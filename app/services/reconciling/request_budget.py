"""What one pass of reconciliation may ask GitHub, and whom it may start.

Each kind of work has a share that those before it cannot spend, so that none of them waits for
ever behind another. A share is looked at before each piece of work, never within one: half an
escalation would be worse than a late one. So a pass may exceed its bound by one piece.
"""

from collections import Counter
from dataclasses import dataclass, field
from enum import IntEnum
from typing import Final

from app.ports import Spent
from app.services.drain import Drain


class Share(IntEnum):
    """Up to how many requests of the pass, all before included, a kind of work may begin.

    GitHub allows an installation 5,000 an hour; at the default interval passes spend a fifth of
    what a single installation has, if nothing were unchanged.
    """

    AGENTS = 100
    """Agents whose time is up, and starts that waited for a budget."""
    LOOKS = 750
    """Looks at repositories: two or three lists each, and what follows from what has changed."""
    REVIEWS = 820
    """Pull requests that wait for a review."""
    ESCALATIONS = 880
    """Needs-human issues whose original may be closed."""
    EFFECTS = 930
    """What is still to be written, should the work that is to write it be lost."""
    DOUBLES = 970


IN_TURN: Final = frozenset({Share.REVIEWS, Share.ESCALATIONS})
"""What is asked about again and again while nothing happens there, as webhooks tell of it: in the
turn of those that were not asked about for longest."""
USUAL_REQUESTS: Final = 240
"""Up to how many requests of the pass, all before included, that goes on."""
LEAST_IN_TURN: Final = 12
"""Requests that each kind of it has in any case."""


@dataclass(slots=True)
class Purse:
    """What a pass has spent, and what it has left to the next ones."""

    spent: Spent
    drain: Drain
    """A process that is to end begins nothing more."""
    starts_left: int
    """Agents that it may still start of which no webhook told (`max_starts_per_pass`)."""
    put_off: Counter[str] = field(default_factory=Counter)
    """How many pieces of each kind had no turn."""
    _begun: dict[Share, int] = field(default_factory=dict)
    """What was spent when the first piece of a kind wanted to begin."""

    def holds(self, share: Share) -> bool:
        """Whether the next piece of that kind may begin."""
        spent = self.spent.requests
        begun = self._begun.setdefault(share, spent)
        most: int = share
        if share in IN_TURN:
            most = min(share, max(USUAL_REQUESTS, begun + LEAST_IN_TURN))
        return spent < most and not self.drain.is_ending

    def leave(self, share: Share, pieces: int = 1) -> None:
        """So many had no turn."""
        if pieces:
            self.put_off[share.name.lower()] += pieces
