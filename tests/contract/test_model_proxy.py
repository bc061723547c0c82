"""The model proxy before the scripted model: what is sent on, what is refused, what is counted."""

import asyncio
import json
import logging
from collections.abc import Iterator
from typing import Any

import anthropic
import httpx
import openai
import pytest

from app.adapters.modelproxy import Bounds
from app.core.agents.events import Phase
from app.core.breaker.verdict import Answer, Verdict
from app.ports import ModelRequest, ModelUsage
from app.scripted.script import Answer as Said
from app.scripted.script import Call, Script, Scripts, Speaker, calls
from app.scripted.server import ScriptedServer
from tests.contract.embedded import KEY, RecordingGate
from tests.contract.model_proxy import REFUSED, WIRES, error_of, proxied, request_body

SAID = Said(
    "I look around, at length, so that this is streamed in more than one piece.",
    (Call("bash", {"command": "echo 'é' \"quoted\" and long enough to be cut"}),),
    cache_read_tokens=40,
    cache_write_tokens=20,
)
EACH_WIRE = pytest.mark.parametrize("wire", list(WIRES))


@pytest.fixture
def server() -> Iterator[ScriptedServer]:
    scripts = Scripts((Script("story", (SAID,)), Script("quiet", (calls(*SAID.calls),))))
    with ScriptedServer(scripts, api_key=KEY) as server:
        yield server


@EACH_WIRE
@pytest.mark.parametrize("stream", [False, True])
async def test_an_answer_passes_byte_for_byte_and_is_counted(
    wire: str, stream: bool, server: ScriptedServer
) -> None:
    gate = RecordingGate()
    provider, path = WIRES[wire]
    async with proxied(server.url, gate, wire) as client:
        answer = await client.ask(stream=stream)
        assert client.proxy.halted is None
        assert client.proxy.failed is None
        assert not client.proxy.stopped.is_set()
    async with httpx.AsyncClient(base_url=server.url, headers={"x-api-key": KEY}) as http:
        same = request_body(wire, "SCENARIO:story", stream=stream)
        direct = await http.post(path, json=same)
    assert answer.status_code == 200
    assert answer.content == direct.content
    assert answer.headers["content-type"] == direct.headers["content-type"]
    fresh = 1 + len("SCENARIO:story") // 4
    written = 0 if wire == "chat" else 20  # this format does not tell it: it is fresh there
    output = _told_output(wire, httpx.Response(200, content=direct.content), stream)
    assert gate.usage == [
        ModelUsage(f"{provider}:m", fresh + 60, output, 40, written, Phase.EXECUTION, True)
    ]


def _told_output(wire: str, answer: httpx.Response, stream: bool) -> int:
    """The output tokens in the server's answer, found by other means than the proxy's."""
    key = "completion_tokens" if wire == "chat" else "output_tokens"
    told = answer.text.rsplit(f'"{key}": ', 1)[1]
    return int(told.partition(",")[0].partition("}")[0])


@EACH_WIRE
async def test_only_words_are_text(wire: str, server: ScriptedServer) -> None:
    gate = RecordingGate()
    async with proxied(server.url, gate, wire) as client:
        await client.ask("SCENARIO:quiet")
        await client.ask("SCENARIO:quiet", stream=True)
    assert [each.has_text for each in gate.usage] == [False, False]


@EACH_WIRE
async def test_the_gate_is_asked_first_and_told_after(wire: str, server: ScriptedServer) -> None:
    gate = RecordingGate()
    bound: dict[str, Any] = {"max_output_tokens" if wire == "responses" else "max_tokens": 77}
    async with proxied(server.url, gate, wire, phase=Phase.PLANNING) as client:
        await client.ask(**bound)
    (asked,) = gate.requests
    assert asked.model == f"{WIRES[wire][0]}:m"
    assert (asked.most_output_tokens, asked.phase) == (77, Phase.PLANNING)
    size = len(json.dumps(request_body(wire, "SCENARIO:story", **bound)))
    assert size // 5 < asked.input_tokens <= size // 3
    assert gate.usage[0].phase is Phase.PLANNING


