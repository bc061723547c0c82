"""The web server's connections: uvicorn's protocol, with what it leaves to a proxy: bounds on
headers, on bodies, and on the time for each."""

import asyncio
import json
import socket
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from http import HTTPStatus
from typing import Any, Final, cast

import httptools
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol, RequestResponseCycle

from app.web.guests import Guests

_MOST_LENGTH_DIGITS: Final = 15
"""Of a Content-Length that is read whole."""
_UNREAD_BYTES: Final = 64 * 1024
"""Of answers that the other side has not taken; the system itself would keep megabytes."""


class Transport:
    """uvicorn's transport, whose end is the connection's to decide."""

    def __init__(self, transport: asyncio.BaseTransport, close: Callable[[], None]) -> None:
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
        cycle = self._answering
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

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._end = transport.close
        transport.get_extra_info("socket").setsockopt(
            socket.SOL_SOCKET, socket.SO_SNDBUF, _UNREAD_BYTES
        )
        super().connection_made(cast(asyncio.Transport, Transport(transport, self._close)))
        self._within(self._bounds.header_seconds)
        self._guests.come(self)

    def connection_lost(self, exc: Exception | None) -> None:
        self._leave()
        super().connection_lost(exc)
        self._unset_keepalive_if_required()

    def data_received(self, data: bytes) -> None:
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
        if self._guests.is_expected(cycle.scope["path"]):
            self._start(cycle, app)
        else:
            self._guests.in_turn(partial(self._start, cycle, app))

    def _start(self, cycle: RequestResponseCycle, app: Any) -> None:
        if not self._is_ending:
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
        self._guests.finished(self)
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
        with suppress(OSError):  # the other side has gone
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
        self._guests.free(self, self._held)
        self._held = 0


def protocol(guests: Guests) -> Callable[..., Connection]:
    """uvicorn's `http=`."""
    return partial(Connection, guests)


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
