"""Waiting for a state of the world: by looking again and again, within a bound."""

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Final, TypeVar

Found = TypeVar("Found")

MOST_SECONDS = 180.0
"""Far more than anything takes: a machine that is busy with other things proves nothing."""
LOOK_AGAIN_SECONDS = 0.1


class NeverCame(AssertionError):
    """What was waited for did not come within the bound."""


@dataclass(frozen=True, slots=True)
class Time:
    """By what time is waited."""

    monotonic: Callable[[], float]
    go_on: Callable[[], object]
    """Let a little of it pass."""


_times: Final = [Time(time.monotonic, lambda: time.sleep(LOOK_AGAIN_SECONDS))]


@contextmanager
def by(other: Time) -> Iterator[None]:
    """Within the block it is waited by another time than the machine's."""
    _times.append(other)
    try:
        yield
    finally:
        _times.remove(other)


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
    present = _times[-1]
    deadline = present.monotonic() + within_seconds
    while True:
        found = look()
        if found:
            return found
        failing()
        if present.monotonic() > deadline:
            raise NeverCame(f"{what}: not within {within_seconds:g} s; the last look saw {found!r}")
        present.go_on()
