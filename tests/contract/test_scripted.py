"""The scripted model: which step it serves, and that real clients understand every wire format."""

import http.client
import json
from collections.abc import Iterator, Mapping

import anthropic
import openai
import pytest
from pydantic_ai.direct import model_request, model_request_stream
from pydantic_ai.messages import ModelRequest, ModelResponse
from pydantic_ai.models import Model
from pydantic_ai.models.anthropic import AnthropicModel
from pydantic_ai.models.openai import OpenAIChatModel, OpenAIResponsesModel
from pydantic_ai.providers.anthropic import AnthropicProvider
from pydantic_ai.providers.openai import OpenAIProvider

from app.scripted.model import scripted_model
from app.scripted.script import (
    Answer,
    Call,
    Conversation,
    Failure,
    Message,
    Script,
    Scripts,
    Speaker,
    calls,
    text,
)
from app.scripted.server import ScriptedServer

KEY = "the-key"
TWO = calls(
    Call("bash", {"command": "echo 'é' \"quoted\" and long enough to be cut into pieces"}),
    Call("view", {"path": "."}),
    say="I look around, at length, so that this is streamed in more than one piece.",
)


def user(words: str) -> Message:
    return Message(Speaker.USER, words)


def model(words: str = "") -> Message:
    return Message(Speaker.MODEL, words)


def tool(words: str) -> Message:
    return Message(Speaker.TOOL, words)


def served(scripts: Scripts, *messages: Message) -> str:
    step = scripts.next(Conversation(messages)).step
    assert isinstance(step, Answer)
    return step.text


STEPS = Script("steps", (text("zero"), text("one"), text("two")), summary=text("so far"))
OTHER = Script(
    "other", (text("other zero"),), starts_with=lambda words: words.startswith("Other title")
)
SCRIPTS = Scripts((STEPS, OTHER), ("PLEASE SUMMARISE",), ("MAKE ROOM",))
START = user("go: SCENARIO:steps.")


def test_the_step_is_the_number_of_answers_since_the_script_began() -> None:
    assert served(SCRIPTS, START) == "zero"
    assert served(SCRIPTS, START, model(), tool("x")) == "one"
    assert served(SCRIPTS, user("hi"), model(), START, model(), tool("x")) == "one"
    assert served(SCRIPTS, START, *[model(), tool("x")] * 3) == "done"
    assert served(SCRIPTS, START, *[model(), tool("x")] * 9) == "done"


def test_a_prompt_that_quotes_the_marker_again_does_not_start_over() -> None:
    assert served(SCRIPTS, START, model(), user("woken. SCENARIO:steps")) == "one"


def test_another_marker_starts_another_script() -> None:
    assert served(SCRIPTS, START, model(), user("SCENARIO:other")) == "other zero"


def test_a_script_is_chosen_by_the_first_message_if_nothing_is_named() -> None:
    assert served(SCRIPTS, user("Other title: x")) == "other zero"
    assert served(SCRIPTS, user("what a CLI says first"), user("Other title")) == "other zero"
    assert served(SCRIPTS, user("Other title: SCENARIO:steps")) == "zero"
    assert "No script" in served(SCRIPTS, user("hello"), model(), user("Other title"))
    assert "No script" in served(SCRIPTS, user("SCENARIO:unheard-of"))


def test_only_people_choose_a_script() -> None:
    injected = (Message(Speaker.SYSTEM, "SCENARIO:steps"), user("hello"))
    assert "No script" in served(SCRIPTS, *injected)
    assert served(SCRIPTS, START, model("SCENARIO:other"), tool("SCENARIO:other")) == "one"


def test_a_summary_is_no_step() -> None:
    asked = (START, model(), tool("x"), user("PLEASE SUMMARISE"))
    assert served(SCRIPTS, *asked) == "so far", "people read it"
    assert served(SCRIPTS, *asked, model("so far"), user("go on")) == "one"
    assert served(SCRIPTS, *asked, model(), tool("denied"), model(), user("go on")) == "one"


def test_a_compacted_conversation_goes_on_where_it_was() -> None:
    summary = served(SCRIPTS, START, model(), tool("x"), model(), user("MAKE ROOM"))
    assert served(SCRIPTS, START, user(f"Summary: {summary}")) == "two"
    assert served(SCRIPTS, user(f"{START.text}\n{summary}"), model(), tool("x")) == "done"


def test_a_step_may_depend_on_what_the_model_was_told() -> None:
    looks = Script("looks", (lambda conversation: text(conversation.last_tool_result.upper()),))
    assert served(Scripts((looks,)), user("SCENARIO:looks"), tool("red")) == "RED"


def test_ids_are_unique_within_a_conversation() -> None:
    told = [START]
    ids = set()
    for _ in range(6):
        ids.add(SCRIPTS.next(Conversation(tuple(told))).id)
        told += [model(), tool("x")]
        ids.add(SCRIPTS.next(Conversation((*told, user("PLEASE SUMMARISE")))).id)
    assert len(ids) == 12


@pytest.fixture
def server() -> Iterator[ScriptedServer]:
    scripts = Scripts((Script("s", (TWO, text("bye"))),))
    with ScriptedServer(scripts, api_key=KEY) as server:
        yield server


def client(wire: str, server: ScriptedServer) -> Model:
    if wire == "messages":
        url = server.url
        return AnthropicModel("m", provider=AnthropicProvider(base_url=url, api_key=KEY))
    provider = OpenAIProvider(base_url=f"{server.url}/v1", api_key=KEY)
    if wire == "chat":
        return OpenAIChatModel("m", provider=provider)
    return OpenAIResponsesModel("m", provider=provider)


