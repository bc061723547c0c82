"""OpenAI's responses: `POST /v1/responses`."""

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
}


def conversation(body: Mapping[str, object]) -> Conversation:
    """What the request tells the model."""
    messages = []
    if instructions := body.get("instructions"):
        messages.append(Message(Speaker.SYSTEM, plain_text(instructions)))
    given = body.get("input")
    if isinstance(given, str):
        messages.append(Message(Speaker.USER, given))
    for each in items(given):
        message = _message(each)
        # One answer arrives as several items: its words and each of its calls.
        if message is None or (
            message.speaker is Speaker.MODEL and messages and messages[-1].speaker is Speaker.MODEL
        ):
            continue
        messages.append(message)
    return Conversation(tuple(messages))


def whole(reply: Reply) -> Json:
    """The answer as one JSON object."""
    status = "incomplete" if reply.answer.is_cut_off else "completed"
    return _response(reply, status, _output(reply), _usage(reply))


def events(reply: Reply) -> Iterator[Event]:
    """The answer as server-sent events."""
    for number, (kind, data) in enumerate(_happenings(reply)):
        yield Event({"type": kind, "sequence_number": number, **data}, kind)


def _happenings(reply: Reply) -> Iterator[tuple[str, Json]]:
    begun = _response(reply, "in_progress", [], None)
    yield "response.created", {"response": begun}
    yield "response.in_progress", {"response": begun}
    for index, item in enumerate(_output(reply)):
        where: Json = {"item_id": item["id"], "output_index": index}
        if item["type"] == "message":
            yield from _spoken(reply, item, where)
        else:
            yield from _called(item, where)
        yield "response.output_item.done", {"output_index": index, "item": item}
    answer = whole(reply)
    yield f"response.{answer['status']}", {"response": answer}


def _spoken(reply: Reply, item: Json, where: Json) -> Iterator[tuple[str, Json]]:
    begun = {**item, "status": "in_progress", "content": []}
    yield "response.output_item.added", {"output_index": where["output_index"], "item": begun}
    place = {**where, "content_index": 0}
    yield "response.content_part.added", {**place, "part": _part("")}
    for piece in pieces(reply.answer.text):
        yield "response.output_text.delta", {**place, "delta": piece, "logprobs": []}
    text = reply.answer.text
    yield "response.output_text.done", {**place, "text": text, "logprobs": []}
    yield "response.content_part.done", {**place, "part": _part(text)}


def _called(item: Json, where: Json) -> Iterator[tuple[str, Json]]:
    begun = {**item, "status": "in_progress", "arguments": ""}
    yield "response.output_item.added", {"output_index": where["output_index"], "item": begun}
    arguments = str(item["arguments"])
    for piece in pieces(arguments):
        yield "response.function_call_arguments.delta", {**where, "delta": piece}
    yield "response.function_call_arguments.done", {**where, "arguments": arguments}


def _message(item: Mapping[str, object]) -> Message | None:
    kind = item.get("type", "message")
    if kind == "function_call":
        return Message(Speaker.MODEL, "")
    if kind == "function_call_output":
        return Message(Speaker.TOOL, plain_text(item.get("output")))
    speaker = _SPEAKERS.get(str(item.get("role")))
    return Message(speaker, plain_text(item.get("content"))) if speaker else None


def _output(reply: Reply) -> list[Json]:
    output: list[Json] = []
    if reply.answer.text or not reply.answer.calls:
        output.append(
            {
                "id": f"msg_{reply.id}",
                "type": "message",
                "role": "assistant",
                "status": "completed",
                "content": [_part(reply.answer.text)],
            }
        )
    for number, call in enumerate(reply.answer.calls):
        output.append(
            {
                "id": f"fc_{reply.id}_{number}",
                "type": "function_call",
                "status": "completed",
                "call_id": reply.call_id(number),
                "name": call.tool,
                "arguments": args_text(call),
            }
        )
    return output


def _part(text: str) -> Json:
    return {"type": "output_text", "text": text, "annotations": [], "logprobs": []}


def _response(reply: Reply, status: str, output: list[Json], usage: Json | None) -> Json:
    return {
        "id": f"resp_{reply.id}",
        "object": "response",
        "created_at": CREATED_SECONDS,
        "status": status,
        "model": reply.model,
        "output": output,
        "usage": usage,
        "error": None,
        "incomplete_details": {"reason": "max_output_tokens"} if status == "incomplete" else None,
        "instructions": None,
        "metadata": {},
        "parallel_tool_calls": True,
        "temperature": 1.0,
        "tool_choice": "auto",
        "tools": [],
        "top_p": 1.0,
    }


def _usage(reply: Reply) -> Json:
    return {
        "input_tokens": reply.input_tokens,
        "input_tokens_details": {
            "cached_tokens": reply.answer.cache_read_tokens,
            "cache_write_tokens": reply.answer.cache_write_tokens,
        },
        "output_tokens": reply.output_tokens,
        "output_tokens_details": {"reasoning_tokens": 0},
        "total_tokens": reply.input_tokens + reply.output_tokens,
    }
