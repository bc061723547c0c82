"""What a connection may take of the web server, and who goes when there are too many."""

import asyncio
import json
import socket
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any, Final

import httpx
import pytest
import uvicorn
from starlette.types import Receive, Scope, Send

from app.adapters.clock import SystemClock
from app.adapters.store.database import make_engine
from app.adapters.store.schema import migrate
from app.adapters.store.store import SqlStore
from app.adapters.store.writer import GroupWriter
from app.cli.serve import SERVER_FLAGS
from app.services.intake.intake import Intake
from app.web.application import BODY_BYTES
from app.web.connections import protocol
from app.web.guests import Bounds, Guests
from app.web.webhook import WebhookEndpoint
from tests.support import deliveries, strangers
from tests.support.squad import WEBHOOK_SECRET
from tests.support.strangers import crowd

LARGE: Final = 1024 * 1024
FEW: Final = Bounds(
    connections=100, header_seconds=0.5, body_seconds=1.0, held_bytes=40 * LARGE, linger_seconds=1.0
)
PATIENT: Final = Bounds(header_seconds=60, body_seconds=60)
MOST_SECONDS: Final = 60.0


@pytest.fixture
def endpoint(tmp_path: Path) -> Iterator[WebhookEndpoint]:
    """The webhook over a real inbox."""
    engine = make_engine(f"sqlite:///{tmp_path / 's.sqlite'}")
    migrate(engine)
    writer = GroupWriter(engine)
    store = SqlStore(engine, writer, lambda _, __: None)
    yield WebhookEndpoint(Intake([WEBHOOK_SECRET.encode()], store, SystemClock()), lambda: None)
    writer.close()
    engine.dispose()


class Door:
    """The webhook, and for everything else an answer that reads no body."""

    def __init__(self, webhook: WebhookEndpoint) -> None:
        self._webhook = webhook
        self.asked = 0

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        self.asked += 1
        if scope["path"] == "/webhook":
            await self._webhook(scope, receive, send)
            return
        body = b"x" * 500_000
        length = [(b"content-length", b"%d" % len(body))]
        await send({"type": "http.response.start", "status": 200, "headers": length})
        await send({"type": "http.response.body", "body": body})


@asynccontextmanager
async def served(app: Any, bounds: Bounds, guests: Guests | None = None) -> AsyncIterator[int]:
    """The port of a server whose connections have these bounds."""
    guests = Guests(bounds, BODY_BYTES.get) if guests is None else guests
    flags = {**SERVER_FLAGS, "loop": "none", "timeout_graceful_shutdown": 1}
    flags["http"] = protocol(guests)
    server = uvicorn.Server(uvicorn.Config(app, port=0, lifespan="off", **flags))
    listener = socket.create_server(("127.0.0.1", 0), backlog=SERVER_FLAGS["backlog"])
    serving = asyncio.create_task(server.serve([listener]))
    try:
        yield listener.getsockname()[1]
    finally:
        server.should_exit = True
        await asyncio.wait_for(serving, MOST_SECONDS)


async def exchanged(port: int, *sent: bytes) -> bytes:
    """What comes back until the other side ends."""
    async with asyncio.timeout(MOST_SECONDS):
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        try:
            for part in sent:
                writer.write(part)
                await writer.drain()
            return await reader.read()
        finally:
            writer.transport.abort()


async def all_accepted(port: int, count: int, size: int = 7_000) -> None:
    """So many signed deliveries one after the other, each on a connection of its own."""
    body = json.dumps({"zen": "x" * size}).encode()
    for number in range(count):
        url = f"http://127.0.0.1:{port}/webhook"
        sent = deliveries.headers("ping", f"signed-{number}", body)
        async with httpx.AsyncClient(timeout=MOST_SECONDS) as github:
            answer = await github.post(url, content=body, headers=sent)
        assert answer.status_code == 202, answer.text


def post(*lines: str, body: bytes = b"", path: str = "/webhook") -> bytes:
    return "\r\n".join((f"POST {path} HTTP/1.1", "Host: x", *lines, "", "")).encode() + body


@pytest.mark.parametrize(
    ("sent", "status"),
    [
        (post("Transfer-Encoding: chunked", body=b"2\r\n{}\r\n0\r\n\r\n"), 411),
        (post("Content-Length: 26214401"), 413),
        (post("Content-Length: 131073", path="/api/agents/x/resume"), 413),
        (post(f"Content-Length: {'9' * 5_001}"), 400),
        (post(f"Content-Length: {'0' * 5_000}99999999", body=b"x"), 413),
        (post("Content-Length: -1"), 400),
        (post("Content-Length: 1", "Content-Length: 2"), 400),
        (post("Content-Length: 5x"), 400),
        (post(f"X-Long: {'x' * 70_000}"), 431),
        (post(*(f"X-{n}: {'x' * 1_000}" for n in range(70))), 431),
        (b"GET /" + b"x" * 70_000, 431),
        (b"no http at all\r\n\r\n", 400),
    ],
    ids=[
        "chunked", "over 25 MB", "over the small bound", "5,001 digits", "many zeros",
        "negative", "two lengths", "no number", "long header", "many headers", "long address",
        "junk",
    ],
)  # fmt: skip
async def test_what_cannot_be_served_is_answered_before_anything_is_started(
    endpoint: WebhookEndpoint, sent: bytes, status: int
) -> None:
    door = Door(endpoint)
    async with served(door, PATIENT) as port:
        answer = await exchanged(port, sent)
    head, _, body = answer.partition(b"\r\n\r\n")
    assert head.startswith(b"HTTP/1.1 %d " % status), answer[:200]
    assert json.loads(body)["error"]
    assert b"connection: close" in head
    assert door.asked == 0


