"""The model proxy before endpoints that misbehave, and under CLIs that hang up."""

import asyncio
import json
import logging
import socket

import httpx
import pytest

from app.adapters.modelproxy import Bounds
from app.ports import ModelUsage
from tests.contract.embedded import KEY, RecordingGate, until
from tests.contract.model_proxy import (
    LAST,
    REFUSED,
    STREAM_HEAD,
    USAGE,
    WIRES,
    before,
    chunk,
    error_of,
    proxied,
    says,
    word,
    writes,
    writes_then_waits,
)

MOST_FAILURES = 5
EACH_WIRE = pytest.mark.parametrize("wire", list(WIRES))
WHOLE = json.dumps(
    {
        "choices": [{"message": {"content": "hello"}, "finish_reason": "stop"}],
        "usage": {"prompt_tokens": 70, "completion_tokens": 9},
    }
)


@EACH_WIRE
async def test_failures_in_a_row_are_bounded(wire: str) -> None:
    gate = RecordingGate()
    body = f'{{"error": {{"type": "x", "message": "it broke; key {KEY}"}}}}'
    async with before(says(500, body), gate, wire) as (client, endpoint):
        told = [await client.ask() for _ in range(MOST_FAILURES + 3)]
        assert len(endpoint.asked) == MOST_FAILURES
        failed = client.proxy.failed
        assert client.proxy.stopped.is_set()
        assert client.proxy.halted is None
    assert [each.status_code for each in told] == [500] * 4 + [REFUSED[wire]] * 4
    assert error_of(told[0]) == "it broke; key ***"
    assert failed is not None
    host = endpoint.url.removeprefix("http://")
    assert f"the model m at {host} answered with HTTP status 500" in failed
    assert "5 tries in a row" in failed
    assert {error_of(each) for each in told[4:]} == {failed}
    assert all(each.headers["x-should-retry"] == "false" for each in told[4:])
    assert all(KEY not in each.text + str(each.headers) for each in told)
    assert len(gate.requests) == MOST_FAILURES
    assert not gate.usage


async def test_a_success_ends_a_row_of_failures() -> None:
    gate = RecordingGate()
    turns = iter([500] * 4 + [200] + [500] * 4 + [200])

    async def behave(writer: asyncio.StreamWriter) -> None:
        status = next(turns)
        await says(status, WHOLE if status == 200 else '{"error": {}}')(writer)

    async with before(behave, gate) as (client, _):
        told = [(await client.ask()).status_code for _ in range(10)]
        assert client.proxy.failed is None
    assert told == [500] * 4 + [200] + [500] * 4 + [200]
    assert len(gate.usage) == 2


async def test_a_new_turn_may_try_again() -> None:
    async with before(says(500, "{}"), RecordingGate()) as (client, endpoint):
        for _ in range(MOST_FAILURES + 1):
            await client.ask()
        client.proxy.begin_turn()
        assert client.proxy.failed is None
        assert (await client.ask()).status_code == 500
    assert len(endpoint.asked) == MOST_FAILURES + 1


@pytest.mark.parametrize("status", [401, 403, 404, 307])
@EACH_WIRE
async def test_a_refusal_that_does_not_pass_is_final(wire: str, status: int) -> None:
    body = f'{{"error": {{"message": "Incorrect API key provided: {KEY}"}}}}'
    elsewhere = {"location": "http://127.0.0.1:1/"}
    gate = RecordingGate()
    async with before(says(status, body, **elsewhere), gate, wire) as (client, endpoint):
        told = await client.ask()
        assert (await client.ask()).status_code == REFUSED[wire]
        assert client.proxy.failed is not None
        assert f"HTTP status {status}" in client.proxy.failed
    assert told.status_code == REFUSED[wire]
    assert f"HTTP status {status}" in error_of(told)
    assert KEY[:8] not in told.text + str(told.headers)
    assert len(endpoint.asked) == 1
    assert not gate.usage


async def test_a_rate_limit_is_passed_on_and_its_wait_is_bounded() -> None:
    headers = {"retry_after": "3600", "x_request_id": "r1", "openai_organization": "someone"}
    body = '{"error": {"message": "slow down"}}'
    async with before(says(429, body, **headers), RecordingGate()) as (client, _):
        told = await client.ask()
    assert (told.status_code, told.json()) == (429, {"error": {"message": "slow down"}})
    assert told.headers["retry-after"] == "60"
    assert told.headers["x-request-id"] == "r1"
    assert "openai-organization" not in told.headers


