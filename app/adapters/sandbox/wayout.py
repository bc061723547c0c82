"""The one way out of a sandbox: an HTTP proxy that knows whom it lets through.

It finds addresses itself and connects to the ones that it has looked at, so a listed name that
leads into the service's own network leads nowhere. Nothing that passes is read or changed: what a
listed host does with it is that host's.
"""

import asyncio
import re
import socket
from collections.abc import Awaitable, Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Final
from urllib.parse import urlsplit

from app.adapters.sandbox.hosts import is_listed, is_public, plain_name
from app.ports import RefusedHost

MOST_CONNECTIONS: Final = 64
MOST_BYTES: Final = 8 * 1024**3
"""Both ways together, of one command."""
MOST_HEAD_BYTES: Final = 64 * 1024
MOST_REFUSED: Final = 50
"""Different ones that are told; the others are only refused."""
MOST_ADDRESSES: Final = 4
"""Of one name, that are tried."""
HEAD_SECONDS: Final = 30.0
RESOLVE_SECONDS: Final = 15.0
CONNECT_SECONDS: Final = 10.0
SILENT_SECONDS: Final = 120.0
_CHUNK_BYTES: Final = 64 * 1024
_MOST_SHOWN: Final = 80
_REQUEST: Final = re.compile(rb"([A-Z]{1,20}) (\S{1,8000}) HTTP/1\.[01]")
_OWN_HEADERS: Final = (b"connection:", b"proxy-", b"keep-alive:", b"host:")
"""Between a client and its proxy; and the host, which is the one that was looked at."""

_Stream = tuple[asyncio.StreamReader, asyncio.StreamWriter]
Resolve = Callable[[str, int], Awaitable[Sequence[str]]]


async def resolved(name: str, port: int) -> Sequence[str]:
    """The addresses of a name, as this machine sees them. Raises `OSError`."""
    loop = asyncio.get_running_loop()
    found = await loop.getaddrinfo(name, port, type=socket.SOCK_STREAM)
    return [str(address[0]) for *_, address in found]


@dataclass(frozen=True, slots=True)
class Egress:
    """Whom the proxy lets through. All but `hosts` is for tests, which have no internet: nothing
    that anybody can configure changes it."""

    hosts: tuple[str, ...]
    """Names, or `*.example.org`."""
    ports: tuple[int, ...] = (80, 443)
    may_reach: Callable[[str], bool] = is_public
    """By address."""
    resolve: Resolve = resolved


@dataclass(frozen=True, slots=True)
class _Target:
    name: str
    """As it was asked for."""
    port: int
    head: bytes
    """What the host is sent first: nothing through a tunnel."""

    @property
    def is_tunnel(self) -> bool:
        return not self.head


class _Refuses(Exception):
    """Somebody may not be reached, or cannot be."""

    def __init__(self, status: int, why: str) -> None:
        super().__init__(why)
        self.status = status


_STATUS: Final = {
    400: "Bad Request",
    403: "Forbidden by Squadron",
    502: "Bad Gateway",
}


