"""States of an agent, and the one table of allowed transitions (docs/design.md, States).

Nothing else decides a state; a pair that is missing here is refused and changes nothing.
"""

from collections.abc import Mapping
from enum import StrEnum
from types import MappingProxyType
from typing import Final


class State(StrEnum):
    """Where an agent is in its life."""

    QUEUED = "QUEUED"
    """Waits for a worker; no clock runs."""
    ACTIVE = "ACTIVE"
    """Works; the clock of active time runs."""
    SLEEPING = "SLEEPING"
    """Waits for a blocker, an answer or a review."""
    PAUSED = "PAUSED"
    """A limit asked a human; goes on when it is raised."""
    STOPPING = "STOPPING"
    """A human took the work away; what runs is stopped, and the work is being kept."""
    COMPLETED = "COMPLETED"
    """Final: merged, nothing to change, or its review was posted."""
    ESCALATED = "ESCALATED"
    """Final: stopped for good; a human decides."""
    CANCELLED = "CANCELLED"
    """Final: a human took the work away; it is kept."""


FINAL: Final = frozenset({State.COMPLETED, State.ESCALATED, State.CANCELLED})
LIVE: Final = frozenset(State) - FINAL
_GOES_ON: Final = LIVE - {State.STOPPING}
"""Those from which an agent may still go anywhere."""


class Signal(StrEnum):
    """Why an agent changes its state."""

    STARTED = "started"
    """A worker has room."""
    INTERRUPTED = "interrupted"
    """The process drains, or the worker is gone: the work goes on in the next segment."""
    WAITS = "waits"
    """It reported a blocker, asked, or handed over for review."""
    WOKEN = "woken"
    """What it waited for has happened, or a person said so."""
    NEEDS_RAISE = "needs_raise"
    """A limit that pauses was reached."""
    RAISED = "raised"
    """A person with permission granted more."""
    FINISHED = "finished"
    """Merged, nothing to change, or the review was waited for long enough."""
    TRIPPED = "tripped"
    """A limit that stops was reached, or the agent failed without one."""
    TAKEN_AWAY = "taken_away"
    """A person closed the issue, took the label off, or said so."""
    STOPPED = "stopped"
    """Nothing runs any more of what was taken away, and its work is kept."""
    ABANDONED = "abandoned"
    """A sub-agent ends with its parent, or nobody runs it any more."""


TRANSITIONS: Final[Mapping[tuple[State, Signal], State]] = MappingProxyType(
    {
        (State.QUEUED, Signal.STARTED): State.ACTIVE,
        (State.ACTIVE, Signal.STARTED): State.ACTIVE,  # once more, after a death
        (State.ACTIVE, Signal.INTERRUPTED): State.QUEUED,
        (State.QUEUED, Signal.INTERRUPTED): State.QUEUED,
        (State.ACTIVE, Signal.WAITS): State.SLEEPING,
        (State.SLEEPING, Signal.WOKEN): State.QUEUED,
        (State.ACTIVE, Signal.NEEDS_RAISE): State.PAUSED,
        (State.PAUSED, Signal.RAISED): State.QUEUED,
        **{(state, Signal.FINISHED): State.COMPLETED for state in _GOES_ON},
        **{(state, Signal.TRIPPED): State.ESCALATED for state in _GOES_ON},
        **{(state, Signal.TAKEN_AWAY): State.STOPPING for state in _GOES_ON},
        **{(state, Signal.ABANDONED): State.CANCELLED for state in _GOES_ON},
        (State.STOPPING, Signal.STOPPED): State.CANCELLED,
    }
)


class ImpossibleTransition(Exception):
    """The table of transitions has no such pair; nothing was changed."""

    def __init__(self, source: State, signal: Signal) -> None:
        super().__init__(f"an agent that is {source} cannot be {signal}")
        self.source = source
        self.signal = signal


def target(source: State, signal: Signal) -> State:
    """The state that follows. Raises `ImpossibleTransition`."""
    try:
        return TRANSITIONS[source, signal]
    except KeyError:
        raise ImpossibleTransition(source, signal) from None
