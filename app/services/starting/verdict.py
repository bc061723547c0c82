"""What becomes of an order for which no agent was started."""

from enum import Enum, auto


class NotStarted(Enum):
    """Why no agent was started."""

    ANSWERED = auto()
    """One has answered this already, or it was taken back."""
    NEVER = auto()
    """It may not start: only who asks anew is answered anew."""
    NOT_NOW = auto()
    """It cannot start as things are."""
    WAITS = auto()
    """It was put off, and starts by itself."""