class Proxy:
    """Of one command. Use it from one event loop only."""

    def __init__(self, egress: Egress) -> None:
        self._egress = egress
        self._under_way: set[asyncio.Task[None]] = set()
        self._bytes_left = MOST_BYTES
        self._refused: dict[tuple[str, str], int] = {}

    @property
    def refused(self) -> tuple[RefusedHost, ...]:
        """Who was asked for and not reached, in order."""
        return tuple(RefusedHost(host, why, times) for (host, why), times in self._refused.items())

    def admit(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """A client has connected; for `asyncio.start_server`, with a `limit` of
        `MOST_HEAD_BYTES`."""
        if len(self._under_way) == MOST_CONNECTIONS:
            self._note("all hosts together", f"more than {MOST_CONNECTIONS} connections at once")
            writer.close()
            return
        task = asyncio.create_task(self._served(reader, writer))
        self._under_way.add(task)
        task.add_done_callback(self._under_way.discard)

    async def close(self) -> None:
        """End every connection."""
        tasks = list(self._under_way)
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    async def _served(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            # Whatever hangs up, or falls silent, in the middle has had its answer.
            with suppress(OSError, TimeoutError, EOFError):
                try:
                    await self._passed(reader, writer)
                except _Refuses as refusal:
                    writer.write(_answer(refusal.status, str(refusal)))
                    await _drained(writer)
        finally:
            writer.close()

    def _note(self, host: str, why: str) -> None:
        if (host, why) in self._refused or len(self._refused) < MOST_REFUSED:
            self._refused[host, why] = self._refused.get((host, why), 0) + 1

    async def _passed(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        async with asyncio.timeout(HEAD_SECONDS):
            target = await _asked(reader)
        upstream = await self._reached(target)
        try:
            if target.is_tunnel:
                writer.write(b"HTTP/1.1 200 Connection established\r\n\r\n")
            else:
                upstream[1].write(target.head)
            async with asyncio.timeout(SILENT_SECONDS) as silence:
                await self._exchanged((reader, writer), upstream, silence)
        finally:
            upstream[1].close()

    async def _exchanged(
        self, client: _Stream, upstream: _Stream, silence: asyncio.Timeout
    ) -> None:
        """Both ways, until both have ended or one is gone."""
        try:
            async with asyncio.TaskGroup() as both:
                both.create_task(self._pumped(client[0], upstream[1], silence))
                both.create_task(self._pumped(upstream[0], client[1], silence))
        except* OSError:
            pass

    async def _reached(self, target: _Target) -> _Stream:
        """A connection to the host. Raises `_Refuses`, and keeps that for people."""
        shown = f"{target.name[:_MOST_SHOWN]}:{target.port}"
        try:
            return await _connected(await self._addresses(target), target.port)
        except _Refuses as refusal:
            self._note(shown, str(refusal))
            raise _Refuses(refusal.status, f"{shown} {refusal}") from None

    async def _addresses(self, target: _Target) -> Sequence[str]:
        """Where the host may be reached. Raises `_Refuses`."""
        name = plain_name(target.name)
        if name is None:
            raise _Refuses(403, "is no name of a host; addresses are not let through")
        if not is_listed(name, self._egress.hosts):
            raise _Refuses(403, "is not on the operator's list, `sandbox.egress`")
        if target.port not in self._egress.ports:
            ports = " and ".join(map(str, self._egress.ports))
            raise _Refuses(403, f"is another port than {ports}")
        try:
            async with asyncio.timeout(RESOLVE_SECONDS):
                found = await self._egress.resolve(name, target.port)
        except OSError as error:
            why = error.strerror or f"no answer within {RESOLVE_SECONDS:g} s"
            raise _Refuses(502, f"its address cannot be found: {why}") from error
        allowed = [each for each in dict.fromkeys(found) if self._egress.may_reach(each)]
        if not allowed:
            raise _Refuses(403, "has no address on the internet, only in a network of its own")
        return allowed[:MOST_ADDRESSES]

    async def _pumped(
        self, source: asyncio.StreamReader, sink: asyncio.StreamWriter, silence: asyncio.Timeout
    ) -> None:
        """Until the source ends. Raises `OSError` when one of them is gone, or all was used."""
        loop = asyncio.get_running_loop()
        while chunk := await source.read(_CHUNK_BYTES):
            self._bytes_left -= len(chunk)
            if self._bytes_left < 0:
                self._note("all hosts together", f"more than {MOST_BYTES} bytes")
                raise OSError("all was used")
            silence.reschedule(loop.time() + SILENT_SECONDS)
            sink.write(chunk)
            await sink.drain()
        if sink.can_write_eof():
            sink.write_eof()


async def _connected(addresses: Sequence[str], port: int) -> _Stream:
    why = ""
    for address in addresses:
        try:
            async with asyncio.timeout(CONNECT_SECONDS):
                return await asyncio.open_connection(address, port)
        except OSError as error:
            why = error.strerror or f"no answer within {CONNECT_SECONDS:g} s"
    raise _Refuses(502, f"cannot be reached: {why}")


async def _asked(reader: asyncio.StreamReader) -> _Target:
    """Whom the client wants. Raises `_Refuses`; `EOFError` where it hangs up."""
    try:
        head = await reader.readuntil(b"\r\n\r\n")
    except asyncio.LimitOverrunError as error:
        raise _Refuses(400, f"a head of more than {MOST_HEAD_BYTES} bytes") from error
    line, *headers = head.removesuffix(b"\r\n\r\n").split(b"\r\n")
    asked = _REQUEST.fullmatch(line)
    if asked is None:
        raise _Refuses(400, "this is a proxy for HTTP: CONNECT HOST:PORT, or GET http://HOST/")
    method, said = asked[1], asked[2].decode("ascii", "backslashreplace")
    try:
        if method == b"CONNECT":
            address = urlsplit(f"//{said}")
            return _Target(_bare(address.hostname), address.port or 443, b"")
        address = urlsplit(said)
        if address.scheme != "http":
            raise _Refuses(400, "this is a proxy for HTTP: for https ask CONNECT HOST:PORT")
        name, port = _bare(address.hostname), address.port or 80
    except ValueError as error:
        raise _Refuses(400, "the address of the request is none") from error
    host = name if port == 80 else f"{name}:{port}"
    path = (address.path or "/") + (f"?{address.query}" if address.query else "")
    kept = [each for each in headers if not each.lower().startswith(_OWN_HEADERS)]
    first = b"%s %s HTTP/1.1" % (method, path.encode())
    lines = [first, b"Host: %s" % host.encode(), b"Connection: close", *kept]
    return _Target(name, port, b"\r\n".join(lines) + b"\r\n\r\n")


def _bare(name: str | None) -> str:
    """In letters that a terminal shows as they are."""
    return ascii(name or "")[1:-1]


def _answer(status: int, why: str) -> bytes:
    body = f"squadron: {why}\n".encode()
    return b"HTTP/1.1 %d %s\r\nContent-Type: text/plain\r\nContent-Length: %d\r\n%s\r\n\r\n%s" % (
        status,
        _STATUS[status].encode(),
        len(body),
        b"Connection: close",
        body,
    )


async def _drained(writer: asyncio.StreamWriter) -> None:
    async with asyncio.timeout(HEAD_SECONDS):
        await writer.drain()
