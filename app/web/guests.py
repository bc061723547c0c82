"""Who is connected to the web server, and who has to go: strangers may come as they like, and keep
nobody out.

It is who has finished nothing for the longest, never who comes next: a signed delivery is over in
a moment, and one that is silent, or sends a byte now and then, is not worth a place.
"""

import asyncio
import logging
import resource
from collections import OrderedDict, deque
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Final, Protocol

SWEEP_SECONDS: Final = 0.25
"""How late a deadline may be noticed."""
OPEN_FILES: Final = 9_216
"""As many files as this the process may have open, if its hard limit lets it."""
OTHER_FILES: Final = 1_024
"""Of these, what is left to databases, agents and logs."""
TURNS_OF_GRACE: Final = 16
"""So often the loop turns before somebody who has just come may have to go: what they have sent is
read by then, however slow the loop is."""

log = logging.getLogger("squadron.web")


@dataclass(frozen=True, slots=True)
class Bounds:
    """What connections may take, all together and each."""

    connections: int = 4_096
    """More than the 2,048 that the system may hand over at once. Until those that came last have
    been read there may be twice as many."""
    header_bytes: int = 64 * 1024
    """Of one request, with its address."""
    header_seconds: float = 5.0
    """From the connection, or from the first byte of a further request."""
    body_seconds: float = 10.0
    """From the headers. GitHub itself gives a delivery 10 seconds."""
    body_bytes: int = 128 * 1024
    """Of one request, unless its path has another bound."""
    small_bytes: int = 16 * 1024
    """A body up to this size always has room: what all connections hold of such bodies is small."""
    held_bytes: int = 100 * 1024 * 1024
    """Of all larger bodies that have come in part, or are being answered."""
    answer_seconds: float = 10.0
    """For the other side to take an answer."""
    linger_seconds: float = 3.0
    """How long a refused sender may go on, so that it reads the answer."""


class Guest(Protocol):
    """One connection, as all of them together see it."""

    @property
    def is_sending(self) -> bool:
        """Whether a part of a large body has come and more is to come."""
        ...

    @property
    def is_served(self) -> bool:
        """Whether a whole request is being answered, and the other side takes the answer."""
        ...

    def is_late(self, now: float) -> bool:
        """Whether its time for headers, a body, the taking of an answer or the end is over.
        `now`: the event loop's time."""
        ...

    def time_is_over(self) -> None:
        """A deadline has passed."""
        ...

    def abort(self) -> None:
        """End it at once, whatever has not been read or written."""
        ...


class Guests:
    """All connections, the one that has finished nothing for the longest first. For one event
    loop."""

    def __init__(self, bounds: Bounds, most_body: Callable[[str], int | None]) -> None:
        """`most_body`: the bound in bytes of a path whose bodies have another one."""
        self.bounds = bounds
        self._most_body = most_body
        self._present: OrderedDict[Guest, int] = OrderedDict()
        """With the turn in which it came, or finished something."""
        self._sending: OrderedDict[Guest, None] = OrderedDict()
        """Those that have sent a part of a large body."""
        self.held_bytes = 0
        """Of large bodies, now."""
        self._waiting: deque[Callable[[], None]] = deque()
        self._turn = 0
        """Of the loop, while there are too many."""
        self._is_crowded = False
        self._evicted = 0
        self._sweeping: asyncio.TimerHandle | None = None

    def __len__(self) -> int:
        return len(self._present)

    def most_body(self, path: str) -> int:
        """In bytes."""
        known = self._most_body(path)
        return self.bounds.body_bytes if known is None else known

    def is_expected(self, path: str) -> bool:
        """Whether requests for this path are served before all others: those with bodies of a
        size of their own."""
        return self._most_body(path) is not None

    def in_turn(self, start: Callable[[], None]) -> None:
        """Start to serve a request, one in each round of the event loop: however many ask, what
        is expected does not wait for them."""
        self._waiting.append(start)
        if len(self._waiting) == 1:
            asyncio.get_running_loop().call_soon(self._start_next)

    def _start_next(self) -> None:
        self._waiting[0]()
        self._waiting.popleft()
        if self._waiting:
            asyncio.get_running_loop().call_soon(self._start_next)

    def come(self, connection: Guest) -> None:
        """A new one; if there are too many, those that wait for nothing go."""
        if len(self._present) >= 2 * self.bounds.connections:
            self._evict(self._present, lambda each: not each.is_served)
        self._present[connection] = self._turn
        self._sweep_later()
        if not self._is_crowded and len(self._present) > self.bounds.connections:
            self._is_crowded = True
            asyncio.get_running_loop().call_soon(self._make_room)

    def _make_room(self) -> None:
        """Once in each turn of the loop, while there are too many."""
        self._turn += 1
        while self._is_too_full():
            if not self._evict(self._present, self._may_go):
                break
        self._is_crowded = self._is_too_full()
        if self._is_crowded:
            asyncio.get_running_loop().call_soon(self._make_room)

    def _is_too_full(self) -> bool:
        return len(self._present) > self.bounds.connections

    def _may_go(self, guest: Guest) -> bool:
        return self._present[guest] + TURNS_OF_GRACE <= self._turn and not guest.is_served

    def finished(self, connection: Guest) -> None:
        """It has had an answer."""
        if connection in self._present:
            self._present[connection] = self._turn
            self._present.move_to_end(connection)

    def hold(self, connection: Guest, size: int) -> bool:
        """A part of its body has come. Whether there is room: if all hold too much, others go."""
        self.held_bytes += size
        self._sending.setdefault(connection)
        while self.held_bytes > self.bounds.held_bytes:
            if not self._evict(
                self._sending, lambda each: each is not connection and each.is_sending
            ):
                return False
        return True

    def free(self, connection: Guest, size: int) -> None:
        """So much of its body is no longer held, and no more is."""
        self.held_bytes -= size
        self._sending.pop(connection, None)

    def leave(self, connection: Guest) -> None:
        """It is over."""
        self._present.pop(connection, None)

    def _evict(self, oldest_first: Iterable[Guest], may_go: Callable[[Guest], bool]) -> bool:
        gone = next((each for each in oldest_first if may_go(each)), None)
        if gone is None:
            return False
        self._evicted += 1
        gone.abort()
        return True

    def _sweep_later(self) -> None:
        if self._sweeping is None:
            loop = asyncio.get_running_loop()
            self._sweeping = loop.call_later(SWEEP_SECONDS, self._sweep)

    def _sweep(self) -> None:
        self._sweeping = None
        now = asyncio.get_running_loop().time()
        for each in [each for each in self._present if each.is_late(now)]:
            each.time_is_over()
        if self._evicted:
            log.info("connections closed for others", extra={"count": self._evicted})
            self._evicted = 0
        if self._present:
            self._sweep_later()


def bounds() -> Bounds:
    """What this process can serve; it may have more files open from now on."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    most = OPEN_FILES if hard == resource.RLIM_INFINITY else min(OPEN_FILES, hard)
    if soft < most:
        resource.setrlimit(resource.RLIMIT_NOFILE, (most, hard))
    room = max(1, (max(soft, most) - OTHER_FILES) // 2)
    return Bounds(connections=min(Bounds().connections, room))
