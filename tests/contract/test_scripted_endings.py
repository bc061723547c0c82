"""The scripted model's answers that are cut off, and what it bills: the same on every wire."""

from dataclasses import replace
from typing import Any

import httpx
import pytest
from anthropic import Anthropic
from anthropic.types import TextBlock
from openai import OpenAI, Stream
from openai.types.chat import ChatCompletionUserMessageParam
from openai.types.responses import ResponseIncompleteEvent

from app.scripted.script import Answer, Script, Scripts, text
from app.scripted.server import ScriptedServer

CUT_OFF = Answer("I will now expl", is_cut_off=True)
CACHED = replace(text("hello"), cache_read_tokens=4_000, cache_write_tokens=300)


def served(answer: Answer) -> ScriptedServer:
    return ScriptedServer(Scripts((Script("story", (answer,)),)))


@pytest.mark.parametrize("stream", [False, True])
def test_an_answer_that_is_cut_off_says_so_in_chat(stream: bool) -> None:
    with served(CUT_OFF) as server, OpenAI(api_key="k", base_url=f"{server.url}/v1") as client:
        asks = ChatCompletionUserMessageParam(role="user", content="SCENARIO:story")
        got = client.chat.completions.create(model="m", messages=[asks], stream=stream)
        chunks = [*got] if isinstance(got, Stream) else (got,)
    reasons = [choice.finish_reason for chunk in chunks for choice in chunk.choices]
    assert reasons[-1] == "length"


@pytest.mark.parametrize("stream", [False, True])
def test_an_answer_that_is_cut_off_says_so_in_responses(stream: bool) -> None:
    with served(CUT_OFF) as server, OpenAI(api_key="k", base_url=f"{server.url}/v1") as client:
        got = client.responses.create(model="m", input="SCENARIO:story", stream=stream)
        if isinstance(got, Stream):
            last = list(got)[-1]
            assert isinstance(last, ResponseIncompleteEvent)
            got = last.response
    assert got.status == "incomplete"
    assert got.incomplete_details is not None
    assert got.incomplete_details.reason == "max_output_tokens"
    assert got.output_text == "I will now expl"


@pytest.mark.parametrize("answer", [CUT_OFF, replace(CUT_OFF, thinking="hm")])
def test_an_answer_that_is_cut_off_says_so_in_messages(answer: Answer) -> None:
    with served(answer) as server, Anthropic(api_key="k", base_url=server.url) as client:
        asked: dict[str, Any] = {
            "model": "m",
            "max_tokens": 9,
            "messages": [{"role": "user", "content": "SCENARIO:story"}],
        }
        whole = client.messages.create(**asked)
        with client.messages.stream(**asked) as stream:
            streamed = stream.get_final_message()
    for message in (whole, streamed):
        assert message.stop_reason == "max_tokens"
        kinds = ["thinking", "text"] if answer.thinking else ["text"]
        assert [block.type for block in message.content] == kinds
        said = message.content[-1]
        assert isinstance(said, TextBlock)
        assert said.text == "I will now expl"


def test_openai_bills_cached_tokens_within_the_input_and_anthropic_beside_it() -> None:
    messages = [{"role": "user", "content": "SCENARIO:story"}]
    asked = {"model": "m", "max_tokens": 9, "messages": messages, "input": "SCENARIO:story"}
    with served(CACHED) as server:
        chat, responses, anthropic = (
            httpx.post(f"{server.url}/v1/{path}", json=asked).json()["usage"]
            for path in ("chat/completions", "responses", "messages")
        )
    fresh = anthropic["input_tokens"]
    assert 0 < fresh < 100
    assert anthropic["cache_read_input_tokens"] == 4_000
    assert anthropic["cache_creation_input_tokens"] == 300
    assert chat["prompt_tokens"] == responses["input_tokens"] == fresh + 4_300
    assert chat["prompt_tokens_details"]["cached_tokens"] == 4_000
    assert responses["input_tokens_details"] == {"cached_tokens": 4_000, "cache_write_tokens": 300}
