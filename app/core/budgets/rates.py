"""How often one user may do something: so many times in the hour after the first time.

What a user does may have a name: the comment that was written, the agent that is to be started.
Webhooks are told twice, reconciliation hears the same words, and a process dies between counting
and doing; what has the same name counts once an hour, however often it is heard.
"""

from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Final

HOUR: Final = timedelta(hours=1)


@dataclass(frozen=True, slots=True)
class Hits:
    """What one user did in one window."""

    since: datetime
    """When the window began: at the first hit."""
    allowed: int = 0
    refused: int = 0
    counted: frozenset[str] = frozenset()
    """Names of what was allowed."""
    first_refused: str | None = None
    """The name of what was refused first, if it has one."""


@dataclass(frozen=True, slots=True)
class Allowed:
    """The hit was counted, now or when it was heard before."""


@dataclass(frozen=True, slots=True)
class Refused:
    """One hit too many; it is not counted against the next window."""

    until: datetime
    """When the next window may begin."""
    first: bool
    """Whether it is the window's first, heard again or not: the one to say so, once."""


def hit(
    before: Hits | None,
    most: int,
    at: datetime,
    what: str | None = None,
    window: timedelta = HOUR,
) -> tuple[Hits, Allowed | Refused]:
    """One more hit `at`, after those of `before` (None: never any); `what`: its name."""
    hits = Hits(since=at) if before is None or at - before.since >= window else before
    if what is not None and what in hits.counted:
        return hits, Allowed()
    if hits.allowed < most:
        counted = hits.counted if what is None else hits.counted | {what}
        return replace(hits, allowed=hits.allowed + 1, counted=counted), Allowed()
    if hits.refused == 0:
        hits = replace(hits, first_refused=what)
    first = hits.refused == 0 or (what is not None and what == hits.first_refused)
    return replace(hits, refused=hits.refused + 1), Refused(hits.since + window, first)
