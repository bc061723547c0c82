"""How long an agent waits in the queue that could not begin since GitHub was away."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final

from app.core.agents.events import AgentEvent, HeldUp, ModelAsked, TurnAsked, Waits, Woken
from app.core.effects.retry import MAX_RATE_LIMIT_WAIT

FIRST_PAUSE: Final = timedelta(seconds=5)
"""Doubled each time."""
MOST_PAUSE: Final = timedelta(minutes=5)


@dataclass(frozen=True, slots=True)
class GitHubAway:
    """GitHub, or its git, does not answer; the work goes on once it does."""

    reason: str
    resets_at: datetime | None = None
    """When it lets us ask again, if it asks for patience."""


def try_again_at(history: Sequence[AgentEvent], away: GitHubAway, now: datetime) -> datetime:
    """When the agent of this log, which could not begin, tries once more."""
    doublings = min(_times_held_up(history), 16)  # keeps the power small
    pause = min(FIRST_PAUSE * (1 << doublings), MOST_PAUSE)
    if away.resets_at is not None:
        pause = max(pause, min(away.resets_at - now, MAX_RATE_LIMIT_WAIT))
    return now + pause


def _times_held_up(history: Sequence[AgentEvent]) -> int:
    """In a row, since it worked last."""
    times = 0
    for event in reversed(history):
        match event:
            case HeldUp(waits_for=Waits.GIT):
                times += 1
            case TurnAsked() | ModelAsked() | Woken():
                break
            case _:
                pass
    return times
