"""Which deliveries GitHub is asked for again: those that failed, and that nobody here has heard.

GitHub gives a delivery ten seconds and never tries again by itself; for three days it lists what
failed and sends it again when it is asked to, under the same guid
(https://docs.github.com/webhooks/using-webhooks/handling-failed-webhook-deliveries). Whatever it
was answered with 2xx is in the inbox, so the inbox says what has arrived.
"""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final

KEPT_BY_GITHUB: Final = timedelta(days=3)
"""What is older can be found by reconciliation alone."""
WAITS: Final = (
    timedelta(minutes=5),
    timedelta(minutes=20),
    timedelta(hours=1),
    timedelta(hours=6),
    timedelta(hours=24),
)
"""After each ask, until the next; the first is far longer than GitHub takes to send and to fail."""
MOST_ASKS: Final = len(WAITS) + 1
"""Of one delivery."""
MOST_AT_ONCE: Final = 30
"""Asks of one pass, which follow each other: GitHub bounds an App's writes by the minute."""
LIST_LAGS: Final = timedelta(minutes=5)
"""What failed so long ago is on the list for certain, by GitHub's clock and by ours."""


@dataclass(frozen=True, slots=True)
class Attempt:
    """One try of GitHub to deliver something, which failed."""

    number: int
    """GitHub's id of the try."""
    guid: str
    """`X-GitHub-Delivery`: the same for all tries of one delivery."""
    at: datetime


@dataclass(frozen=True, slots=True)
class AskedAgain:
    """How often a delivery was asked for again."""

    guid: str
    times: int
    at: datetime
    """The last time."""


@dataclass(frozen=True, slots=True)
class Redeliveries:
    """What is to be done about failed deliveries."""

    due: tuple[Attempt, ...]
    """To be asked for now, the one that failed first comes first."""
    waiting: int
    """Deliveries that have their turn later."""
    given_up: int
    """Deliveries that failed after every ask."""
    read_from: datetime
    """Nothing that failed before needs to be read again."""


def redeliveries(
    failed: Sequence[Attempt],
    heard: Collection[str],
    asked: Mapping[str, AskedAgain],
    now: datetime,
) -> Redeliveries:
    """What to ask for, from the failures that GitHub lists, newest first, and the guids that the
    inbox holds."""
    latest: dict[str, Attempt] = {}  # in the order of the first failures
    # Of equal seconds the list alone tells which was first.
    for _, attempt in sorted(enumerate(failed), key=lambda each: (each[1].at, -each[0])):
        latest[attempt.guid] = attempt
    missing = [
        attempt
        for attempt in latest.values()
        if attempt.guid not in heard and now - attempt.at < KEPT_BY_GITHUB
    ]
    hopeful = [one for one in missing if one.guid not in asked or asked[one.guid].times < MOST_ASKS]
    due = [one for one in hopeful if _is_due(asked.get(one.guid), now)][:MOST_AT_ONCE]
    return Redeliveries(
        due=tuple(due),
        waiting=len(hopeful) - len(due),
        given_up=len(missing) - len(hopeful),
        read_from=min([now, *(one.at for one in hopeful)]) - LIST_LAGS,
    )


def _is_due(before: AskedAgain | None, now: datetime) -> bool:
    if before is None:
        return True
    return now - before.at >= WAITS[before.times - 1]
