"""Strangers at the door: connections that ask for nothing, or never finish what they ask for.

Each stranger comes again when it is sent away, until its crowd ends. They talk to loopback only.
"""

import asyncio
from collections.abc import AsyncIterator, Callable, Coroutine, Mapping
from contextlib import asynccontextmanager, suppress
from typing import Any, Final

HOST: Final = "127.0.0.1"
TRICKLE_SECONDS: Final = 0.2
BETWEEN_CALLS_SECONDS: Final = 0.25
AT_ONCE: Final = 20
"""So many call at the same instant; a whole crowd would only be turned away by the system."""

Stranger = Callable[[asyncio.StreamReader, asyncio.StreamWriter], Coroutine[Any, Any, None]]


async def idle(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    """Asks for nothing."""
    await reader.read()


async def slow_headers(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    """Has always one more header."""
    writer.write(b"POST /webhook HTTP/1.1\r\nHost: here\r\n")
    while not reader.at_eof():
        writer.write(b"X-More: and more\r\n")
        await _pause(reader)


def held_body(size: int) -> Stranger:
    """Sends all of a body but its last byte."""

    async def stranger(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(head(size) + bytes(size - 1))
        await writer.drain()
        await reader.read()

    return stranger


def slow_body(size: int) -> Stranger:
    """Sends a body byte by byte."""

    async def stranger(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(head(size))
        while not reader.at_eof():
            writer.write(b"x")
            await _pause(reader)

    return stranger


async def never_reads(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    """Asks again and again, and takes no answer: nobody reads here, so the stream takes no more
    than its own bound."""
    while not writer.is_closing():
        writer.write(b"GET /metrics HTTP/1.1\r\nHost: here\r\n\r\n" * 10)
        await writer.drain()
        await asyncio.sleep(TRICKLE_SECONDS)


MEBIBYTE: Final = 1024 * 1024
CROWDS: Final[Mapping[str, tuple[int, Stranger]]] = {
    "idle": (1_000, idle),
    "slow_headers": (300, slow_headers),
    "held": (205, held_body(500_000)),
    "slow": (205, slow_body(25 * MEBIBYTE)),
    "never_reads": (100, never_reads),
}
"""How many of each kind; some have made a server deaf."""


@asynccontextmanager
async def crowd(port: int, **crowds: tuple[int, Stranger]) -> AsyncIterator[None]:
    """So many strangers of each kind, from when all have called once to the end of the block."""
    turns = asyncio.Semaphore(AT_ONCE)
    called = [asyncio.Event() for count, _ in crowds.values() for _ in range(count)]
    kinds = [stranger for count, stranger in crowds.values() for _ in range(count)]
    tasks = [
        asyncio.create_task(_come_again(port, stranger, turns, event))
        for stranger, event in zip(kinds, called, strict=True)
    ]
    try:
        await asyncio.gather(*(event.wait() for event in called))
        yield
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


async def _come_again(
    port: int, stranger: Stranger, turns: asyncio.Semaphore, called: asyncio.Event
) -> None:
    while True:
        with suppress(OSError):
            async with turns:
                reader, writer = await asyncio.open_connection(HOST, port)
            called.set()
            try:
                await stranger(reader, writer)
            finally:
                writer.transport.abort()
        await asyncio.sleep(BETWEEN_CALLS_SECONDS)


def head(size: int) -> bytes:
    """The start of a delivery that is none, with a body of so many bytes."""
    return (
        "POST /webhook HTTP/1.1\r\nHost: here\r\nX-GitHub-Event: ping\r\nX-GitHub-Delivery: junk"
        f"\r\nX-Hub-Signature-256: sha256={'0' * 64}\r\nContent-Length: {size}\r\n\r\n"
    ).encode()


async def _pause(reader: asyncio.StreamReader) -> None:
    """A moment, or less when the other side has answered."""
    with suppress(TimeoutError):
        async with asyncio.timeout(TRICKLE_SECONDS):
            await reader.read(1)
