"""The HTTP side of a process that waits until it can work: it takes nothing until then."""

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import AbstractAsyncContextManager
from typing import Final, Protocol

from starlette.types import ASGIApp, Receive, Scope, Send

RETRY_SECONDS: Final = 10
"""Told to whoever is sent away."""
_AWAY: Final = b'{"detail":"the database is away; this process waits for it"}'
_ALIVE: Final = b'{"status":"ok"}'


class Works(Protocol):
    """The ASGI application of a service that works while the application runs."""

    def running(self) -> AbstractAsyncContextManager[object]:
        """From the start of the service to its end."""
        ...

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """ASGI entry."""
        ...


class Waiting:
    """ASGI: nobody is let in before there is an application, which takes its place then."""

    def __init__(
        self, make: Callable[[], Awaitable[Works]], failed: Callable[[Exception], None]
    ) -> None:
        """`make`: comes to its end when the process can work; `failed` is told what it, or the
        start of the service, has raised."""
        self._make = make
        self._failed = failed
        self._application: ASGIApp = refusing

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """ASGI entry."""
        if scope["type"] == "lifespan":
            await self._live(receive, send)
        else:
            await self._application(scope, receive, send)

    async def _live(self, receive: Receive, send: Send) -> None:
        await receive()  # lifespan.startup
        coming = asyncio.create_task(self._come(), name="coming back")
        await send({"type": "lifespan.startup.complete"})
        await receive()  # lifespan.shutdown
        coming.cancel()
        await asyncio.wait({coming})
        await send({"type": "lifespan.shutdown.complete"})

    async def _come(self) -> None:
        """Until it is cancelled."""
        try:
            application = await self._make()
            async with application.running():
                self._application = application
                try:
                    await asyncio.Event().wait()
                finally:
                    self._application = refusing
        except Exception as error:  # whatever it is, the process cannot go on waiting
            self._failed(error)


async def refusing(scope: Scope, receive: Receive, send: Send) -> None:
    """The process lives, and takes nothing."""
    is_asked_for_life = scope["path"] == "/healthz"
    headers = [(b"content-type", b"application/json")]
    if not is_asked_for_life:
        headers.append((b"retry-after", str(RETRY_SECONDS).encode()))
    status = 200 if is_asked_for_life else 503
    await send({"type": "http.response.start", "status": status, "headers": headers})
    await send({"type": "http.response.body", "body": _ALIVE if is_asked_for_life else _AWAY})
