"""Every time a limit was reached, with all that the agent had used by then and what it did last."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum

from app.core.agents.agent import Agent
from app.core.agents.counters import Counters, after
from app.core.agents.events import Held, Passed, ToolAsked, Tripped
from app.core.agents.stops import Hold, Trip
from app.core.history.agent_history import History
from app.core.history.precision import Stop, stops
from app.core.limits import LimitName


class Came(StrEnum):
    """What came of it that a limit was reached."""

    STOP = "stop"
    PAUSE = "pause"
    ASK = "ask"
    """The agent paused itself to ask for more (`request_increase`)."""
    WARN = "warn"
    """It went on: `on_limit: warn`."""
    SHADOW = "shadow"
    """It went on: the limit only watches."""
    REFUSED = "refused"
    """It went on without what it asked for."""


@dataclass(frozen=True, slots=True)
class Violation:
    """A limit was reached."""

    agent: Agent
    limit: LimitName
    came: Came
    at: datetime
    observed: float | None
    maximum: float | None
    layer: str
    """Which enforcement layer saw it; empty: the agent went on."""
    reason: str
    """One sentence for people; empty: the agent went on."""
    used: Counters
    """All that the agent had used by then."""
    last_call: str
    """The latest tool call that was allowed to it; empty: none was."""
    stop: Stop | None
    """What people made of it; None: it stopped nobody, or a sub-agent."""


def violations(histories: Sequence[History]) -> Sequence[Violation]:
    """Of all agents, the oldest first."""
    judged = {(stop.agent, stop.why): stop for stop in stops(histories)}
    found: list[Violation] = []
    for history in histories:
        name, counters, last_call = str(history.agent.id), Counters(), ""
        for event in history.log:
            counters = after(counters, event)
            match event:
                case ToolAsked(tool=tool, what=what):
                    last_call = f"{tool}: {what}" if what else tool
                case Tripped(trip=why) | Held(hold=why):
                    stop = judged.get((name, why))
                    found.append(
                        Violation(
                            agent=history.agent,
                            limit=why.limit,
                            came=_came(why),
                            at=event.at,
                            observed=why.observed,
                            maximum=why.maximum,
                            layer=why.layer.value,
                            reason=why.reason,
                            used=counters,
                            last_call=last_call,
                            stop=stop,
                        )
                    )
                case Passed():
                    found.append(
                        Violation(
                            agent=history.agent,
                            limit=event.limit,
                            came=Came(event.how),
                            at=event.at,
                            observed=event.observed,
                            maximum=event.maximum,
                            layer="",
                            reason="",
                            used=counters,
                            last_call=last_call,
                            stop=None,
                        )
                    )
                case _:
                    continue
    return sorted(found, key=lambda each: each.at)


def _came(why: Trip | Hold) -> Came:
    if isinstance(why, Trip):
        return Came.STOP
    return Came.ASK if why.asks else Came.PAUSE
