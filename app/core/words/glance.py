"""What lists show of an agent's log, so that nobody reads a log for a list."""

from dataclasses import dataclass

from app.core.agents.lifecycle import State
from app.core.breaker.verdict import LimitUse
from app.core.words.report import Report


@dataclass(frozen=True, slots=True)
class Glance:
    """As of one instant."""

    uses: tuple[LimitUse, ...]
    """Of every limit that is switched on, in the order of the catalogue."""
    cost_nanousd: int | None
    """None: the price of a call is unknown."""
    why: str
    """What the agent waits for, or what keeps it from working, in the words of whoever knows;
    empty: nothing does."""

    @property
    def nearest(self) -> LimitUse | None:
        """The limit of which the greatest share is used; None: nothing was used of any."""
        used = [use for use in self.uses if use.observed > 0]
        return max(used, key=lambda use: use.observed / use.maximum, default=None)


def glance(view: Report) -> Glance:
    """What a list shows of it."""
    counters = view.counters
    return Glance(
        uses=view.uses,
        cost_nanousd=None if counters.unpriced_calls else counters.cost_nanousd,
        why=_why(view),
    )


def _why(view: Report) -> str:
    agent = view.agent
    if agent.stop is not None:
        return agent.stop.reason
    match agent.state:
        case State.PAUSED if view.hold is not None:
            return view.hold.reason
        case State.SLEEPING if view.slept is not None:
            return view.slept.reason
        case State.QUEUED if view.brake is not None:
            return view.brake.why
        case State.QUEUED if view.held_up is not None:
            return view.held_up.why
        case _:
            return ""
