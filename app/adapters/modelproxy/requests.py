"""What the CLI asks for, and what is sent on in its place."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from app.adapters.modelproxy.reach import reaches_out
from app.adapters.modelproxy.reading import guessed_tokens
from app.adapters.modelproxy.wires import CHAT, MESSAGES, RESPONSES, Wire
from app.core.breaker.answers import LEAST_ANSWER_TOKENS

_LEAST_THINKING_TOKENS: Final = 1_024
"""Anthropic takes no smaller budget for thoughts."""

Body = dict[str, object]


class BadRequest(Exception):
    """The CLI asks for something that is not sent on; the text is for whoever reads its log."""


@dataclass(frozen=True, slots=True)
class Prepared:
    """A request for an answer, ready to be judged and sent on."""

    body: Body
    guessed_input_tokens: int
    most_output_tokens: int | None
    """None: the request leaves it to the provider."""
    least_output_tokens: int
    """That an answer must have room for: what it thinks first, and a few lines."""


def asked_of(raw: bytes, model: str, *, is_anthropic: bool) -> Body:
    """The request's JSON object, asked of `model` and of nobody else. Raises `BadRequest`."""
    try:
        body = json.loads(raw, parse_constant=_no_number)
    except (ValueError, RecursionError):
        body = None
    if not isinstance(body, dict):
        raise BadRequest("the body of the request is not a JSON object")
    if (what := reaches_out(body, is_anthropic=is_anthropic)) is not None:
        raise BadRequest(f"{what} is not sent on: from here nothing is reached but the model")
    return {**body, "model": model}


def prepared(wire: Wire, raw: bytes, model: str, most_output_tokens: int | None = None) -> Prepared:
    """The request as it is sent on. Raises `BadRequest`.

    Whatever model the CLI names, `model` is asked: it is the one that is paid for. An answer is
    bounded by `most_output_tokens`, and its usage is asked for.
    """
    body = asked_of(raw, model, is_anthropic=wire is MESSAGES)
    if body.get("background"):
        raise BadRequest("answers in the background are not sent on: they could not be counted")
    if most_output_tokens is not None:
        _bound_output(wire, body, most_output_tokens)
    if wire is CHAT and body.get("stream"):
        options = body.get("stream_options")
        told = options if isinstance(options, dict) else {}
        body["stream_options"] = {**told, "include_usage": True}
    least = _thinking_tokens(wire, body) + LEAST_ANSWER_TOKENS
    times = _answers(wire, body)
    return Prepared(body, guessed_tokens(len(raw)), _most_output(wire, body), times * least)


def shortened(wire: Wire, request: Prepared, most_output_tokens: int | None) -> Body:
    """The request's body with an answer of no more tokens than that; None: as it is."""
    body = dict(request.body)
    if most_output_tokens is not None:
        _bound_output(wire, body, most_output_tokens // _answers(wire, body))
    return body


def with_notes(wire: Wire, body: Mapping[str, object], notes: Sequence[str]) -> Body:
    """The request with the breaker's warnings as the user's last words."""
    if not notes:
        return dict(body)
    words = "\n".join(notes)
    said: Body = {"role": "user", "content": words}
    if wire is RESPONSES:
        given = body.get("input")
        before = [{"role": "user", "content": given}] if isinstance(given, str) else given
        return {**body, "input": [*_list(before), said]}
    messages = _list(body.get("messages"))
    last = messages[-1] if messages else None
    if wire is MESSAGES and isinstance(last, dict) and last.get("role") == "user":
        content = last.get("content")
        blocks = [{"type": "text", "text": content}] if isinstance(content, str) else content
        more = [*_list(blocks), {"type": "text", "text": words}]
        return {**body, "messages": [*messages[:-1], {**last, "content": more}]}
    return {**body, "messages": [*messages, said]}


def _bound_output(wire: Wire, body: Body, most: int) -> None:
    named = [key for key in wire.output_keys if body.get(key) is not None]
    for key in named or wire.output_keys[:1]:
        value = body.get(key)
        body[key] = min(value, most) if isinstance(value, int) else most
    thinking = body.get("thinking")
    if isinstance(thinking, dict) and _thinking_tokens(wire, body) >= most:
        # thoughts are a part of the answer
        if most > _LEAST_THINKING_TOKENS:
            body["thinking"] = {**thinking, "budget_tokens": max(most // 2, _LEAST_THINKING_TOKENS)}
        else:
            del body["thinking"]


def _thinking_tokens(wire: Wire, body: Mapping[str, object]) -> int:
    """That an answer may spend on thoughts."""
    thinking = body.get("thinking") if wire is MESSAGES else None
    budget = thinking.get("budget_tokens") if isinstance(thinking, dict) else None
    return budget if isinstance(budget, int) else 0


def _answers(wire: Wire, body: Mapping[str, object]) -> int:
    """How many answers are asked for at once."""
    answers = body.get("n") if wire is CHAT else None
    return max(answers, 1) if isinstance(answers, int) else 1


def _most_output(wire: Wire, body: Mapping[str, object]) -> int | None:
    for key in wire.output_keys:
        value = body.get(key)
        if isinstance(value, int) and value > 0:
            return value * _answers(wire, body)
    return None


def _list(value: object) -> list[object]:
    return value if isinstance(value, list) else []


def _no_number(word: str) -> object:
    raise ValueError(word)
