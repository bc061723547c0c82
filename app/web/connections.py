"""The web server's connections: strangers may open as many as they like, and keep nobody out.

uvicorn's protocol, with what it leaves to a proxy: bounds on connections, headers, bodies and on
the time for each. Who has to go is who has been silent for the longest, never who comes next: a
signed delivery is over in a moment, and what waits for nothing is not worth a place.
"""

import asyncio
import json
import logging
import resource
from collections import OrderedDict
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from http import HTTPStatus
from typing import Any, Final, cast

import httptools
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol, RequestResponseCycle

SWEEP_SECONDS: Final = 0.25
"""How late a deadline may be noticed."""
OPEN_FILES: Final = 8_192
"""As many files as this the process may have open, if its hard limit lets it."""
OTHER_FILES: Final = 1_024
"""Of these, what is left to databases, agents and logs."""
_MOST_LENGTH_DIGITS: Final = 15
"""Of a Content-Length that is read whole."""

log = logging.getLogger("squadron.web")


@dataclass(frozen=True, slots=True)
class Bounds:
    """What connections may take, all together and each."""

    connections: int = 4_096
    """More than the 2,048 that the system may hand over at once: of those, none ends another."""
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


class Guests:
    """All connections, the one that has been silent for the longest first. For one event loop."""

    def __init__(self, bounds: Bounds, most_body: Callable[[str], int | None]) -> None:
        """`most_body`: the bound in bytes of a path whose bodies have another one."""
        self.bounds = bounds
        self._most_body = most_body
        self._present: OrderedDict[Connection, None] = OrderedDict()
        self.held_bytes = 0
        """Of large bodies, now."""
        self._evicted = 0
        self._sweeping: asyncio.TimerHandle | None = None

    def __len__(self) -> int:
        return len(self._present)

    def most_body(self, path: str) -> int:
        """In bytes."""
        known = self._most_body(path)
        return self.bounds.body_bytes if known is None else known

    def come(self, connection: "Connection") -> None:
        """A new one; if there are too many, one that waits for nothing goes."""
        if len(self._present) >= self.bounds.connections:
            self._evict(lambda each: not each.is_served)
        self._present[connection] = None
        self._sweep_later()

    def heard(self, connection: "Connection") -> None:
        """It is not silent."""
        if connection in self._present:
            self._present.move_to_end(connection)

    def hold(self, connection: "Connection", size: int) -> bool:
        """A part of its body has come. Whether there is room: if all hold too much, others go."""
        self.held_bytes += size
        while self.held_bytes > self.bounds.held_bytes:
            if not self._evict(lambda each: each is not connection and each.is_sending):
                return False
        return True

    def free(self, size: int) -> None:
        """That much is no longer held."""
        self.held_bytes -= size

    def leave(self, connection: "Connection") -> None:
        """It is over."""
        self._present.pop(connection, None)

    def _evict(self, may_go: "Callable[[Connection], bool]") -> bool:
        gone = next((each for each in self._present if may_go(each)), None)
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


class Transport:
    """uvicorn's transport, whose end is the connection's to decide."""

    def __init__(self, transport: asyncio.Transport, close: Callable[[], None]) -> None:
        """`close`: called instead of the transport's own."""
        self._transport = transport
        self.close = close

    def __getattr__(self, name: str) -> Any:
        return getattr(self._transport, name)


