"""What the tests of the model proxy share: requests in each wire format, and bad endpoints."""

import asyncio
import json
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

import httpx
from pydantic import SecretStr

from app.adapters.modelproxy import Bounds, ModelProxy, Upstream
from app.adapters.modelproxy.wires import Provider
from app.ports import Gate
from tests.contract.embedded import KEY, RecordingGate

WIRES: Mapping[str, tuple[Provider, str]] = {
    "chat": ("openai", "/v1/chat/completions"),
    "responses": ("openai", "/v1/responses"),
    "messages": ("anthropic", "/v1/messages"),
}
REFUSED = {"chat": 400, "responses": 400, "messages": 402}
"""The status that says: do not try this again."""
QUICK = Bounds(first_byte_seconds=10.0, idle_seconds=10.0, drain_seconds=10.0, slot_seconds=10.0)


def request_body(wire: str, words: str, **more: object) -> dict[str, Any]:
    """A request with one message of the user."""
    said = [{"role": "user", "content": words}]
    if wire == "responses":
        return {"model": "m", "input": said, **more}
    return {"model": "m", "messages": said, "max_tokens": 500, **more}


@dataclass
class Client:
    """A CLI's view of its proxy."""

    proxy: ModelProxy
    http: httpx.AsyncClient
    wire: str

    async def ask(self, words: str = "SCENARIO:story", **more: object) -> httpx.Response:
        """One request for an answer, read to its end."""
        path = WIRES[self.wire][1]
        return await self.http.post(path, json=request_body(self.wire, words, **more))


@asynccontextmanager
async def proxied(
    base_url: str,
    gate: Gate | None = None,
    wire: str = "chat",
    bounds: Bounds = QUICK,
    **more: Any,
) -> AsyncIterator[Client]:
    """An open proxy before this endpoint, and a client of it; `base_url` has no `/v1`."""
    provider = WIRES[wire][0]
    upstream = Upstream(
        base_url + ("/v1" if provider == "openai" else ""), SecretStr(KEY), provider
    )
    more = {"model": f"{provider}:m", **more}
    async with (
        ModelProxy(upstream, gate or RecordingGate(), bounds=bounds, **more) as proxy,
        httpx.AsyncClient(
            base_url=proxy.url,
            headers={"authorization": f"Bearer {proxy.key}"},
            timeout=30,
            verify=False,
        ) as http,
    ):
        yield Client(proxy, http, wire)


def error_of(response: httpx.Response) -> str:
    """The message of an error, which has the shape of either provider."""
    told = response.json()
    assert set(told) in ({"error"}, {"type", "error"}), told
    message = told["error"]["message"]
    assert isinstance(message, str)
    return message


@dataclass
class Asked:
    """One request as the endpoint got it."""

    head: bytes
    body: bytes

    @property
    def json(self) -> Any:
        return json.loads(self.body)


Behave = Callable[[asyncio.StreamWriter], Awaitable[None]]


@dataclass
class Endpoint:
    """A model's endpoint that answers each request as it is told, then ends the connection."""

    behave: Behave
    asked: list[Asked] = field(default_factory=list)
    url: str = ""

    @asynccontextmanager
    async def listening(self) -> AsyncIterator["Endpoint"]:
        server = await asyncio.start_server(self._serve, "127.0.0.1", 0)
        self.url = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"
        async with server:
            yield self

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            head = await reader.readuntil(b"\r\n\r\n")
            length = next(
                (int(line.split(b":")[1]) for line in head.lower().splitlines()
                 if line.startswith(b"content-length")),
                0,
            )  # fmt: skip
            self.asked.append(Asked(head, await reader.readexactly(length)))
            await self.behave(writer)
            await writer.drain()
        except (ConnectionError, asyncio.IncompleteReadError):
            pass  # the client went away
        finally:
            writer.close()


def says(status: int, body: bytes | str, **headers: str) -> Behave:
    """An answer that comes whole."""
    content = body.encode() if isinstance(body, str) else body
    given = {"content_type": "application/json", **headers}
    lines = "".join(f"{name.replace('_', '-')}: {value}\r\n" for name, value in given.items())

    async def behave(writer: asyncio.StreamWriter) -> None:
        head = f"HTTP/1.1 {status} X\r\n{lines}Content-Length: {len(content)}\r\n\r\n"
        writer.write(head.encode() + content)

    return behave


STREAM_HEAD = (
    b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n"
)


def chunk(data: object) -> bytes:
    """One event of a stream without names, as a chunk of its own."""
    words = data if isinstance(data, str) else json.dumps(data)
    event = f"data: {words}\n\n".encode()
    return b"%x\r\n%b\r\n" % (len(event), event)


def word(text: str, finish: str | None = None) -> bytes:
    """One piece of a streamed chat completion."""
    return chunk({"choices": [{"delta": {"content": text}, "finish_reason": finish}]})


USAGE = chunk({"choices": [], "usage": {"prompt_tokens": 70, "completion_tokens": 9}})
LAST = chunk("[DONE]") + b"0\r\n\r\n"


@asynccontextmanager
async def before(
    behave: Behave, gate: RecordingGate, wire: str = "chat", bounds: Bounds = QUICK
) -> AsyncIterator[tuple[Client, Endpoint]]:
    async with (
        Endpoint(behave).listening() as endpoint,
        proxied(endpoint.url, gate, wire, bounds) as client,
    ):
        yield client, endpoint


def writes(*pieces: bytes) -> Behave:
    async def behave(writer: asyncio.StreamWriter) -> None:
        writer.write(b"".join(pieces))

    return behave


def writes_then_waits(*pieces: bytes, on: asyncio.Event, then: bytes = b"") -> Behave:
    async def behave(writer: asyncio.StreamWriter) -> None:
        writer.write(b"".join(pieces))
        await writer.drain()
        await on.wait()
        writer.write(then)

    return behave
