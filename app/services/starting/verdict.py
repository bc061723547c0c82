"""What becomes of an order for which no agent was started."""

from dataclasses import dataclass
from enum import Enum, auto


class Refusal(Enum):
    """What follows for the order."""

    ANSWERED = auto()
    """One has answered it already, or it was taken back."""
    NEVER = auto()
    """It may not start: only who asks anew is answered anew."""
    NOT_NOW = auto()
    """It cannot start as things are."""
    WAITS = auto()
    """It was put off, and starts by itself."""


@dataclass(frozen=True, slots=True)
class NotStarted:
    """No agent was started."""

    refusal: Refusal
    why: str
    """For people: a clause, as `the issue is closed`."""

    @property
    def waits(self) -> bool:
        """Whether it starts by itself."""
        return self.refusal is Refusal.WAITS
