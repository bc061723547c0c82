"""When a person is called: once each time that an agent waits for one, and then once a day.

A call is a new comment that mentions people, for nobody is notified of an edit. So that this stays
rare, an agent makes at most `MOST_CALLS` of them. What it asks after that stands in its last call,
and only a reminder notifies people of it: earlier than of what they know, or the agent might be
stopped before. A reminder replaces the comment before it.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import Enum, auto
from typing import Final

from app.core.agents.agent import Agent, AgentId
from app.core.agents.events import (
    AgentEvent,
    ClosingTool,
    Finished,
    Held,
    Reported,
    SegmentStarted,
    Slept,
    TakenAway,
    Waits,
    Woken,
)

MOST_CALLS: Final = 3
REMINDS_AFTER: Final = timedelta(days=1)
REMINDS_OF_NEWS_AFTER: Final = timedelta(hours=12)

_BOT: Final = "[bot]"
"""With this end the logins of Apps: nobody reads what mentions one."""


@dataclass(frozen=True, slots=True)
class Call:
    """One time that an agent waits for a person."""

    event: Held | Slept
    """Why it waits."""
    reported: ClosingTool | None
    """What the agent had called before it slept; None: nothing, so that it may have asked for
    nothing."""
    is_over: bool
    ended: Woken | Finished | TakenAway | None
    """What ended it, where an event says so."""

    @property
    def key(self) -> str:
        """What tells one of them from another of the same agent."""
        return self.event.at.isoformat(timespec="milliseconds")


@dataclass(frozen=True, slots=True)
class Called:
    """The comment that stands for the calls of an agent on GitHub."""

    key: str
    """Of the call that it shows."""
    at: datetime
    """When people were last notified."""
    calls: int
    """How many there were, without reminders."""


DONE: Final = (ClosingTool.REPORT_COMPLETE, ClosingTool.SUBMIT_REVIEW)
"""With what an agent says that its work is done: it then waits since that was not handed over."""


class Telling(Enum):
    """What is to be done about a call."""

    NOTHING = auto()
    """Nobody is waited for; a comment that is there says so of the call that it shows."""
    NEW = auto()
    """A new comment; the one of an earlier call, if there is one, stays and says that it is
    over."""
    AGAIN = auto()
    """A new comment in the place of the one of the same call: the daily reminder."""
    IN_PLACE = auto()
    """The comment that is there says it, and notifies nobody."""


def calls(agent: Agent, log: Sequence[AgentEvent]) -> Sequence[Call]:
    """All of them, oldest first; only the last one may not be over."""
    found, reported = list[Call](), None
    for event in log:
        match event:
            case SegmentStarted():
                reported = None
            case Reported(tool=tool):
                reported = tool
            case Held() | Slept(waits_for=Waits.ANSWER):
                found.append(Call(event, reported, is_over=True, ended=None))
            case Woken() | Finished() | TakenAway() if found and found[-1].ended is None:
                last = found[-1]
                found[-1] = Call(last.event, last.reported, is_over=True, ended=event)
            case _:
                pass
    if found and found[-1].ended is None and agent.waits_for_person:
        found[-1] = Call(found[-1].event, found[-1].reported, is_over=False, ended=None)
    return found


def telling(call: Call | None, called: Called | None, now: datetime) -> Telling:
    """What is to be done about the latest call at `now`, when `called` is what GitHub shows."""
    if call is None or call.is_over:
        return Telling.NOTHING
    if called is None:
        return Telling.NEW
    is_late = now >= reminds_at(call, called)
    if called.key == call.key:
        return Telling.AGAIN if is_late else Telling.IN_PLACE
    return Telling.NEW if called.calls < MOST_CALLS or is_late else Telling.IN_PLACE


def reminds_at(call: Call, called: Called) -> datetime:
    """When people are notified once more of a call that is not over."""
    is_news = called.at < call.event.at
    return called.at + (REMINDS_OF_NEWS_AFTER if is_news else REMINDS_AFTER)


def call_marker(agent: AgentId, key: str) -> str:
    """The hidden mark by which the comment of a call is found again."""
    return f"<!-- squadron:call:{agent}:{key} -->"


def called_people(agent: Agent) -> str:
    """The mention of who started the agent, and of whom the configuration names besides."""
    starter = [] if agent.started_by.endswith(_BOT) else [f"@{agent.started_by}"]
    names = {name.casefold(): name for name in (*starter, *agent.assignment.escalation.mention)}
    return " ".join(names.values())
