"""The model proxy's pure parts: events in a stream, usage meters, requests as they are sent on."""

import json
from collections.abc import Iterable

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from app.adapters.modelproxy.meters import ChatMeter, MessagesMeter, Meter, ResponsesMeter
from app.adapters.modelproxy.reading import Billed, Reading
from app.adapters.modelproxy.requests import BadRequest, prepared, shortened, with_notes
from app.adapters.modelproxy.sse import EventData
from app.adapters.modelproxy.wires import CHAT, MESSAGES, RESPONSES, Wire
from app.core.breaker.answers import LEAST_ANSWER_TOKENS
from app.scripted.script import Answer, Call
from app.scripted.wires import Reply, chat, messages, responses
from app.scripted.wires import Wire as ScriptedWire

MOST = 10_000
WIRES: dict[str, tuple[ScriptedWire, Wire]] = {
    "chat": (chat, CHAT),
    "responses": (responses, RESPONSES),
    "messages": (messages, MESSAGES),
}


def events_of(pieces: Iterable[bytes], most: int = MOST) -> list[bytes]:
    events = EventData(most)
    found = [data for piece in pieces for data in events.feed(piece)]
    return found + events.rest()


def cut(stream: bytes, places: Iterable[int]) -> list[bytes]:
    """The stream in pieces; some of them may be empty."""
    ends = [*sorted(place % (len(stream) + 1) for place in places), len(stream)]
    return [stream[start:end] for start, end in zip([0, *ends], ends, strict=False)]


def read(meter: Meter, pieces: Iterable[bytes]) -> Reading:
    reading = Reading()
    for data in events_of(pieces):
        reading = meter.event(reading, data)
    return reading


def test_events_are_found_by_the_rules_of_the_format() -> None:
    assert events_of([b"data: a\n\ndata:b\n\n"]) == [b"a", b"b"]
    assert events_of([b"data: a\r\n\r\ndata: b\r\rdata: c\n\n"]) == [b"a", b"b", b"c"]
    assert events_of([b"event: x\ndata: a\nid: 1\ndata: b\n: no\n\n"]) == [b"a\nb"]
    assert events_of([b"event: ping\n\n: comment\n\ndata\n\n"]) == [b""]
    assert events_of([b"data: a\n\ndata: b"]) == [b"a", b"b"]
    assert events_of([b"datax: a\n\n", b""]) == []


def test_an_event_that_is_too_large_is_left_out() -> None:
    large = b"data: " + b"x" * 50 + b"\n\n"
    assert events_of([b"data: a\n\n", large, b"data: b\n\n"], most=40) == [b"a", b"b"]
    assert events_of([large[:30], large[30:], b"data: b\n\n"], most=40) == [b"b"]
    assert events_of([b"data: a\n" * 20 + b"\n" + b"data: b\n\n"], most=40) == [b"b"]
    assert events_of([large], most=56) == [b"x" * 50]
    assert events_of([large], most=55) == []


STREAMS = st.lists(
    st.sampled_from([b"data:", b"data: ", b"a", b"{}", b"\r", b"\n", b"\r\n", b"\n\n", b":"]),
    max_size=40,
).map(b"".join)


@given(STREAMS, st.lists(st.integers(0, 200), max_size=12), st.sampled_from([8, MOST]))
@example(b"data: a\r\n\r\n", [8], MOST)
def test_where_a_stream_is_cut_makes_no_difference(
    stream: bytes, places: list[int], most: int
) -> None:
    assert events_of(cut(stream, places), most) == events_of([stream], most)


TOKENS = st.integers(0, 100_000)
TOLD = st.integers(1, 100_000)
"""An endpoint that counts tells no 0 of what was sent and said."""
REPLIES = st.builds(
    Reply,
    st.just("r"),
    st.just("m"),
    st.builds(
        Answer,
        text=st.text(max_size=90),
        calls=st.lists(
            st.builds(Call, st.just("bash"), st.dictionaries(st.text(), st.text(), max_size=2)),
            max_size=2,
        ).map(tuple),
        thinking=st.text(max_size=20),
        is_cut_off=st.booleans(),
        cache_read_tokens=TOKENS,
        cache_write_tokens=TOKENS,
    ),
    TOLD,
    TOLD,
)