@EACH_WIRE
async def test_an_answer_is_no_longer_than_the_gate_lets_it_be(
    wire: str, server: ScriptedServer
) -> None:
    gate = RecordingGate(most_output_tokens=600)
    name = "max_output_tokens" if wire == "responses" else "max_tokens"
    asked: list[dict[str, Any]] = [{name: 9_000}, {name: 77}]
    async with proxied(server.url, gate, wire) as client:
        for bound in asked:
            await client.ask(**bound)
    assert [each.body[name] for each in server.requests] == [600, 77]
    assert [each.most_output_tokens for each in gate.requests] == [9_000, 77]
    assert [each.least_output_tokens for each in gate.requests] == [512, 512]


@EACH_WIRE
async def test_the_key_is_added_outside_and_never_comes_in(
    wire: str, server: ScriptedServer
) -> None:
    async with proxied(server.url, wire=wire) as client:
        answer = await client.http.post(
            WIRES[wire][1],
            json=request_body(wire, "SCENARIO:story"),
            headers={
                "x-api-key": client.proxy.key,
                "cookie": "a=b",
                "openai-organization": "somebody",
                "anthropic-beta": "some-feature",
            },
        )
        assert answer.status_code == 200
        assert KEY not in answer.text + str(answer.headers)
        assert KEY not in client.proxy.key + client.proxy.url
    (seen,) = server.requests
    account = {name: seen.headers.get(name) for name in ("authorization", "x-api-key")}
    if wire == "messages":
        assert account == {"authorization": None, "x-api-key": KEY}
        assert seen.headers["anthropic-version"]
    else:
        assert account == {"authorization": f"Bearer {KEY}", "x-api-key": None}
    assert client.proxy.key not in str(seen)
    assert "cookie" not in seen.headers
    assert "openai-organization" not in seen.headers
    assert seen.headers["anthropic-beta"] == "some-feature"


async def test_a_wrong_key_is_refused(server: ScriptedServer) -> None:
    gate = RecordingGate()
    async with proxied(server.url, gate) as client:
        for wrong in ("Bearer wrong", "Bearer é", ""):
            async with httpx.AsyncClient(base_url=client.proxy.url, verify=False) as stranger:
                answer = await stranger.post(
                    "/v1/chat/completions",
                    json=request_body("chat", "hi"),
                    headers={b"authorization": wrong.encode()},
                )
            assert answer.status_code == 401
            assert client.proxy.key not in answer.text
    assert not server.requests
    assert not gate.requests


@pytest.mark.parametrize(
    ("wire", "method", "path"),
    [
        ("chat", "POST", "/v1/embeddings"),
        ("chat", "POST", "/v1/messages"),
        ("chat", "GET", "/v1/chat/completions"),
        ("chat", "GET", "/v1/responses/resp_1"),
        ("chat", "DELETE", "/v1/models/m"),
        ("chat", "POST", "/v1/files"),
        ("chat", "GET", "/v1/models/%2e%2e/files"),
        ("chat", "GET", "/v1/models/%2e%2e"),
        ("chat", "POST", "/v1/chat/completions/%2e%2e/files"),
        ("messages", "POST", "/v1/chat/completions"),
        ("messages", "POST", "/v1/messages/batches"),
        ("messages", "GET", "/"),
    ],
)
async def test_an_unknown_address_is_not_sent_on(
    wire: str,
    method: str,
    path: str,
    server: ScriptedServer,
    caplog: pytest.LogCaptureFixture,
) -> None:
    gate = RecordingGate()
    async with proxied(server.url, gate, wire) as client:
        with caplog.at_level(logging.WARNING, "squadron.modelproxy"):
            answer = await client.http.request(
                method, httpx.URL(client.proxy.url, raw_path=path.encode()), json={}
            )
    assert answer.status_code == 404
    assert "not sent on" in error_of(answer)
    assert [each for each in caplog.messages if path.replace("%2e", ".") in each]
    assert not server.requests
    assert not gate.requests