async def test_who_sends_too_much_reads_why(endpoint: WebhookEndpoint) -> None:
    """A sender that is still sending when it is refused is heard out, so that it gets to know."""
    size = 40 * LARGE
    async with served(endpoint, PATIENT) as port:
        answer = await exchanged(port, post(f"Content-Length: {size}"), *[bytes(LARGE)] * 40)
    assert answer.startswith(b"HTTP/1.1 413 ")


async def test_who_is_refused_for_its_signature_reads_why(endpoint: WebhookEndpoint) -> None:
    """The endpoint answers before the body is read: what is still sent runs out."""
    size = 20 * LARGE
    async with served(endpoint, PATIENT) as port:
        answer = await exchanged(port, post(f"Content-Length: {size}"), *[bytes(LARGE)] * 20)
    assert answer.startswith(b"HTTP/1.1 401 ")


async def test_headers_have_their_time(endpoint: WebhookEndpoint) -> None:
    async with served(endpoint, FEW) as port:
        assert await exchanged(port) == b"", "who asks for nothing is sent away without a word"
        answer = await exchanged(port, b"POST /webhook HTTP/1.1\r\nHost: x\r\n")
        assert answer.startswith(b"HTTP/1.1 408 ")


async def test_a_body_has_its_time_however_it_comes(endpoint: WebhookEndpoint) -> None:
    async with served(endpoint, FEW) as port, asyncio.timeout(MOST_SECONDS):
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        writer.write(strangers.head(1_000))
        answer = b""
        while not answer:
            writer.write(b"x")
            try:
                async with asyncio.timeout(0.1):
                    answer = await reader.read(100)
            except TimeoutError:
                continue
        writer.transport.abort()
    assert answer.startswith(b"HTTP/1.1 408 ")


async def test_requests_follow_each_other_on_one_connection(endpoint: WebhookEndpoint) -> None:
    """Also those that come before the first is answered."""
    body = b'{"zen": "One after the other."}'
    requests = b"".join(
        post(
            *(
                f"{k}: {v}"
                for k, v in deliveries.headers("ping", f"p-{n}", body).items()
            ),
            f"Content-Length: {len(body)}",
            *(["Connection: close"] if n == 2 else []),
            body=body,
        )
        for n in range(3)
    )  # fmt: skip
    async with served(endpoint, PATIENT) as port:
        answer = await exchanged(port, requests)
    assert answer.count(b"HTTP/1.1 202 Accepted") == 3


@pytest.mark.parametrize(
    "kind",
    [
        strangers.idle,
        strangers.slow_headers,
        strangers.slow_body(1_000),
        strangers.slow_body(LARGE),
        strangers.held_body(10_000),
        strangers.never_reads,
    ],
    ids=["idle", "slow headers", "slow bodies", "slow large bodies", "held bodies", "never reads"],
)
async def test_more_strangers_than_there_are_places_keep_no_delivery_out(
    endpoint: WebhookEndpoint, kind: strangers.Stranger
) -> None:
    bounds = replace(FEW, header_seconds=MOST_SECONDS, body_seconds=MOST_SECONDS)
    guests = Guests(bounds, BODY_BYTES.get)
    async with (
        served(Door(endpoint), bounds, guests) as port,
        crowd(port, strangers=(FEW.connections + 30, kind)),
    ):
        await all_accepted(port, 20)
        assert len(guests) <= 2 * FEW.connections


@pytest.mark.parametrize("size", [7_000, 2 * LARGE], ids=["small", "large"])
async def test_bodies_held_by_strangers_keep_no_delivery_out(
    endpoint: WebhookEndpoint, size: int
) -> None:
    """They would hold more than the budget of bytes."""
    held = strangers.held_body(LARGE)
    async with served(endpoint, FEW) as port, crowd(port, held=(60, held)):
        await all_accepted(port, 10, size)


async def test_what_bodies_held_is_free_when_they_are_gone(endpoint: WebhookEndpoint) -> None:
    bounds = replace(FEW, body_seconds=MOST_SECONDS)
    guests = Guests(bounds, BODY_BYTES.get)
    async with served(endpoint, bounds, guests) as port:
        async with crowd(port, held=(60, strangers.held_body(LARGE))):
            await all_accepted(port, 3, 2 * LARGE)
            held = guests.held_bytes
        await all_accepted(port, 1)
    assert 0 < held <= FEW.held_bytes + 256 * 1024
    assert guests.held_bytes == 0
