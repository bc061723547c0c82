"""`POST /webhook`: a plain ASGI endpoint, because it is the one place where speed is a promise.

What bodies may take of memory and time, their connections bound. What a flood of junk costs others
is bounded here: unsigned bodies are not read, large ones take turns, small ones cost a hash.
"""

import asyncio
import json
import logging
from collections import Counter
from collections.abc import Callable
from typing import Final

from starlette.types import Receive, Scope, Send

from app.ports import StoreUnavailable
from app.services.intake.intake import Intake, RefusedDelivery
from app.web.memory import give_back

ACCEPT_SECONDS: Final = 8.0
"""For the commit: a sender that gives up after 10 seconds is still told 503 before."""
LARGE_BODY_BYTES: Final = 512 * 1024
"""Above this, hashing and parsing would hold other deliveries up: they take turns."""
LARGE_BODIES_AT_ONCE: Final = 2

GIVE_BACK_SECONDS: Final = 1.0
LOG_SECONDS: Final = 1.0
FREE_REFUSALS_A_SECOND: Final = 50
HOLD_SECONDS: Final = 0.5
MOST_HELD: Final = 500
"""Beyond the free ones, so many refusals wait before they are answered: a flood then waits for
itself instead of for the loop that signed deliveries need. Further ones are answered at once."""
NEW: Final = b'{"accepted": true}'
KNOWN: Final = b'{"accepted": false}'

log = logging.getLogger("squadron.intake")


class Refusals:
    """What was refused in this second: a flood must neither fill the log nor take the loop."""

    def __init__(self) -> None:
        self._counts: Counter[tuple[int, str]] = Counter()
        self._held = 0

    async def slow_down(self) -> None:
        """Hold an answer back if too many were refused already in this second."""
        if self._counts.total() <= FREE_REFUSALS_A_SECOND or self._held >= MOST_HELD:
            return
        self._held += 1
        try:
            await asyncio.sleep(HOLD_SECONDS)
        finally:
            self._held -= 1

    def note(self, refused: RefusedDelivery) -> None:
        """The kinds are few: no reason holds anything that a sender wrote."""
        if not self._counts:
            asyncio.get_running_loop().call_later(LOG_SECONDS, self._tell)
        self._counts[refused.status, refused.reason] += 1

    def _tell(self) -> None:
        for (status, why), count in self._counts.items():
            log.info("deliveries refused", extra={"status": status, "why": why, "count": count})
        self._counts.clear()


class WebhookEndpoint:
    """Reads a bounded body, lets intake verify and commit it, answers 202."""

    def __init__(self, intake: Intake, on_accepted: Callable[[], None]) -> None:
        """`on_accepted` is called after each new delivery: the dispatcher need not poll."""
        self._intake = intake
        self._on_accepted = on_accepted
        self._large_bodies = asyncio.Semaphore(LARGE_BODIES_AT_ONCE)
        self._refusals = Refusals()
        self._giving_back: asyncio.TimerHandle | None = None

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """ASGI entry."""
        try:
            is_new = await self._handle(scope, receive)
        except RefusedDelivery as refused:
            self._refusals.note(refused)
            if refused.status != 400:  # who gets this far without a 401 or a 413 has the secret
                await self._refusals.slow_down()
            await _refuse(send, refused.status, refused.reason)
        except StoreUnavailable as unavailable:
            log.error("inbox unavailable: %s", unavailable)
            await _refuse(send, 503, "the inbox is unavailable; deliver again later")
        else:
            if is_new:
                self._on_accepted()
            await _send(send, 202, NEW if is_new else KNOWN)

    async def _handle(self, scope: Scope, receive: Receive) -> bool:
        headers = dict(scope["headers"])
        if b"x-hub-signature-256" not in headers:
            raise RefusedDelivery(401, "no valid signature")
        body = await _read(receive)
        if len(body) <= LARGE_BODY_BYTES:
            delivery = self._intake.verify(headers, body)
        else:
            async with self._large_bodies:
                delivery = await asyncio.to_thread(self._intake.verify, headers, body)
            self._give_back_soon()
        try:
            async with asyncio.timeout(ACCEPT_SECONDS):
                return await self._intake.accept(delivery)
        except TimeoutError as error:
            raise StoreUnavailable(f"no commit within {ACCEPT_SECONDS:.0f} s") from error

    def _give_back_soon(self) -> None:
        """When no large body has come for a while: they come in bursts."""
        if self._giving_back is not None:
            self._giving_back.cancel()
        loop = asyncio.get_running_loop()
        self._giving_back = loop.call_later(
            GIVE_BACK_SECONDS, loop.run_in_executor, None, give_back
        )


async def _read(receive: Receive) -> bytes:
    parts: list[bytes] = []
    while True:
        message = await receive()
        if message["type"] == "http.disconnect":
            raise RefusedDelivery(400, "the sender went away")
        parts.append(message.get("body", b""))
        if not message.get("more_body", False):
            return parts[0] if len(parts) == 1 else b"".join(parts)


async def _refuse(send: Send, status: int, why: str) -> None:
    """Closes the connection: nobody reads what is left of the body."""
    await _send(send, status, json.dumps({"error": why}).encode(), (b"connection", b"close"))


async def _send(send: Send, status: int, body: bytes, *more: tuple[bytes, bytes]) -> None:
    headers = [
        (b"content-type", b"application/json"),
        (b"content-length", b"%d" % len(body)),
        *more,
    ]
    await send({"type": "http.response.start", "status": status, "headers": headers})
    await send({"type": "http.response.body", "body": body})