async def test_the_small_addresses_are_free(server: ScriptedServer) -> None:
    gate = RecordingGate()
    async with proxied(server.url, gate, "messages") as client:
        assert (await client.http.head("/", headers={"authorization": ""})).status_code == 200
        models = await client.http.get("/v1/models")
        assert models.json()["data"][0]["id"] == "scripted"
        counted = await client.http.post(
            "/v1/messages/count_tokens?beta=true", json=request_body("messages", "x" * 400)
        )
        assert counted.json() == {"input_tokens": 101}
        assert (await client.http.get("/v1/models/nobody")).status_code == 404
    assert not gate.requests
    assert not gate.usage


class RefusingGate(RecordingGate):
    """Gives this verdict to each request to the model."""

    def __init__(self, verdict: Verdict) -> None:
        super().__init__()
        self.verdict = verdict

    async def before_model(self, request: ModelRequest) -> Verdict:
        return self.verdict


@pytest.mark.parametrize("answer", [Answer.DENY, Answer.HALT])
@EACH_WIRE
async def test_what_the_gate_refuses_is_not_sent(
    wire: str, answer: Answer, server: ScriptedServer
) -> None:
    verdict = Verdict(answer, "max_model_calls: 3 of 3", "max_model_calls", 3, 3)
    async with proxied(server.url, RefusingGate(verdict), wire) as client:
        told = await client.ask(stream=True)
        assert client.proxy.halted == verdict
        assert client.proxy.stopped.is_set()
    assert told.status_code == REFUSED[wire]
    assert error_of(told) == "max_model_calls: 3 of 3"
    assert not server.requests


async def test_real_clients_do_not_repeat_what_was_refused(server: ScriptedServer) -> None:
    gate = RecordingGate(most_requests=0)
    count = 0
    before = gate.before_model

    async def counted(request: ModelRequest) -> Verdict:
        nonlocal count
        count += 1
        return await before(request)

    gate.before_model = counted  # type: ignore[method-assign]
    async with (
        proxied(server.url, gate) as client,
        openai.AsyncOpenAI(base_url=client.proxy.url + "/v1", api_key=client.proxy.key) as ai,
    ):
        with pytest.raises(openai.BadRequestError, match="TRIPPED"):
            await ai.chat.completions.create(
                model="m", messages=[{"role": "user", "content": "hi"}]
            )
        with pytest.raises(openai.BadRequestError, match="TRIPPED"):
            await ai.responses.create(model="m", input="hi")
    async with (
        proxied(server.url, gate, "messages") as client,
        anthropic.AsyncAnthropic(base_url=client.proxy.url, api_key=client.proxy.key) as claude,
    ):
        with pytest.raises(anthropic.APIStatusError, match="TRIPPED"):
            await claude.messages.create(
                model="m", max_tokens=9, messages=[{"role": "user", "content": "hi"}]
            )
    assert count == 3
    assert not server.requests


async def test_a_gate_without_a_verdict_is_a_denial(server: ScriptedServer) -> None:
    class Raising(RecordingGate):
        async def before_model(self, request: ModelRequest) -> Verdict:
            raise RuntimeError("a canary")

    class Slow(RecordingGate):
        async def before_model(self, request: ModelRequest) -> Verdict:
            await asyncio.Event().wait()
            raise AssertionError

    for gate, name in ((Raising(), "RuntimeError"), (Slow(), "TimeoutError")):
        async with proxied(server.url, gate, bounds=Bounds(gate_seconds=0.05)) as client:
            told = await client.ask()
            assert client.proxy.halted is not None
        assert told.status_code == 400
        assert name in error_of(told)
        assert "canary" not in told.text
    assert not server.requests


