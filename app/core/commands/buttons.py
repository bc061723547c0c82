"""The buttons of checks and pages: what can be pressed in each state, and which command that is."""

from dataclasses import dataclass
from typing import Final

from app.core.agents.agent import Agent
from app.core.agents.counters import Counters
from app.core.agents.lifecycle import State
from app.core.breaker.raises import asked_amount, worth
from app.core.commands.grammar import Command, Raise, Resume, Retry, Stop

STOP: Final = "stop"
RESUME: Final = "resume"
RAISE: Final = "raise"
RETRY: Final = "retry"
WAKE: Final = "wake"
CLOSE: Final = "close"
"""Nobody is called for a stopped agent any more. Comments have no command for it: there one closes
the issue."""


@dataclass(frozen=True, slots=True)
class Button:
    """One button of a check run."""

    identifier: str
    """What GitHub tells when it is pressed."""
    label: str
    description: str


def buttons(agent: Agent, counters: Counters) -> tuple[Button, ...]:
    """The buttons that an agent's check has now (EXAMPLES, "Checks")."""
    stop = Button(STOP, "Stop", "Take the work away; it is kept")
    match agent.state:
        case State.QUEUED | State.ACTIVE | State.SLEEPING:
            return (stop,)
        case State.PAUSED:
            resume = Button(RESUME, "Resume", "Grant the limit's own amount again")
            return (resume, *_raise(agent, counters), stop)
        case State.ESCALATED:
            return (Button(RETRY, "Retry", "A fresh agent takes over the branch"),)
        case State.STOPPING | State.COMPLETED | State.CANCELLED:
            return ()


def offers(agent: Agent) -> tuple[str, ...]:
    """What can be asked of an agent as it is now without saying more, the likeliest first: verbs of
    commands, and `CLOSE`."""
    match agent.state:
        case State.QUEUED | State.ACTIVE:
            return (STOP,)
        case State.SLEEPING:
            return (WAKE, STOP)
        case State.PAUSED:
            return (RESUME, STOP)
        case State.ESCALATED if agent.dismissed_at is None:
            return (RETRY, CLOSE)
        case State.ESCALATED:
            return (RETRY,)
        case State.STOPPING | State.COMPLETED | State.CANCELLED:
            return ()


def command_of(identifier: str, agent: Agent, counters: Counters) -> Command | None:
    """What is told by a button of an agent's check; None: there is no such button."""
    who = str(agent.id)
    match identifier:
        case "stop":
            return Stop(who)
        case "resume":
            return Resume(who)
        case "raise" if counters.hold is not None:
            hold = counters.hold
            return Raise(hold.limit, asked_amount(agent.assignment.limits, counters, hold), who)
        case "raise":  # the hold is over; what the command is answered says so
            return Resume(who)
        case "retry":
            return Retry(who)
        case _:
            return None


def _raise(agent: Agent, counters: Counters) -> tuple[Button, ...]:
    hold = counters.hold
    if hold is None:
        return ()
    amount = asked_amount(agent.assignment.limits, counters, hold)
    if amount <= 0:
        return ()
    words = f"Grant {worth(agent.assignment.limits.info(hold.limit), amount)} more"
    return (Button(RAISE, "Raise", words),)
