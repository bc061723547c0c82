"""How often one user may do something: so many times in any hour.

The window slides: at each moment the hour before it counts. What a user does may have a name: the
comment that was written, the agent that is to be started. Webhooks are told twice, reconciliation
hears the same words, and a process dies between counting and doing; what has the same name counts
once within the hour after it was counted, however often it is heard.
"""

from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Final

HOUR: Final = timedelta(hours=1)


@dataclass(frozen=True, slots=True)
class Counted:
    """One thing that was allowed."""

    at: datetime
    what: str | None = None
    """Its name, if it has one."""


@dataclass(frozen=True, slots=True)
class Hits:
    """What one user did lately."""

    counted: tuple[Counted, ...] = ()
    """In the window, in the order in which it was counted."""
    told_at: datetime | None = None
    """When the user was last to be told of a refusal; at most once in a window."""
    told: str | None = None
    """The name of what was refused then, if it has one."""


@dataclass(frozen=True, slots=True)
class Allowed:
    """The hit was counted, now or when it was heard before."""


@dataclass(frozen=True, slots=True)
class Refused:
    """One hit too many; it counts against nobody."""

    until: datetime
    """When the next one is allowed, unless others come before it."""
    told_at: datetime
    """When the user was last to be told of a refusal."""
    first: bool
    """Whether it is that refusal, heard again or not: the one to say so, once."""


def hit(
    before: Hits,
    most: int,
    at: datetime,
    what: str | None = None,
    window: timedelta = HOUR,
) -> tuple[Hits, Allowed | Refused]:
    """One more hit `at`, after those of `before`; `what`: its name."""
    counted = tuple(each for each in before.counted if at - each.at < window)
    hits = replace(before, counted=counted)
    if what is not None and any(each.what == what for each in counted):
        return hits, Allowed()
    if len(counted) < most:
        return replace(hits, counted=(*counted, Counted(at, what))), Allowed()
    if hits.told_at is None or at - hits.told_at >= window:
        hits = replace(hits, told_at=at, told=what)
        return hits, Refused(_until(hits, most, at, window), at, first=True)
    first = what is not None and what == hits.told
    return hits, Refused(_until(hits, most, at, window), hits.told_at, first)


def _until(hits: Hits, most: int, at: datetime, window: timedelta) -> datetime:
    """When fewer than `most` are left in the window."""
    times = sorted(each.at for each in hits.counted)
    return (times[-most] if most else at) + window
