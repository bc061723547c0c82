"""The model proxy while an answer comes: it passes at once, and whoever hangs up is counted."""

import asyncio
import json
from collections.abc import Awaitable, Callable

import pytest

from app.adapters.modelproxy import Bounds
from tests.contract.embedded import RecordingGate, until
from tests.contract.model_proxy import (
    LAST,
    STREAM_HEAD,
    USAGE,
    Client,
    Endpoint,
    before,
    proxied,
    word,
    writes_then_waits,
)


async def test_a_stream_passes_while_it_comes_and_is_counted_before_its_end() -> None:
    go_on, gate = asyncio.Event(), RecordingGate()
    stream = writes_then_waits(STREAM_HEAD, word("hello"), on=go_on, then=word("", "stop") + LAST)
    async with before(stream, gate) as (client, _):
        sent = {"messages": [], "stream": True}
        async with client.http.stream("POST", "/v1/chat/completions", json=sent) as answer:
            pieces = answer.aiter_bytes()
            assert b"hello" in await anext(pieces)
            assert not gate.usage
            go_on.set()
            async for piece in pieces:
                assert gate.usage or b"[DONE]" not in piece


async def _hang_up_after(client: Client, reached: Callable[[], Awaitable[object]]) -> None:
    """Begin a streamed request, and close the connection when this has come."""
    host, port = client.proxy.url.removeprefix("http://").split(":")
    _, writer = await asyncio.open_connection(host, int(port))
    body = json.dumps({"messages": [{"role": "user", "content": "hi"}], "stream": True}).encode()
    writer.write(
        b"POST /v1/chat/completions HTTP/1.1\r\nHost: model\r\n"
        + f"Authorization: Bearer {client.proxy.key}\r\n".encode()
        + f"Content-Length: {len(body)}\r\n\r\n".encode()
        + body
    )
    await reached()
    writer.close()
    await writer.wait_closed()


async def test_who_hangs_up_midway_is_counted_all_the_same() -> None:
    go_on, gate = asyncio.Event(), RecordingGate()
    rest = word("", "stop") + USAGE + LAST
    stream = writes_then_waits(STREAM_HEAD, word("hello"), on=go_on, then=rest)
    async with before(stream, gate) as (client, endpoint):
        await _hang_up_after(client, lambda: until(lambda: endpoint.asked))
        assert not gate.usage
        go_on.set()
        await until(lambda: gate.usage, 20)
        assert client.proxy.failed is None
    assert [(each.input_tokens, each.output_tokens) for each in gate.usage] == [(70, 9)]


@pytest.mark.parametrize("pieces", [[], [STREAM_HEAD, word("x" * 40)]])
async def test_who_hangs_up_is_not_waited_for_without_a_bound(pieces: list[bytes]) -> None:
    never, gate = asyncio.Event(), RecordingGate()
    bounds = Bounds(drain_seconds=0.05, most_failures=1)
    stalls = writes_then_waits(*pieces, on=never)
    async with before(stalls, gate, bounds=bounds) as (client, endpoint):
        await _hang_up_after(client, lambda: until(lambda: endpoint.asked))
        await until(lambda: gate.usage, 20)
        never.set()
        assert client.proxy.failed is None  # the endpoint is not to blame
    (usage,) = gate.usage
    assert usage.input_tokens > 0
    assert usage.output_tokens in (0, 10)


async def test_closing_counts_what_is_under_way() -> None:
    never, gate = asyncio.Event(), RecordingGate()
    async with Endpoint(writes_then_waits(STREAM_HEAD, word("x" * 40), on=never)).listening() as e:
        async with proxied(e.url, gate) as client:
            sent = {"messages": [], "stream": True}
            async with client.http.stream("POST", "/v1/chat/completions", json=sent) as answer:
                pieces = answer.aiter_bytes()
                assert b"xx" in await anext(pieces)
                await client.proxy.__aexit__(None, None, None)
                rest = b"".join([piece async for piece in pieces])
            assert b"error" in rest
            assert [each.output_tokens for each in gate.usage] == [10]
        never.set()
