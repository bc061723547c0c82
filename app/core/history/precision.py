"""How often limits were right to stop: a stop was wrong if people took it back, by a raise or by a
retry, and then took the work.

A stop that nobody took back, or behind which no work came that people wanted, was right. Stops of
sub-agents are their parents' affair, and an agent that asks for more by itself was not stopped:
neither counts. Pure: logs in, verdicts out.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from app.core.agents.events import (
    AgentEvent,
    Finished,
    Held,
    Raised,
    SegmentStarted,
    Tripped,
)
from app.core.agents.stops import Hold, Trip
from app.core.history.agent_history import History
from app.core.limits import LimitName

TOLD_BY: Final = (Tripped, Held, Raised, SegmentStarted, Finished)
"""The events of a log that say all there is to judge; the others may be left out of it."""


class Judged(StrEnum):
    """What became of a stop."""

    RIGHT = "right"
    WRONG = "wrong"
    OPEN = "open"
    """Nobody has said yet."""


@dataclass(frozen=True, slots=True)
class Stop:
    """A limit stopped an agent for good, or paused it."""

    agent: str
    role: str
    why: Trip | Hold
    taken_back: str
    """Who or what let the work go on: `raised by maria`; empty: nothing did."""
    judged: Judged


@dataclass(frozen=True, slots=True)
class Precision:
    """How often stops were right."""

    right: int = 0
    wrong: int = 0
    open: int = 0

    @classmethod
    def of(cls, found: Iterable[Stop]) -> "Precision":
        """Of all these together."""
        verdicts = [stop.judged for stop in found]
        return cls(*(verdicts.count(each) for each in (Judged.RIGHT, Judged.WRONG, Judged.OPEN)))

    @property
    def judged(self) -> int:
        """How many are judged."""
        return self.right + self.wrong

    @property
    def ratio(self) -> float | None:
        """Right ones among those that are judged, from 0 to 1; None: none is."""
        return self.right / self.judged if self.judged else None


def stops(histories: Sequence[History]) -> Sequence[Stop]:
    """Every stop and every pause, as people have judged it since; in the order of `histories`."""
    successors = {
        each.agent.predecessor: each for each in histories if each.agent.predecessor is not None
    }
    return [
        stop
        for each in histories
        if each.agent.parent is None
        for stop in _stops_of(each, successors)
    ]


def precisions(found: Sequence[Stop]) -> Mapping[tuple[LimitName, str], Precision]:
    """Of each limit, as each role has it, that stopped anybody; whichever was wrong most often
    comes first."""
    groups: dict[tuple[LimitName, str], list[Stop]] = {}
    for stop in found:
        groups.setdefault((stop.why.limit, stop.role), []).append(stop)
    sums = {which: Precision.of(group) for which, group in groups.items()}
    return dict(sorted(sums.items(), key=lambda each: (-each[1].wrong, each[0])))


def _stops_of(history: History, successors: Mapping[str, History]) -> Iterator[Stop]:
    agent, log = history.agent, history.log
    for place, event in enumerate(log):
        match event:
            case Tripped(trip=why):
                taken_back = _retried(history, successors)
            case Held(hold=why) if not why.asks:
                taken_back = _raised(log[place + 1 :]) or _retried(history, successors)
            case _:
                continue
        judged = _judged(history, successors, is_taken_back=bool(taken_back))
        yield Stop(str(agent.id), agent.id.role, why, taken_back, judged)


def _raised(later: Sequence[AgentEvent]) -> str:
    """Who let a paused agent go on."""
    for event in later:
        match event:
            case Raised(by=by):
                return f"raised by {by}"
            case SegmentStarted():
                return "resumed"
            case _:
                continue
    return ""


def _retried(history: History, successors: Mapping[str, History]) -> str:
    successor = successors.get(str(history.agent.id))
    return "" if successor is None else f"retried as {successor.agent.id}"


def _judged(history: History, successors: Mapping[str, History], *, is_taken_back: bool) -> Judged:
    """By the work of the last agent that went on with it."""
    if not is_taken_back:
        return Judged.RIGHT if history.agent.is_final else Judged.OPEN
    last = history
    while (successor := successors.get(str(last.agent.id))) is not None:
        last = successor
    return _VERDICTS[last.is_accepted]


_VERDICTS: Final[Mapping[bool | None, Judged]] = {
    True: Judged.WRONG,
    False: Judged.RIGHT,
    None: Judged.OPEN,
}
