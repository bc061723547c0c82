"""The HTTP side of a process that waits for its database."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from typing import Any, cast

import httpx
import pytest
from starlette.types import Receive, Scope, Send

from app.web.waiting import RETRY_SECONDS, Waiting, Works


class Ready:
    """An application that counts its starts and its ends."""

    def __init__(self) -> None:
        self.lived: list[str] = []
        self.has_started = asyncio.Event()

    def running(self) -> AbstractAsyncContextManager[object]:
        @asynccontextmanager
        async def run() -> AsyncIterator[None]:
            self.lived.append("started")
            self.has_started.set()
            try:
                yield
            finally:
                self.lived.append("stopped")

        return run()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        await send({"type": "http.response.start", "status": 202, "headers": []})
        await send({"type": "http.response.body", "body": scope["path"].encode()})


class Server:
    """What drives an application: its lifespan, and requests."""

    def __init__(self, application: Waiting) -> None:
        self._application = application
        self._told: asyncio.Queue[dict[str, Any]] = asyncio.Queue()
        self._said: asyncio.Queue[Any] = asyncio.Queue()
        self._lifespan: asyncio.Task[None]

    async def starts(self) -> None:
        lifespan = self._application({"type": "lifespan"}, self._told.get, self._said.put)
        self._lifespan = asyncio.ensure_future(cast(Any, lifespan))
        await self._told.put({"type": "lifespan.startup"})
        assert (await self._said.get())["type"] == "lifespan.startup.complete"

    async def stops(self) -> None:
        await self._told.put({"type": "lifespan.shutdown"})
        assert (await self._said.get())["type"] == "lifespan.shutdown.complete"
        await self._lifespan

    async def asked(self, method: str, path: str) -> tuple[int, str, str | None]:
        """Status, body, and when to come again."""
        transport = httpx.ASGITransport(self._application)
        async with httpx.AsyncClient(transport=transport, base_url="http://here") as client:
            answer = await client.request(method, path)
        return answer.status_code, answer.text, answer.headers.get("retry-after")


async def test_nothing_is_taken_before_it_can_work_and_all_is_after() -> None:
    ready, may = Ready(), asyncio.Event()
    failures: list[Exception] = []

    async def make() -> Works:
        await may.wait()
        return ready

    server = Server(Waiting(make, failures.append))
    await server.starts()
    for method, path in (("POST", "/webhook"), ("GET", "/readyz"), ("GET", "/api/agents")):
        status, said, again = await server.asked(method, path)
        assert (status, again) == (503, str(RETRY_SECONDS))
        assert "the database is away" in said
    assert await server.asked("GET", "/healthz") == (200, '{"status":"ok"}', None)
    assert ready.lived == []
    may.set()
    await ready.has_started.wait()
    await asyncio.sleep(0)
    assert await server.asked("POST", "/webhook") == (202, "/webhook", None)
    await server.stops()
    assert ready.lived == ["started", "stopped"]
    assert (await server.asked("POST", "/webhook"))[0] == 503
    assert failures == []


async def test_who_is_stopped_while_it_waits_ends() -> None:
    async def make() -> Works:
        await asyncio.Event().wait()
        raise AssertionError("nobody lets it go on")

    failures: list[Exception] = []
    server = Server(Waiting(make, failures.append))
    await server.starts()
    await server.stops()
    assert failures == []


@pytest.mark.parametrize("when", ["made", "started"])
async def test_what_keeps_it_from_working_is_told(when: str) -> None:
    class Failing(Ready):
        def running(self) -> AbstractAsyncContextManager[object]:
            @asynccontextmanager
            async def run() -> AsyncIterator[None]:
                raise ValueError("started")
                yield

            return run()

    async def make() -> Works:
        if when == "made":
            raise ValueError("made")
        return Failing()

    told: asyncio.Queue[Exception] = asyncio.Queue()
    server = Server(Waiting(make, told.put_nowait))
    await server.starts()
    assert str(await told.get()) == when
    assert (await server.asked("POST", "/webhook"))[0] == 503
    await server.stops()