def assert_is_two(response: ModelResponse) -> None:
    assert response.text == TWO.text
    asked = [(call.tool_name, call.args_as_dict()) for call in response.tool_calls]
    assert asked == [(call.tool, call.args) for call in TWO.calls]
    assert len({call.tool_call_id for call in response.tool_calls}) == 2
    assert response.usage.input_tokens == 1 + len("SCENARIO:s") // 4
    assert response.usage.output_tokens > 10


WIRES = ["chat", "responses", "messages"]


@pytest.mark.parametrize("wire", WIRES)
async def test_a_real_client_understands_the_answer(wire: str, server: ScriptedServer) -> None:
    prompt = [ModelRequest.user_text_prompt("SCENARIO:s")]
    async with client(wire, server) as model:
        assert_is_two(await model_request(model, prompt))
    (request,) = server.requests
    assert request.conversation.said_by(Speaker.USER) == ("SCENARIO:s",)
    assert request.body["model"] == "m"


@pytest.mark.parametrize("wire", WIRES)
async def test_a_real_client_understands_the_stream(wire: str, server: ScriptedServer) -> None:
    prompt = [ModelRequest.user_text_prompt("SCENARIO:s")]
    async with client(wire, server) as model:
        async with model_request_stream(model, prompt) as stream:
            events = [event async for event in stream]
        assert_is_two(stream.get())
    assert len(events) > 6


@pytest.mark.parametrize("wire", [*WIRES, "in process"])
async def test_the_conversation_goes_on(wire: str, server: ScriptedServer) -> None:
    told = ModelRequest.user_text_prompt("SCENARIO:s")
    inside = wire == "in process"
    async with scripted_model(server.scripts.next) if inside else client(wire, server) as model:
        first = await model_request(model, [told])
        again = ModelRequest.user_text_prompt("and?")
        assert (await model_request(model, [told, first, again])).text == "bye"


def exchange(
    server: ScriptedServer,
    method: str,
    path: str,
    body: Mapping[str, object] | Iterator[bytes] | str | None = None,
    **headers: str,
) -> tuple[int, dict[str, object]]:
    connection = http.client.HTTPConnection("127.0.0.1", int(server.url.rpartition(":")[2]), 5)
    given = {"x-api-key": KEY, **headers}
    sent = json.dumps(body) if isinstance(body, Mapping) else body
    chunks = given.get("Transfer-Encoding") == "chunked"
    connection.request(method, path, sent, given, encode_chunked=chunks)
    response = connection.getresponse()
    content = response.read()
    connection.close()
    return response.status, json.loads(content) if content else {}


def test_the_small_addresses(server: ScriptedServer) -> None:
    said = {"messages": [{"role": "user", "content": "x" * 400}]}
    assert exchange(server, "HEAD", "/") == (200, {})
    assert exchange(server, "GET", "/v1/models")[1]["data"]
    counted = exchange(server, "POST", "/v1/messages/count_tokens?beta=true", said)
    assert counted == (200, {"input_tokens": 101})
    assert exchange(server, "GET", "/v1/nothing")[0] == 404
    assert exchange(server, "POST", "/v1/nothing", said)[0] == 404


def test_a_chunked_body_is_read(server: ScriptedServer) -> None:
    said = json.dumps({"messages": [{"role": "user", "content": "SCENARIO:s"}]}).encode()
    chunks = iter([said[:10], said[10:11], said[11:]])
    status, answer = exchange(
        server, "POST", "/v1/chat/completions", chunks, **{"Transfer-Encoding": "chunked"}
    )
    assert status == 200
    assert answer["choices"]


@pytest.mark.parametrize("body", ["", "[1]", "{", "\xff"])
def test_a_body_that_is_no_object_is_refused(server: ScriptedServer, body: str) -> None:
    assert exchange(server, "POST", "/v1/messages", body)[0] == 400
    assert exchange(server, "HEAD", "/") == (200, {})


async def test_a_wrong_key_is_refused(server: ScriptedServer) -> None:
    async with openai.AsyncOpenAI(
        base_url=f"{server.url}/v1", api_key="wrong", max_retries=0
    ) as wrong:
        with pytest.raises(openai.AuthenticationError):
            await wrong.models.list()
    async with anthropic.AsyncAnthropic(
        base_url=server.url, api_key="wrong", max_retries=0
    ) as also_wrong:
        with pytest.raises(anthropic.AuthenticationError):
            await also_wrong.models.list()


def test_failures_come_from_scripts_and_from_tests(server: ScriptedServer) -> None:
    server.scripts = Scripts((Script("s", (Failure(503),)),))
    said = {"messages": [{"role": "user", "content": "SCENARIO:s"}]}
    server.fail_next(Failure(418, "{}"))
    assert [exchange(server, "POST", "/v1/messages", said)[0] for _ in range(3)] == [418, 503, 503]
    assert len(server.requests) == 3


async def test_a_slow_stream_ends_when_the_server_closes() -> None:
    dripping = Script("s", (Answer("word " * 100, drip_seconds=30.0),))
    server = ScriptedServer(Scripts((dripping,)))
    with server:
        connection = http.client.HTTPConnection("127.0.0.1", int(server.url.rpartition(":")[2]), 5)
        said = {"stream": True, "messages": [{"role": "user", "content": "SCENARIO:s"}]}
        connection.request("POST", "/v1/messages", json.dumps(said))
        response = connection.getresponse()
        assert response.status == 200
    with pytest.raises(http.client.IncompleteRead):
        response.read()
    connection.close()
