"""A load generator that costs little: raw HTTP/1.1 over keep-alive connections.

Each connection has one request under way. Either it sends the next one at once (`per_second`
None: how much can the server take?), or it keeps to a timetable; then a latency counts from the
moment at which the request was due, so a stalled server cannot hide what it kept waiting.
"""

import asyncio
from collections.abc import Iterator
from dataclasses import dataclass, field
from time import perf_counter
from typing import cast

from bench.deliveries import Request

MOST_OVERTIME_SECONDS = 30.0


@dataclass(slots=True)
class Load:
    """What was answered, and how fast."""

    seconds: float = 0.0
    latencies: list[float] = field(default_factory=list)
    """Seconds, of accepted requests."""
    accepted: set[str] = field(default_factory=set)
    """Ids that were answered 202."""
    refused: int = 0
    """Other answers, and connections that ended without one."""

    @property
    def per_second(self) -> float:
        """Accepted requests."""
        return len(self.latencies) / self.seconds

    def milliseconds(self, percent: float) -> float:
        """A centile of the latencies."""
        ordered = sorted(self.latencies)
        return 1_000 * ordered[min(len(ordered) - 1, int(len(ordered) * percent / 100))]


async def send(
    port: int,
    requests: Iterator[Request],
    *,
    connections: int,
    seconds: float,
    per_second: float | None = None,
) -> Load:
    """Load the server for so long; connections that it closes are opened again. Bounded."""
    load = Load()
    start = perf_counter()
    period = None if per_second is None else connections / per_second
    users = [
        _use(port, requests, load, start + n * (period or 0) / connections, start + seconds, period)
        for n in range(connections)
    ]
    async with asyncio.timeout(seconds + MOST_OVERTIME_SECONDS):
        await asyncio.gather(*users)
    load.seconds = perf_counter() - start
    return load


async def _use(
    port: int,
    requests: Iterator[Request],
    load: Load,
    due: float,
    end: float,
    period: float | None,
) -> None:
    """One user of the server, on one connection after the other."""
    loop = asyncio.get_running_loop()
    timetable = _Timetable(due, end, period)
    while not timetable.is_over():
        try:
            _, connection = await loop.create_connection(
                lambda: _Connection(requests, load, timetable), "127.0.0.1", port
            )
        except OSError:
            load.refused += 1
            await asyncio.sleep(0.01)
            continue
        await connection.closed


@dataclass(slots=True)
class _Timetable:
    """When the next request is due."""

    due: float
    end: float
    period: float | None

    def is_over(self) -> bool:
        return max(self.due, perf_counter()) >= self.end

    def next(self) -> float:
        """The instant from which the next request's latency counts."""
        if self.period is None:
            return perf_counter()
        due = self.due
        self.due += self.period
        return due


class _Connection(asyncio.Protocol):
    """Sends a request, waits for its answer, and so on."""

    def __init__(self, requests: Iterator[Request], load: Load, timetable: _Timetable) -> None:
        self._requests = requests
        self._load = load
        self._timetable = timetable
        self._loop = asyncio.get_running_loop()
        self._transport: asyncio.Transport
        self._answer = b""
        self._name = ""
        self._begin = 0.0
        self.closed: asyncio.Future[None] = self._loop.create_future()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast(asyncio.Transport, transport)
        self._plan()

    def data_received(self, data: bytes) -> None:
        self._answer += data
        head, separator, body = self._answer.partition(b"\r\n\r\n")
        if not separator or len(body) < _content_length(head):
            return
        self._answer = b""
        if head.startswith(b"HTTP/1.1 202"):
            self._load.latencies.append(perf_counter() - self._begin)
            self._load.accepted.add(self._name)
        else:
            self._load.refused += 1
        self._name = ""
        self._plan()

    def connection_lost(self, _: Exception | None) -> None:
        if self._name:
            self._load.refused += 1
        if not self.closed.done():
            self.closed.set_result(None)

    def _plan(self) -> None:
        """Send now, or when it is time."""
        if self._timetable.is_over():
            self._transport.close()
            return
        self._begin = self._timetable.next()
        wait = self._begin - perf_counter()
        if wait > 0:
            self._loop.call_later(wait, self._send)
        else:
            self._send()

    def _send(self) -> None:
        if not self._transport.is_closing():
            self._name, request = next(self._requests)
            self._transport.write(request)


def _content_length(head: bytes) -> int:
    _, found, rest = head.lower().partition(b"content-length: ")
    return int(rest.partition(b"\r\n")[0]) if found else 0
