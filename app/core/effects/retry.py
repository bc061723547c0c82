"""Whether a write to GitHub that failed is tried again, and when: a decision, made in one place.

Nothing here waits; whoever asks stores the instant and comes back then.
"""

from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final, assert_never

from app.core.agents.agent import Effect

FAILING_SINCE: Final = "failing_since"
"""In the detail of an effect: since when it was tried in vain."""
MAX_ATTEMPTS_UNFORESEEN: Final = 4
ASK_AGAIN_AFTER: Final = (
    timedelta(seconds=10),
    timedelta(minutes=1),
    timedelta(minutes=5),
    timedelta(minutes=30),
    timedelta(hours=2),
    timedelta(hours=6),
    timedelta(hours=12),
)
"""When what GitHub refused is asked for once more, for people may have changed their mind: a
conversation unlocked, a permission granted."""
ASK_AGAIN_EVERY: Final = timedelta(days=1)
"""After that, for as long as it is wanted."""
MAX_BACKOFF: Final = timedelta(hours=1)
MAX_RATE_LIMIT_WAIT: Final = timedelta(hours=1, minutes=5)
"""GitHub's limits are counted by the hour; anything later is a clock that disagrees."""


@dataclass(frozen=True, slots=True)
class RateLimited:
    """GitHub asks for patience; nothing was written."""

    reason: str
    resets_at: datetime


@dataclass(frozen=True, slots=True)
class Refused:
    """GitHub says no, and repeating does not cure it."""

    reason: str


@dataclass(frozen=True, slots=True)
class Unreachable:
    """Nobody knows whether the write happened."""

    reason: str


@dataclass(frozen=True, slots=True)
class Unforeseen:
    """It is a defect, or others were in between at each try; what it comes from may have passed by
    the next one."""

    reason: str


FailedCall = RateLimited | Refused | Unreachable | Unforeseen


@dataclass(frozen=True, slots=True)
class RetryAt:
    """Try again, not before this instant."""

    at: datetime


@dataclass(frozen=True, slots=True)
class GiveUp:
    """Do not try again; the reason is shown to people."""

    reason: str


def failing_since(effect: Effect) -> datetime | None:
    """Since when the effect was tried in vain; None: it was not, as far as was noted."""
    since = effect.detail.get(FAILING_SINCE)
    return None if since is None else datetime.fromisoformat(since)


def ask_again(refusals: int, now: datetime) -> datetime:
    """When to ask once more for what was refused so often (from 1) in a row."""
    if refusals > len(ASK_AGAIN_AFTER):
        return now + ASK_AGAIN_EVERY
    return now + ASK_AGAIN_AFTER[refusals - 1]


def after(failure: FailedCall, attempt: int, now: datetime) -> RetryAt | GiveUp:
    """What follows when attempt number `attempt` (from 1) has failed like this at `now`.

    As long as GitHub is away, or asks for patience, the attempts never end: an outage ends nothing.
    """
    match failure:
        case Refused():
            return GiveUp(failure.reason)
        case RateLimited():
            # When GitHub says, but each wait longer than the back-off: who goes on asking while
            # limited may be banned (GitHub, "Best practices for using the REST API").
            wait = max(failure.resets_at - now, _backoff(attempt))
            return RetryAt(now + min(wait, MAX_RATE_LIMIT_WAIT))
        case Unreachable():
            return RetryAt(now + _backoff(attempt))
        case Unforeseen():
            if attempt >= MAX_ATTEMPTS_UNFORESEEN:
                return GiveUp(f"{failure.reason} (after {attempt} attempts)")
            return RetryAt(now + _backoff(attempt))
        case _:
            assert_never(failure)


def _backoff(attempt: int) -> timedelta:
    """2, 4, 8 … seconds, at most `MAX_BACKOFF`."""
    doublings = min(attempt, 16)  # keeps the power small; the maximum is reached long before
    return min(timedelta(seconds=2**doublings), MAX_BACKOFF)