def told(name: str, reply: Reply) -> Billed:
    """What the scripted server bills."""
    written = 0 if name == "chat" else reply.answer.cache_write_tokens
    read_tokens = reply.answer.cache_read_tokens
    return Billed(reply.input_tokens, reply.output_tokens, read_tokens, written, is_estimate=False)


@given(REPLIES, st.lists(st.integers(0, 5_000), max_size=20), st.sampled_from(list(WIRES)))
def test_usage_is_what_the_server_told_however_it_came(
    reply: Reply, places: list[int], name: str
) -> None:
    scripted, wire = WIRES[name]
    stream = b"".join(event.encoded() for event in scripted.events(reply))
    streamed = read(wire.meter, cut(stream, places))
    whole = wire.meter.whole(json.dumps(scripted.whole(reply)).encode())
    for reading in (streamed, whole):
        assert reading.billed(999_999) == told(name, reply)
        assert reading.is_over
        assert reading.is_whole
        assert reading.has_text == bool(reply.answer.text.strip())


@given(REPLIES, st.integers(0, 5_000), st.sampled_from(list(WIRES)))
def test_of_an_answer_that_breaks_off_never_less_is_counted_than_was_seen(
    reply: Reply, place: int, name: str
) -> None:
    scripted, wire = WIRES[name]
    stream = b"".join(event.encoded() for event in scripted.events(reply))
    half = stream[: place % (len(stream) + 1)]
    reading = read(wire.meter, [half])
    billed = reading.billed(777)
    if not reading.is_whole:
        assert billed.is_estimate
        assert billed.output_tokens >= reading.said_characters // 4
        assert billed.input_tokens in (777, reply.input_tokens) or billed.input_tokens >= 777
    else:
        assert billed.output_tokens in (reply.output_tokens, -(-reading.said_characters // 4))


KEYS = st.sampled_from(
    ["type", "choices", "delta", "message", "usage", "content", "output", "response", "error",
     "prompt_tokens", "completion_tokens", "input_tokens", "output_tokens", "finish_reason",
     "prompt_tokens_details", "input_tokens_details", "cached_tokens", "cache_read_input_tokens",
     "text", "status", "content_block", "stop_reason"]
)  # fmt: skip
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(KEYS, inner, max_size=4),
    max_leaves=12,
)
KINDS = st.sampled_from(
    ["message_start", "message_delta", "content_block_delta", "content_block_start", "text",
     "response.completed", "response.output_text.delta", "message_stop", "error"]
)  # fmt: skip
NONSENSE = st.binary(max_size=20) | st.builds(
    lambda body, kind: json.dumps({**body, "type": kind}).encode(),
    st.dictionaries(KEYS, JSON, max_size=6),
    KINDS,
)


@pytest.mark.parametrize("meter", [ChatMeter(), ResponsesMeter(), MessagesMeter()])
@given(st.lists(NONSENSE, max_size=5))
@settings(max_examples=50)
def test_nonsense_is_read_without_an_error(meter: Meter, datas: list[bytes]) -> None:
    reading = Reading()
    for data in datas:
        reading = meter.event(reading, data)
        for each in (reading, meter.whole(data)):
            billed = each.billed(10)
            assert billed.input_tokens >= billed.cache_read_tokens + billed.cache_write_tokens
            assert min(billed.output_tokens, billed.cache_read_tokens) >= 0


@pytest.mark.parametrize("figure", [-1, True, 1.5, "7", None, 10**10, [1]])
def test_a_figure_that_is_none_is_not_believed(figure: object) -> None:
    usage = {"prompt_tokens": figure, "completion_tokens": figure}
    body = {"choices": [{"message": {"content": "x" * 8}, "finish_reason": "stop"}]}
    reading = ChatMeter().whole(json.dumps({**body, "usage": usage}).encode())
    assert reading.billed(50) == Billed(50, 2, 0, 0, is_estimate=True)


@pytest.mark.parametrize("name", WIRES)
@pytest.mark.parametrize("is_streamed", [True, False])
def test_zero_tokens_of_what_was_sent_and_seen_were_not_told(name: str, is_streamed: bool) -> None:
    scripted, wire = WIRES[name]
    reply = Reply("a1", "m", Answer("x" * 40), 0, 0)
    if is_streamed:
        reading = read(wire.meter, [event.encoded() for event in scripted.events(reply)])
    else:
        reading = wire.meter.whole(json.dumps(scripted.whole(reply)).encode())
    billed = reading.billed(777)
    assert (billed.input_tokens, billed.is_estimate) == (777, True)
    assert 10 <= billed.output_tokens <= 20


def test_all_from_the_cache_is_told_and_so_is_an_answer_that_says_nothing() -> None:
    usage = {"prompt_tokens": 900, "completion_tokens": 0,
             "prompt_tokens_details": {"cached_tokens": 900}}  # fmt: skip
    choice = {"message": {"content": ""}, "finish_reason": "stop"}
    reading = ChatMeter().whole(json.dumps({"choices": [choice], "usage": usage}).encode())
    assert reading.billed(50) == Billed(900, 0, 900, 0, is_estimate=False)


def test_more_cached_than_all_is_not_believed() -> None:
    usage = {"prompt_tokens": 5, "completion_tokens": 1,
             "prompt_tokens_details": {"cached_tokens": 9}}  # fmt: skip
    reading = ChatMeter().whole(json.dumps({"choices": [], "usage": usage}).encode())
    assert reading.billed(0) == Billed(5, 1, 5, 0, is_estimate=False)


def test_the_last_usage_of_a_stream_counts() -> None:
    def piece(output: int) -> bytes:
        usage = {"prompt_tokens": 5, "completion_tokens": output}
        return json.dumps({"choices": [{"delta": {}}], "usage": usage}).encode()

    reading = Reading()
    for data in (piece(1), piece(2), piece(3)):
        reading = ChatMeter().event(reading, data)
    assert not reading.is_over
    reading = ChatMeter().event(reading, b"[DONE]")
    assert reading.billed(0).output_tokens == 3


def test_a_message_tells_its_figures_in_two_places() -> None:
    meter, reading = MessagesMeter(), Reading()
    start = {"input_tokens": 30, "cache_read_input_tokens": 5, "output_tokens": 1}
    for event in (
        {"type": "message_start", "message": {"usage": start}},
        {"type": "ping"},
        {"type": "message_delta", "delta": {"stop_reason": "end_turn"},
         "usage": {"output_tokens": 12, "cache_read_input_tokens": None}},
        {"type": "message_stop"},
    ):  # fmt: skip
        reading = meter.event(reading, json.dumps(event).encode())
    assert reading.billed(0) == Billed(35, 12, 5, 0, is_estimate=False)


def sent(wire: Wire, most: int | None = None, **body: object) -> dict[str, object]:
    return prepared(wire, json.dumps(body).encode(), "m", most).body


def test_an_answer_is_bounded_by_the_role() -> None:
    assert sent(CHAT, 100)["max_completion_tokens"] == 100
    assert sent(CHAT, 100, max_tokens=70) == {"max_tokens": 70, "model": "m"}
    assert sent(CHAT, 100, max_tokens=170)["max_tokens"] == 100
    assert sent(RESPONSES, 100, max_output_tokens=None)["max_output_tokens"] == 100
    assert sent(MESSAGES, 100, max_tokens=170)["max_tokens"] == 100
    assert sent(MESSAGES, max_tokens=170)["max_tokens"] == 170


def test_thoughts_fit_into_the_answer() -> None:
    def thinking(most: int, budget: int) -> object:
        asked = {"type": "enabled", "budget_tokens": budget}
        return sent(MESSAGES, most, max_tokens=32_000, thinking=asked).get("thinking")

    assert thinking(8_000, 31_999) == {"type": "enabled", "budget_tokens": 4_000}
    assert thinking(8_000, 7_999) == {"type": "enabled", "budget_tokens": 7_999}
    assert thinking(1_500, 8_000) == {"type": "enabled", "budget_tokens": 1_024}
    assert thinking(1_024, 8_000) is None


def test_an_answer_has_room_for_its_thoughts_and_a_few_lines() -> None:
    def least(wire: Wire, **body: object) -> int:
        return prepared(wire, json.dumps(body).encode(), "m", 8_000).least_output_tokens

    thinks = {"type": "enabled", "budget_tokens": 2_000}
    assert least(MESSAGES, max_tokens=9_000) == LEAST_ANSWER_TOKENS
    assert least(MESSAGES, max_tokens=9_000, thinking=thinks) == 2_000 + LEAST_ANSWER_TOKENS
    thinks["budget_tokens"] = 31_999
    assert least(MESSAGES, max_tokens=32_000, thinking=thinks) == 4_000 + LEAST_ANSWER_TOKENS
    assert least(CHAT, n=3) == 3 * LEAST_ANSWER_TOKENS


def test_a_request_is_sent_with_a_shorter_answer() -> None:
    def body(wire: Wire, most: int | None, **asked: object) -> dict[str, object]:
        return shortened(wire, prepared(wire, json.dumps(asked).encode(), "m", 8_000), most)

    assert body(CHAT, None, max_tokens=70)["max_tokens"] == 70
    assert body(CHAT, 60, max_tokens=70)["max_tokens"] == 60
    assert body(CHAT, 60, max_tokens=70, n=3)["max_tokens"] == 20, "of three answers each"
    assert body(RESPONSES, 600)["max_output_tokens"] == 600
    thinks = {"type": "enabled", "budget_tokens": 2_000}
    kept = body(MESSAGES, 2_512, max_tokens=9_000, thinking=thinks)
    assert (kept["max_tokens"], kept["thinking"]) == (2_512, thinks)


def test_the_most_that_an_answer_may_be() -> None:
    def most(wire: Wire, **body: object) -> int | None:
        return prepared(wire, json.dumps(body).encode(), "m").most_output_tokens

    assert most(CHAT, max_completion_tokens=7) == 7
    assert most(CHAT, max_tokens=7, n=3) == 21
    assert most(RESPONSES, max_output_tokens=7) == 7
    assert most(MESSAGES, max_tokens=7) == 7
    assert most(MESSAGES, max_tokens="7") is None
    assert most(CHAT) is None


def test_what_could_not_be_counted_is_not_sent() -> None:
    with pytest.raises(BadRequest, match="background"):
        sent(RESPONSES, background=True)


def test_a_warning_is_the_last_that_the_user_says() -> None:
    note, said = ("Wrap up.",), {"role": "user", "content": "Wrap up."}
    tool = {"role": "tool", "content": "x"}
    assert with_notes(CHAT, {"messages": [tool]}, note) == {"messages": [tool, said]}
    assert with_notes(RESPONSES, {"input": "hi"}, note) == {
        "input": [{"role": "user", "content": "hi"}, said]
    }
    result = {"type": "tool_result", "tool_use_id": "1"}
    words = {"type": "text", "text": "Wrap up."}
    assert with_notes(MESSAGES, {"messages": [{"role": "user", "content": [result]}]}, note) == {
        "messages": [{"role": "user", "content": [result, words]}]
    }
    assert with_notes(MESSAGES, {"messages": [{"role": "user", "content": "hi"}]}, note) == {
        "messages": [{"role": "user", "content": [{"type": "text", "text": "hi"}, words]}]
    }
    assert with_notes(MESSAGES, {"messages": []}, note) == {"messages": [said]}
    assert with_notes(CHAT, {"messages": 7}, ()) == {"messages": 7}


@given(st.dictionaries(KEYS | st.sampled_from(["messages", "input", "n", "thinking"]), JSON))
@settings(max_examples=50)
def test_any_object_can_be_prepared(body: dict[str, object]) -> None:
    raw = json.dumps(body, allow_nan=True).encode()
    for wire in (CHAT, RESPONSES, MESSAGES):
        try:
            request = prepared(wire, raw, "m", 100)
        except BadRequest:
            assert b"NaN" in raw or b"Infinity" in raw
            continue
        assert json.dumps(with_notes(wire, request.body, ["note"]))
