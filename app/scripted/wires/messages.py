"""Anthropic's messages: `POST /v1/messages`."""

from collections.abc import Iterable, Iterator, Mapping

from app.scripted.script import Conversation, Message, Speaker
from app.scripted.wires import Event, Json, Reply, args_text, items, pieces, plain_text


def conversation(body: Mapping[str, object]) -> Conversation:
    """What the request tells the model."""
    messages = []
    if system := plain_text(body.get("system")):
        messages.append(Message(Speaker.SYSTEM, system))
    for each in items(body.get("messages")):
        if each.get("role") == "assistant":
            messages.append(Message(Speaker.MODEL, plain_text(each.get("content"))))
        else:
            messages.extend(_said_to_the_model(each.get("content")))
    return Conversation(tuple(messages))


def whole(reply: Reply) -> Json:
    """The answer as one JSON object."""
    return {
        **_opening(reply),
        "content": [*_thinking_blocks(reply), *_text_blocks(reply), *_call_blocks(reply)],
        "stop_reason": _stop_reason(reply),
        "usage": _usage(reply, reply.output_tokens),
    }


def events(reply: Reply) -> Iterator[Event]:
    """The answer as server-sent events."""
    yield _event("message_start", message={**_opening(reply), "usage": _usage(reply, 1)})
    index = 0
    for block in _thinking_blocks(reply):
        deltas = [
            {"type": "thinking_delta", "thinking": block["thinking"]},
            {"type": "signature_delta", "signature": block["signature"]},
        ]
        yield from _block(index, {**block, "thinking": "", "signature": ""}, deltas)
        index += 1
    for block in _text_blocks(reply):
        deltas = [{"type": "text_delta", "text": piece} for piece in pieces(reply.answer.text)]
        yield from _block(index, {**block, "text": ""}, deltas)
        index += 1
    for block, call in zip(_call_blocks(reply), reply.answer.calls, strict=True):
        deltas = [
            {"type": "input_json_delta", "partial_json": piece} for piece in pieces(args_text(call))
        ]
        yield from _block(index, {**block, "input": {}}, deltas)
        index += 1
    stop = {"stop_reason": _stop_reason(reply), "stop_sequence": None}
    yield _event("message_delta", delta=stop, usage=_usage(reply, reply.output_tokens))
    yield _event("message_stop")


def _said_to_the_model(content: object) -> Iterator[Message]:
    """A user's message carries tool results and words side by side."""
    if isinstance(content, str):
        yield Message(Speaker.USER, content)
    for block in items(content):
        if block.get("type") == "tool_result":
            yield Message(Speaker.TOOL, plain_text(block.get("content")))
        elif words := plain_text(block):
            yield Message(Speaker.USER, words)


def _block(index: int, begun: Json, deltas: Iterable[Mapping[str, object]]) -> Iterator[Event]:
    yield _event("content_block_start", index=index, content_block=begun)
    for delta in deltas:
        yield _event("content_block_delta", index=index, delta=delta)
    yield _event("content_block_stop", index=index)


def _event(kind: str, **data: object) -> Event:
    return Event({"type": kind, **data}, kind)


def _opening(reply: Reply) -> Json:
    return {
        "id": f"msg_{reply.id}",
        "type": "message",
        "role": "assistant",
        "model": reply.model,
        "content": [],
        "stop_reason": None,
        "stop_sequence": None,
    }


def _thinking_blocks(reply: Reply) -> list[Json]:
    if not reply.answer.thinking:
        return []
    return [{"type": "thinking", "thinking": reply.answer.thinking, "signature": "scripted"}]


def _text_blocks(reply: Reply) -> list[Json]:
    if not reply.answer.text:
        return []
    return [{"type": "text", "text": reply.answer.text}]


def _call_blocks(reply: Reply) -> list[Json]:
    return [
        {
            "type": "tool_use",
            "id": reply.call_id(number),
            "name": call.tool,
            # This format has no place for malformed arguments outside of a stream.
            "input": {"malformed": call.args} if isinstance(call.args, str) else dict(call.args),
        }
        for number, call in enumerate(reply.answer.calls)
    ]


def _stop_reason(reply: Reply) -> str:
    if reply.answer.is_cut_off:
        return "max_tokens"
    return "tool_use" if reply.answer.calls else "end_turn"


def _usage(reply: Reply, output_tokens: int) -> Json:
    return {
        "input_tokens": reply.fresh_tokens,
        "cache_read_input_tokens": reply.answer.cache_read_tokens,
        "cache_creation_input_tokens": reply.answer.cache_write_tokens,
        "output_tokens": output_tokens,
    }