class Connection(HttpToolsProtocol):
    """One connection. Requests that cannot be served are answered here, before any is started."""

    def __init__(self, guests: Guests, *arguments: Any, **named: Any) -> None:
        super().__init__(*arguments, **named)
        self._guests = guests
        self._bounds = guests.bounds
        self._end: Callable[[], None]
        self._deadline: float | None = None
        self._is_in_headers = True
        self._header_bytes = 0
        self._has_large_body = False
        self._held = 0
        self._is_ending = False
        self._answering: RequestResponseCycle | None = None
        """The request that is being answered; uvicorn's `cycle` is the one that came last."""

    # --- what the guests ask -------------------------------------------------------------------

    @property
    def is_sending(self) -> bool:
        """Whether a part of a large body has come and more is to come."""
        return self._held > 0 and not self._is_in_headers

    @property
    def is_served(self) -> bool:
        """Whether a whole request is being answered, and the other side takes the answer."""
        cycle = self.cycle
        is_answering = cycle is not None and not cycle.response_complete and not cycle.more_body
        return is_answering and not self.flow.write_paused

    def is_late(self, now: float) -> bool:
        """Whether its time for headers, a body, the taking of an answer or the end is over."""
        return self._deadline is not None and now >= self._deadline

    def time_is_over(self) -> None:
        """A deadline has passed."""
        if self._is_ending or self.flow.write_paused:
            self.abort()
        elif self._is_in_headers and self._header_bytes == 0:
            self._close()  # it has asked for nothing
        else:
            self._refuse(408, "the request took too long")

    def abort(self) -> None:
        """End it at once, whatever has not been read or written."""
        self._leave()
        self.flow.resume_writing()  # who waits to write goes on, and writes nothing
        self.transport.abort()

    # --- uvicorn's protocol --------------------------------------------------------------------

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        self._end = transport.close
        super().connection_made(cast(asyncio.Transport, Transport(transport, self._close)))
        self._within(self._bounds.header_seconds)
        self._guests.come(self)

    def connection_lost(self, exc: Exception | None) -> None:
        self._leave()
        super().connection_lost(exc)
        self._unset_keepalive_if_required()

    def data_received(self, data: bytes) -> None:
        self._guests.heard(self)
        if self._is_ending:
            return
        self._unset_keepalive_if_required()
        if self._is_in_headers:
            if self._header_bytes == 0:
                self._within(self._bounds.header_seconds)
            self._header_bytes += len(data)
        try:
            self.parser.feed_data(data)
        except httptools.HttpParserUpgrade:
            pass  # it is answered as what it also is, a request
        except httptools.HttpParserError:
            self._refuse(400, "the request is no valid HTTP")
        if self._is_in_headers and self._header_bytes > self._bounds.header_bytes:
            self._refuse(431, "the headers of the request are too long")

    def pause_writing(self) -> None:
        super().pause_writing()
        self._within(self._bounds.answer_seconds)

    def resume_writing(self) -> None:
        super().resume_writing()
        if not self._is_ending:
            self._deadline = None

    # --- uvicorn's parser calls these ----------------------------------------------------------

    def on_message_begin(self) -> None:
        if not self._is_ending:
            super().on_message_begin()

    def on_url(self, url: bytes) -> None:
        if not self._is_ending:
            super().on_url(url)

    def on_header(self, name: bytes, value: bytes) -> None:
        if not self._is_ending:
            super().on_header(name, value)

    def on_headers_complete(self) -> None:
        if self._is_ending:
            return
        size = len(self.url) + sum(len(name) + len(value) for name, value in self.headers)
        if size > self._bounds.header_bytes:
            self._refuse(431, "the headers of the request are too long")
        elif b"transfer-encoding" in (named := dict(self.headers)):
            self._refuse(411, "a body needs a Content-Length")
        elif not (declared := named.get(b"content-length", b"0").strip()).isdigit():
            self._refuse(400, "the Content-Length is no number")
        elif (length := _length(declared)) > (most := self._guests.most_body(self._path)):
            self._refuse(413, f"the body is over {most:,} bytes")
        else:
            self._is_in_headers, self._header_bytes = False, 0
            self._has_large_body = length > self._bounds.small_bytes
            self._within(self._bounds.body_seconds)
            super().on_headers_complete()

    def _start_asgi_task(self, cycle: RequestResponseCycle, app: Any) -> None:
        self._answering = cycle
        super()._start_asgi_task(cycle, app)

    def on_body(self, body: bytes) -> None:
        if self._is_ending:
            return
        super().on_body(body)
        if self._has_large_body:
            self._held += len(body)
            if not self._guests.hold(self, len(body)):
                self._refuse(503, "too many bodies are being read; try again")

    def on_message_complete(self) -> None:
        if self._is_ending:
            return
        self._deadline = None
        self._is_in_headers = True
        super().on_message_complete()

    def on_response_complete(self) -> None:
        self._free()
        if self._has_rest and not self._is_ending:
            self._linger()
        super().on_response_complete()
        if self._is_ending:
            self._unset_keepalive_if_required()

    # --- the end -------------------------------------------------------------------------------

    def _refuse(self, status: int, why: str) -> None:
        """Answer without asking anybody, and read no more of what is sent."""
        if self._is_ending or self.transport.is_closing():
            return
        cycle = self.cycle
        if cycle is None or cycle.response_complete or not cycle.response_started:
            self.transport.write(_answer(status, why))
        self._stop_answering()
        self._free()
        self._linger()

    @property
    def _path(self) -> str:
        return self.url.partition(b"?")[0].decode("latin-1")

    @property
    def _has_rest(self) -> bool:
        """Whether a request was answered before its body was read."""
        cycle = self.cycle
        return cycle is not None and cycle.response_complete and cycle.more_body

    def _close(self) -> None:
        """Who is answered before its body was read is heard out: who is reset reads no answer."""
        if self._is_ending:
            return
        if self._has_rest:
            self._linger()
            return
        self._is_ending = True
        self._within(self._bounds.linger_seconds)
        self._end()

    def _linger(self) -> None:
        """Half close, and let what is still sent run out."""
        self._is_ending = True
        self._within(self._bounds.linger_seconds)
        self._unset_keepalive_if_required()
        self.flow.resume_reading()
        with suppress(OSError, NotImplementedError):
            self.transport.write_eof()

    def _within(self, seconds: float) -> None:
        self._deadline = self.loop.time() + seconds

    def _stop_answering(self) -> None:
        """Whoever still works for a request of this connection is told, and writes no more."""
        for cycle in (self._answering, self.cycle):
            if cycle is not None and not cycle.response_complete:
                cycle.disconnected = True
                cycle.message_event.set()
        self.pipeline.clear()

    def _leave(self) -> None:
        self._is_ending, self._deadline = True, None
        self._stop_answering()
        self._free()
        self._guests.leave(self)

    def _free(self) -> None:
        self._guests.free(self._held)
        self._held = 0


def protocol(guests: Guests) -> Callable[..., Connection]:
    """uvicorn's `http=`."""
    return partial(Connection, guests)


def bounds() -> Bounds:
    """What this process can serve; it may have more files open from now on."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    most = OPEN_FILES if hard == resource.RLIM_INFINITY else min(OPEN_FILES, hard)
    if soft < most:
        resource.setrlimit(resource.RLIMIT_NOFILE, (most, hard))
    return Bounds(connections=max(1, min(Bounds().connections, max(soft, most) - OTHER_FILES)))


def _length(digits: bytes) -> int:
    """In bytes; a number with too many digits is cut to one that is still over every bound."""
    return int(digits.lstrip(b"0")[:_MOST_LENGTH_DIGITS] or b"0")


def _answer(status: int, why: str) -> bytes:
    body = json.dumps({"error": why}).encode()
    head = (
        f"HTTP/1.1 {status} {HTTPStatus(status).phrase}\r\n"
        f"content-type: application/json\r\ncontent-length: {len(body)}\r\n"
        "connection: close\r\n\r\n"
    )
    return head.encode() + body