@EACH_WIRE
async def test_an_error_without_shape_gets_one(wire: str) -> None:
    async with before(says(503, "<html>busy</html>"), RecordingGate(), wire) as (client, _):
        told = await client.ask()
    assert told.status_code == 503
    assert "HTTP status 503" in error_of(told)
    assert told.headers["content-type"] == "application/json"


async def test_an_endpoint_that_refuses_connections() -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        url = f"http://127.0.0.1:{taken.getsockname()[1]}"
    gate = RecordingGate()
    async with proxied(url, gate) as client:
        told = [await client.ask() for _ in range(MOST_FAILURES + 1)]
        assert client.proxy.failed is not None
    assert [each.status_code for each in told] == [502] * 4 + [400] * 2
    assert "cannot be reached" in error_of(told[0])
    assert not gate.usage


async def test_an_endpoint_that_never_answers() -> None:
    never = asyncio.Event()
    gate, bounds = RecordingGate(), Bounds(first_byte_seconds=0.05)
    async with before(writes_then_waits(on=never), gate, bounds=bounds) as (client, _):
        told = await client.ask()
        never.set()
    assert told.status_code == 502
    assert "did not answer within 0.05 seconds" in error_of(told)
    assert not gate.usage


@pytest.mark.parametrize("bounds", [Bounds(idle_seconds=0.05), Bounds(total_seconds=0.3)])
async def test_an_answer_that_stalls(bounds: Bounds) -> None:
    never, gate = asyncio.Event(), RecordingGate()
    stalls = writes_then_waits(STREAM_HEAD, word("x" * 40), on=never)
    async with before(stalls, gate, bounds=bounds) as (client, _):
        told = await client.ask(stream=True)
        never.set()
    assert told.status_code == 200
    assert told.content.count(b'data: {"error": ') == 1
    assert "seconds" in told.text
    (usage,) = gate.usage
    assert usage.output_tokens == 10
    assert usage.input_tokens > 10


@EACH_WIRE
async def test_half_a_stream_is_told_as_an_error_and_counted(wire: str) -> None:
    first = {
        "chat": {"choices": [{"delta": {"content": "x" * 400}}]},
        "responses": {"type": "response.output_text.delta", "delta": "x" * 400},
        "messages": {
            "type": "message_start",
            "message": {"usage": {"input_tokens": 30, "cache_read_input_tokens": 12,
                                  "output_tokens": 1}},
        },
    }[wire]  # fmt: skip
    text = {"type": "text_delta", "text": "x" * 400}
    more = chunk({"type": "content_block_delta", "delta": text}) if wire == "messages" else b""
    gate = RecordingGate()
    half = writes(STREAM_HEAD, chunk(first), more, b'9\r\ndata: {"x\r\n')
    async with before(half, gate, wire) as (client, _):
        told = await client.ask(stream=True)
    assert told.status_code == 200
    assert b'data: {"x\n\n' in told.content  # what was cut off does not swallow the error
    assert "broke off" in told.text.rpartition('data: {"x')[2]
    (usage,) = gate.usage
    assert usage.output_tokens == 100
    assert usage.has_text and usage.is_estimate
    if wire == "messages":
        assert (usage.input_tokens, usage.cache_read_tokens) == (42, 12)


