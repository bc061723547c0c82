"""The pace at which one installation is written to: GitHub's limits on content, in two buckets.

GitHub asks for at most 80 content-creating requests a minute and 500 an hour, and for a second
between writes of who writes much. A
bucket that holds `burst` and gets one back each `every` never lets more through than that.
"""

from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from typing import Final

MAX_STOP: Final = timedelta(hours=1, minutes=5)
"""GitHub's limits are counted by the hour; anything later is a clock that disagrees."""
MAX_PUT_OFF: Final = timedelta(minutes=10)
"""Nobody is told to come back later than this for our own pace: then it is asked anew."""
_NEVER: Final = datetime(2000, 1, 1, tzinfo=UTC)


@dataclass(frozen=True, slots=True)
class Bucket:
    """A bound on how often something may happen."""

    burst: int
    """At once, after a quiet time."""
    every: timedelta
    """After which one more may."""
    reserve: int
    """How many of the burst are kept for what is urgent."""

    def wait(self, full_at: datetime, now: datetime, *, urgent: bool) -> timedelta:
        """How long until there is room; zero or less: now."""
        usable = self.burst if urgent else self.burst - self.reserve
        return full_at - now - (usable - 1) * self.every


WRITES: Final = Bucket(burst=20, every=timedelta(seconds=1), reserve=8)
"""At most 80 in any minute."""
CREATIONS: Final = Bucket(burst=140, every=timedelta(seconds=10), reserve=60)
"""At most 500 in any hour."""


@dataclass(frozen=True, slots=True)
class Pace:
    """How much of its pace an installation has used."""

    writes_full_at: datetime = _NEVER
    """When the bucket is full again."""
    creations_full_at: datetime = _NEVER
    stopped_until: datetime = _NEVER
    """GitHub has said so: until then nobody writes."""
    urgent_line: datetime = _NEVER
    """The latest instant that somebody urgent was told to come back at."""
    routine_line: datetime = _NEVER

    def stopped(self, until: datetime, now: datetime) -> "Pace":
        """GitHub limits the installation until then."""
        return replace(self, stopped_until=max(self.stopped_until, min(until, now + MAX_STOP)))


def is_limited(host: str) -> bool:
    """Whether GitHub's limits on content hold for this host of its API. An Enterprise Server has
    none unless its owner sets some; then it says so, and its refusals are obeyed."""
    return host in ("github.com", "api.github.com") or host.endswith(".ghe.com")


def take(
    pace: Pace, now: datetime, *, creates: bool, urgent: bool, limited: bool
) -> tuple[Pace, datetime | None]:
    """Write now (None), or come back at that instant.

    `creates`: a new comment, issue, check or the like; `limited`: limits on content hold. Those
    who are put off come back one after the other; what is urgent has room that others leave free.
    """
    wait = pace.stopped_until - now
    if limited:
        wait = max(wait, WRITES.wait(pace.writes_full_at, now, urgent=urgent))
        if creates:
            wait = max(wait, CREATIONS.wait(pace.creations_full_at, now, urgent=urgent))
    if wait > timedelta(0):
        return _put_off(pace, now, wait, urgent=urgent)
    if not limited:
        return pace, None
    taken = replace(pace, writes_full_at=max(pace.writes_full_at, now) + WRITES.every)
    if creates:
        full_at = max(pace.creations_full_at, now) + CREATIONS.every
        taken = replace(taken, creations_full_at=full_at)
    return taken, None


def _put_off(pace: Pace, now: datetime, wait: timedelta, *, urgent: bool) -> tuple[Pace, datetime]:
    line = pace.urgent_line if urgent else pace.routine_line
    at = max(now + wait, line + WRITES.every)
    at = max(min(at, now + MAX_PUT_OFF), pace.stopped_until)
    return (replace(pace, urgent_line=at) if urgent else replace(pace, routine_line=at)), at
