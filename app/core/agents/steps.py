"""What Squadron may do to an agent: a value that a decision returns and one place applies.

The union is closed. `app/core/agents/transition.py` says what each step changes;
`app/services/moves/moves.py` applies it.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum

from app.core.agents.counters import fold
from app.core.agents.events import (
    AgentEvent,
    Braked,
    BrakeLifted,
    HeldUp,
    LetOn,
    Lowered,
    Raised,
    Summarised,
    TakenAway,
    Waits,
)
from app.core.agents.stops import Hold, StopReason


class Death(StrEnum):
    """What died under an agent."""

    RUNTIME = "runtime"
    """By itself, while its worker lived."""
    WORKER = "worker"
    """The process of Squadron that ran it, or what that process had to do was lost."""


OURSELVES = "squadron"
"""Who is named when GitHub's state, not a person, set something in motion."""


@dataclass(frozen=True, slots=True)
class Begin:
    """Run the queued segment, or the running one once more after a death."""

    worker: str
    """The process that runs it."""
    clock_lead: float
    """By how many seconds the wall clock is ahead of the monotonic one there."""


@dataclass(frozen=True, slots=True)
class WakeUp:
    """Queue the next segment of a sleeping agent."""

    why: str
    """For the agent's next prompt, in words that may hold untrusted text."""
    by: str = OURSELVES
    """Login of the person whose words or deed it is."""
    said: str | None = None
    """Names the words that did it, so that they wake once."""
    feedback: tuple[str, ...] = ()
    """What of its pull request makes it a round of review, by name."""


@dataclass(frozen=True, slots=True)
class Sleep:
    """Let an agent at work wait for others; its work is kept."""

    waits_for: Waits
    why: str
    blocked_by: tuple[int, ...] = ()
    """Issues, when it waits for `Waits.BLOCKER`."""
    summary: str = ""
    """What the agent says of its work."""


@dataclass(frozen=True, slots=True)
class Pause:
    """A limit asks a human; work and session are kept."""

    hold: Hold


@dataclass(frozen=True, slots=True)
class RaiseLimits:
    """Queue the next segment of a paused agent, with more of its limits, and, of a sub-agent, with
    less of those of which its parent has less."""

    raises: tuple[Raised | Lowered, ...]
    why: str
    by: str


@dataclass(frozen=True, slots=True)
class Requeue:
    """Begin anew with the next segment: the present one was interrupted, has died, or was lost."""

    why: str
    summary: str = ""
    died: Death | None = None
    """What died, if that is why; nothing is kept then."""
    ended_at: datetime | None = None
    """When it was last heard of, so that time without a worker is not counted; None: now."""
    pause_seconds: float = 0
    """The next segment begins that much later, without a slot until then."""
    tell: str = ""
    """What the agent has to know when it goes on, as if it had been woken by it."""


@dataclass(frozen=True, slots=True)
class HoldBack:
    """Let an agent wait in the queue: a brake is on, or what it needs is not to be had."""

    told: Braked | HeldUp
    summary: str = ""
    retry_at: datetime | None = None
    """When it looks again if nobody lets it on before."""
    missing_provider: str | None = None
    """Of models, as models name it."""
    ended_at: datetime | None = None
    """When the segment of a worker that is gone was last heard of; None: it ends now."""


@dataclass(frozen=True, slots=True)
class LetGoOn:
    """Queue an agent again: what held it back is over."""

    told: BrakeLifted | LetOn


@dataclass(frozen=True, slots=True)
class Finish:
    """Complete the agent: merged, nothing to change, a review posted, or waited long enough."""

    why: str
    summary: str = ""
    since: datetime | None = None
    """When it happened on GitHub; None: now."""
    segment_ended: str = "finished"
    """How the running segment ended, in a few words."""


@dataclass(frozen=True, slots=True)
class TakeAway:
    """People want it to stop: from now on nothing but its end follows."""

    why: str
    said: str = ""
    """Names the words that told so."""
    since: datetime | None = None
    """When it happened on GitHub; None: nobody knows."""


@dataclass(frozen=True, slots=True)
class Cancel:
    """End an agent that was taken away, and of which nothing runs any more."""

    told: TakenAway


@dataclass(frozen=True, slots=True)
class Escalate:
    """Stop the agent for good; a human decides."""

    stop: StopReason
    is_told: bool = False
    """Whether the agent's log says so already."""
    summary: str = ""
    """What the agent said when it was stopped."""
    said_before: str = ""
    """Its last words before that, which are shown if there is no summary."""


@dataclass(frozen=True, slots=True)
class Abandon:
    """End a sub-agent together with its parent, or because nobody runs it."""

    why: str
    summary: str = ""
    died: bool = False
    ended_at: datetime | None = None
    """When it was last heard of; None: now."""


Step = (
    Begin
    | WakeUp
    | Sleep
    | Pause
    | RaiseLimits
    | Requeue
    | HoldBack
    | LetGoOn
    | Finish
    | TakeAway
    | Cancel
    | Escalate
    | Abandon
)


def reason_of(step: Step) -> str:
    """Why the step is taken, in words that may hold untrusted text; empty: its kind says it."""
    match step:
        case Cancel(told=told) | HoldBack(told=Braked() | HeldUp() as told):
            return told.why
        case Escalate(stop=stop):
            return stop.reason
        case Pause(hold=hold):
            return hold.reason
        case Begin() | LetGoOn():
            return ""
        case _:
            return step.why


def escalation(history: Sequence[AgentEvent], why: StopReason, summary: str = "") -> Escalate:
    """Stop the agent of this log for good. It is stopped at most once: what its log says already
    counts, not what was seen later."""
    first = fold(history).stop
    said = [event.text for event in history if isinstance(event, Summarised)]
    return Escalate(
        stop=first or why,
        is_told=first is not None,
        summary=summary,
        said_before=said[-1] if said else "",
    )