async def test_half_an_answer_is_no_answer() -> None:
    half = b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 900\r\n\r\n{"
    gate = RecordingGate()
    async with before(writes(half), gate) as (client, _):
        told = await client.ask()
    assert told.status_code == 502
    assert "broke off" in error_of(told)
    assert not gate.usage


@pytest.mark.parametrize("stream", [False, True])
@pytest.mark.parametrize("body", ["<html>", "[]", '{"error": {"message": "no"}}', "", "\xff\xfe"])
@EACH_WIRE
async def test_garbage_is_a_failure(wire: str, body: str, stream: bool) -> None:
    kind = "text/event-stream" if stream else "application/json"
    garbage = says(200, f"data: {body}\n\n" if stream else body, content_type=kind)
    gate = RecordingGate()
    async with before(garbage, gate, wire, Bounds(most_failures=2)) as (client, endpoint):
        told = [await client.ask(stream=stream) for _ in range(3)]
        assert client.proxy.failed is not None
    assert told[2].status_code == REFUSED[wire]
    assert len(endpoint.asked) == 2
    assert "error" in told[0].text
    assert not gate.usage


async def test_an_answer_without_usage_is_estimated() -> None:
    gate = RecordingGate()
    silent = says(200, json.dumps({"choices": [{"message": {"content": "x" * 80}}]}))
    async with before(silent, gate) as (client, _):
        assert (await client.ask("y" * 4_000)).status_code == 200
    (usage,) = gate.usage
    assert 1_000 <= usage.input_tokens < 1_100
    assert usage.output_tokens == 20
    assert usage.is_estimate


async def test_the_usage_of_a_stream_is_asked_for() -> None:
    gate = RecordingGate()
    stream = writes(STREAM_HEAD, word("hello", "stop"), USAGE, LAST)
    async with before(stream, gate) as (client, endpoint):
        await client.ask(stream=True)
        await client.ask(stream=True, stream_options={"include_usage": False, "other": 1})
        await client.ask()
    asked = [each.json.get("stream_options") for each in endpoint.asked]
    assert asked == [{"include_usage": True}, {"include_usage": True, "other": 1}, None]
    assert gate.usage[0] == ModelUsage("openai:m", 70, 9, has_text=True)


async def test_a_stream_that_says_nothing_of_its_end_is_whole() -> None:
    gate = RecordingGate()
    stream = writes(STREAM_HEAD, word("hello", "stop"), USAGE, b"0\r\n\r\n")
    async with before(stream, gate) as (client, _):
        told = await client.ask(stream=True)
        assert client.proxy.failed is None
    assert "error" not in told.text
    assert [each.output_tokens for each in gate.usage] == [9]


async def test_an_answer_that_is_over_is_not_waited_for() -> None:
    never, gate = asyncio.Event(), RecordingGate()
    stream = STREAM_HEAD + word("hello", "stop") + USAGE + chunk("[DONE]")
    waits = writes_then_waits(stream, on=never)
    async with before(waits, gate, bounds=Bounds(idle_seconds=600.0)) as (client, _):
        told = await client.ask(stream=True)
        never.set()
    assert told.text.endswith("data: [DONE]\n\n")
    assert [each.output_tokens for each in gate.usage] == [9]


async def test_more_requests_at_once_wait_then_are_told_to_come_again() -> None:
    go_on, gate = asyncio.Event(), RecordingGate()
    head = f"HTTP/1.1 200 OK\r\nContent-Length: {len(WHOLE)}\r\n\r\n".encode()
    slow = writes_then_waits(on=go_on, then=head + WHOLE.encode())
    bounds = Bounds(most_at_once=2, slot_seconds=0.05)
    async with before(slow, gate, bounds=bounds) as (client, endpoint):
        asked = [asyncio.create_task(client.ask()) for _ in range(5)]
        await until(lambda: sum(each.done() for each in asked) == 3, 20)
        assert len(endpoint.asked) == 2
        go_on.set()
        told = [each.status_code for each in await asyncio.gather(*asked)]
    assert sorted(told) == [200, 200, 503, 503, 503]
    assert len(gate.usage) == 2


async def test_an_answer_has_a_bounded_size() -> None:
    gate = RecordingGate()
    bounds = Bounds(most_answer_bytes=1_000)
    async with before(says(200, WHOLE + " " * 2_000), gate, bounds=bounds) as (client, _):
        told = await client.ask()
    assert told.status_code == 502
    assert "larger than 1,000 bytes" in error_of(told)


async def test_a_small_address_may_fail(caplog: pytest.LogCaptureFixture) -> None:
    for status, shown in ((401, 502), (404, 404), (500, 500)):
        body = f'{{"error": {{"message": "{KEY}"}}}}'
        async with before(says(status, body), RecordingGate()) as (client, _):
            told = await client.http.get("/v1/models")
            assert client.proxy.failed is None
        assert told.status_code == shown
        assert KEY not in told.text
    async with before(writes(b""), RecordingGate()) as (client, _):
        assert (await client.http.get("/v1/models")).status_code == 502
    assert KEY not in caplog.text


async def test_the_key_is_in_no_log(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.DEBUG):
        async with before(says(500, KEY), RecordingGate()) as (client, _):
            for _ in range(MOST_FAILURES + 1):
                with pytest.raises(httpx.HTTPStatusError):
                    (await client.ask()).raise_for_status()
            key = client.proxy.key
    assert caplog.text
    assert KEY not in caplog.text
    assert key not in caplog.text