@pytest.mark.parametrize("stream", [False, True])
async def test_an_answer_that_cannot_be_counted_is_the_last(
    stream: bool, server: ScriptedServer
) -> None:
    class Forgetful(RecordingGate):
        async def used(self, usage: ModelUsage) -> None:
            raise RuntimeError("a canary")

    async with proxied(server.url, Forgetful()) as client:
        first = await client.ask(stream=stream)
        assert "could not be recorded (RuntimeError)" in first.text
        assert "[DONE]" not in first.text
        assert client.proxy.failed is not None
        assert client.proxy.stopped.is_set()
        assert (await client.ask()).status_code == 400
    assert len(server.requests) == 1


async def test_requests_in_parallel_are_counted_exactly(server: ScriptedServer) -> None:
    gate = RecordingGate(most_requests=13)
    async with proxied(server.url, gate, bounds=Bounds(most_at_once=4)) as client:
        answers = await asyncio.gather(*(client.ask(stream=n % 2 == 0) for n in range(30)))
    statuses = [answer.status_code for answer in answers]
    assert (statuses.count(200), statuses.count(400)) == (13, 17)
    assert len(server.requests) == 13
    assert len(gate.usage) == 13


@EACH_WIRE
async def test_only_the_models_of_the_session_are_paid_for(
    wire: str, server: ScriptedServer
) -> None:
    gate = RecordingGate()
    async with proxied(server.url, gate, wire) as client:
        await client.ask(model="dearest")
        client.proxy.begin_turn(model="openai:other", phase=Phase.PLANNING)
        await client.ask(model="dearest")
        client.proxy.begin_turn()
        await client.ask(model="dearest")
    assert [each.body["model"] for each in server.requests] == ["m", "other", "other"]
    assert [each.model.partition(":")[2] for each in gate.usage] == ["m", "other", "other"]
    assert [each.phase.value for each in gate.requests] == ["execution", "planning", "execution"]


async def test_a_new_turn_is_not_stopped_by_the_one_before(server: ScriptedServer) -> None:
    gate = RecordingGate(most_requests=0)
    async with proxied(server.url, gate) as client:
        assert (await client.ask()).status_code == 400
        gate.most_requests = 1
        client.proxy.begin_turn(most_output_tokens=1_500)
        assert client.proxy.halted is None
        assert not client.proxy.stopped.is_set()
        assert (await client.ask(max_tokens=9_000)).status_code == 200
    assert server.requests[0].body["max_tokens"] == 1_500
    assert gate.requests[0].most_output_tokens == 1_500


@EACH_WIRE
async def test_a_warning_reaches_the_model_once(wire: str, server: ScriptedServer) -> None:
    gate = RecordingGate(warn_at_request=1)
    async with proxied(server.url, gate, wire) as client:
        await client.ask()
        await client.ask()
    first, second = (each.conversation.said_by(Speaker.USER) for each in server.requests)
    assert first == ("SCENARIO:story", "WRAP UP: close to max_model_calls")
    assert second == ("SCENARIO:story",)


@pytest.mark.parametrize("body", ["", "[1]", "{", '{"n": NaN}', "[" * 100_000])
async def test_a_body_that_is_no_object_is_refused(body: str, server: ScriptedServer) -> None:
    gate = RecordingGate()
    async with proxied(server.url, gate) as client:
        answer = await client.http.post("/v1/chat/completions", content=body)
    assert answer.status_code == 400
    assert not server.requests
    assert not gate.requests


async def test_a_request_has_a_bounded_size(server: ScriptedServer) -> None:
    async with proxied(server.url, bounds=Bounds(most_request_bytes=1_000)) as client:
        assert (await client.ask("SCENARIO:story" + "x" * 500)).status_code == 200
        assert (await client.ask("SCENARIO:story" + "x" * 1_500)).status_code == 413
    assert len(server.requests) == 1
