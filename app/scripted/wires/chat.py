"""OpenAI's chat completions: `POST /v1/chat/completions`."""

from collections.abc import Iterator, Mapping

from app.scripted.script import Conversation, Message, Speaker
from app.scripted.wires import (
    CREATED_SECONDS,
    Event,
    Json,
    Reply,
    args_text,
    items,
    pieces,
    plain_text,
)

_SPEAKERS = {
    "system": Speaker.SYSTEM,
    "developer": Speaker.SYSTEM,
    "user": Speaker.USER,
    "assistant": Speaker.MODEL,
    "tool": Speaker.TOOL,
}


def conversation(body: Mapping[str, object]) -> Conversation:
    """What the request tells the model."""
    return Conversation(
        tuple(
            Message(_SPEAKERS[role], plain_text(each.get("content")))
            for each in items(body.get("messages"))
            if (role := str(each.get("role"))) in _SPEAKERS
        )
    )


def whole(reply: Reply) -> Json:
    """The answer as one JSON object."""
    message: Json = {"role": "assistant", "content": reply.answer.text or None, "refusal": None}
    if reply.answer.calls:
        message["tool_calls"] = _calls(reply)
    choice = {"index": 0, "message": message, "finish_reason": _finish(reply), "logprobs": None}
    return {**_envelope(reply, "chat.completion"), "choices": [choice], "usage": _usage(reply)}


def events(reply: Reply) -> Iterator[Event]:
    """The answer as server-sent events."""
    yield _chunk(reply, {"role": "assistant", "content": ""})
    for piece in pieces(reply.answer.text):
        yield _chunk(reply, {"content": piece})
    for index, call in enumerate(_calls(reply)):
        yield _chunk(reply, {"tool_calls": [{"index": index, **call}]})
    yield _chunk(reply, {}, _finish(reply))
    envelope = _envelope(reply, "chat.completion.chunk")
    yield Event({**envelope, "choices": [], "usage": _usage(reply)})
    yield Event("[DONE]")


def _chunk(reply: Reply, delta: Json, finish: str | None = None) -> Event:
    choice = {"index": 0, "delta": delta, "finish_reason": finish}
    return Event({**_envelope(reply, "chat.completion.chunk"), "choices": [choice]})


def _calls(reply: Reply) -> list[Json]:
    return [
        {
            "id": reply.call_id(number),
            "type": "function",
            "function": {"name": call.tool, "arguments": args_text(call)},
        }
        for number, call in enumerate(reply.answer.calls)
    ]


def _finish(reply: Reply) -> str:
    if reply.answer.is_cut_off:
        return "length"
    return "tool_calls" if reply.answer.calls else "stop"


def _envelope(reply: Reply, kind: str) -> Json:
    return {
        "id": f"chatcmpl_{reply.id}",
        "object": kind,
        "created": CREATED_SECONDS,
        "model": reply.model,
    }


def _usage(reply: Reply) -> Json:
    return {
        "prompt_tokens": reply.input_tokens,
        "prompt_tokens_details": {"cached_tokens": reply.answer.cache_read_tokens},
        "completion_tokens": reply.output_tokens,
        "total_tokens": reply.input_tokens + reply.output_tokens,
    }
