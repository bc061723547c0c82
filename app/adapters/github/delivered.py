"""What GitHub has delivered last, and where to: for whoever looks whether webhooks arrive."""

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import aclosing
from dataclasses import dataclass
from datetime import datetime
from typing import Final

from app.adapters.github import reading
from app.adapters.github.call import Call
from app.adapters.github.connection import Connection

LOOKS: Final = 15
LOOK_SECONDS: Final = 2.0
"""GitHub makes the new attempt within seconds."""


@dataclass(frozen=True, slots=True)
class Delivered:
    """One attempt of GitHub's to deliver something."""

    number: int
    event: str
    at: datetime
    said: str
    """What became of it, in GitHub's words: `OK`, `failed to connect to host`."""
    is_taken: bool
    """Whether it was answered with a status of 2xx."""
    url: str
    """Where it was sent."""


async def last_delivered(connection: Connection) -> Delivered | None:
    """The newest attempt; None: there was none in the three days that GitHub remembers."""
    async with aclosing(connection.pages(Call("GET", "/app/hook/deliveries"))) as entries:
        async for entry in entries:
            number = reading.needed_number(entry, "id")
            answer = await connection.send(Call("GET", f"/app/hook/deliveries/{number}"))
            return Delivered(
                number,
                reading.needed_text(entry, "event"),
                reading.needed_instant(entry, "delivered_at"),
                reading.needed_text(entry, "status"),
                200 <= reading.needed_number(entry, "status_code") < 300,
                reading.text(answer.body, "url") or "",
            )
    return None


async def delivered_again(
    connection: Connection,
    earlier: Delivered,
    sleep: Callable[[float], Awaitable[object]] = asyncio.sleep,
) -> Delivered | None:
    """Let GitHub deliver the same once more; what became of it, or None if that is not known in
    half a minute. Squadron takes what it has had before and does nothing."""
    await connection.send(Call("POST", f"/app/hook/deliveries/{earlier.number}/attempts"))
    for _ in range(LOOKS):
        await sleep(LOOK_SECONDS)
        newest = await last_delivered(connection)
        if newest is not None and newest.number != earlier.number:
            return newest
    return None
