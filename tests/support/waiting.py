"""Waiting for a state of the world: by looking again and again, within a bound."""

import time
from collections.abc import Callable
from typing import TypeVar

Found = TypeVar("Found")

MOST_SECONDS = 180.0
"""Far more than anything takes: a machine that is busy with other things proves nothing."""
LOOK_AGAIN_SECONDS = 0.1


class NeverCame(AssertionError):
    """What was waited for did not come within the bound."""


def until(
    look: Callable[[], Found | None],
    what: str,
    *,
    within_seconds: float = MOST_SECONDS,
    failing: Callable[[], object] = lambda: None,
) -> Found:
    """The first truthy answer of `look`.

    `failing` is asked between two looks and raises when waiting has become pointless.
    """
    deadline = time.monotonic() + within_seconds
    while True:
        found = look()
        if found:
            return found
        failing()
        if time.monotonic() > deadline:
            raise NeverCame(f"{what}: not within {within_seconds:g} s; the last look saw {found!r}")
        time.sleep(LOOK_AGAIN_SECONDS)
