"""Usage meters: how each wire format tells what an answer has used.

A meter is two pure functions: one folds the data of an event of a stream into a reading, one
reads an answer that came whole.
"""

from collections.abc import Mapping
from dataclasses import replace
from typing import Final, Protocol

from app.adapters.modelproxy.reading import (
    Reading,
    characters,
    count,
    is_said,
    items,
    mapping,
    parsed,
)

_DONE: Final = b"[DONE]"


class Meter(Protocol):
    """How one wire format is read."""

    def event(self, reading: Reading, data: bytes) -> Reading:
        """The reading after one more event of a stream."""
        ...

    def whole(self, body: bytes) -> Reading:
        """The reading of an answer that came as one JSON object."""
        ...


class ChatMeter:
    """OpenAI's chat completions."""

    def event(self, reading: Reading, data: bytes) -> Reading:
        """The reading after one more chunk."""
        if data.strip() == _DONE:
            return replace(reading, is_over=True)
        return self._read(reading, parsed(data) or {}, "delta")

    def whole(self, body: bytes) -> Reading:
        """The reading of an answer that came as one JSON object."""
        reading = self._read(Reading(), parsed(body) or {}, "message")
        return replace(reading, is_over=reading.is_answer)

    def _read(self, reading: Reading, chunk: Mapping[str, object], said: str) -> Reading:
        if chunk.get("error"):
            return replace(reading, has_failed=True)
        if isinstance(chunk.get("choices"), list):
            reading = replace(reading, is_answer=True)
        for choice in items(chunk.get("choices")):
            part = mapping(choice.get(said))
            reading = replace(
                reading,
                said_characters=reading.said_characters + characters(part),
                has_text=reading.has_text or is_said(part.get("content")),
                is_finished=reading.is_finished or bool(choice.get("finish_reason")),
            )
        usage = mapping(chunk.get("usage"))
        return _openai_usage(reading, usage, "prompt_tokens", "completion_tokens")


class ResponsesMeter:
    """OpenAI's responses."""

    _ENDS: Final = frozenset({"response.completed", "response.incomplete", "response.failed"})

    def event(self, reading: Reading, data: bytes) -> Reading:
        """The reading after one more event."""
        event = parsed(data) or {}
        kind = str(event.get("type"))
        if kind == "error" or event.get("error"):
            return replace(reading, has_failed=True)
        if not kind.startswith("response."):
            return reading
        delta = event.get("delta")
        reading = replace(
            reading,
            is_answer=True,
            said_characters=reading.said_characters + characters(delta),
            has_text=reading.has_text or (kind == "response.output_text.delta" and is_said(delta)),
        )
        return self._ended(reading, event.get("response")) if kind in self._ENDS else reading

    def whole(self, body: bytes) -> Reading:
        """The reading of an answer that came as one JSON object."""
        response = parsed(body) or {}
        if not isinstance(response.get("output"), list):
            return Reading(has_failed=bool(response.get("error")))
        output = response["output"]
        parts = [part for item in items(output) for part in items(item.get("content"))]
        reading = Reading(
            is_answer=True,
            said_characters=characters(output),
            has_text=any(
                each.get("type") == "output_text" and is_said(each.get("text")) for each in parts
            ),
        )
        return self._ended(reading, response)

    def _ended(self, reading: Reading, response: object) -> Reading:
        told = mapping(response)
        failed = told.get("status") == "failed" or bool(told.get("error"))
        reading = replace(reading, is_over=True, has_failed=reading.has_failed or failed)
        return _openai_usage(reading, mapping(told.get("usage")), "input_tokens", "output_tokens")


class MessagesMeter:
    """Anthropic's messages."""

    def event(self, reading: Reading, data: bytes) -> Reading:
        """The reading after one more event."""
        event = parsed(data) or {}
        match event.get("type"):
            case "message_start":
                told = mapping(mapping(event.get("message")).get("usage"))
                return _anthropic_usage(replace(reading, is_answer=True), told)
            case "content_block_start":
                return self._said(reading, mapping(event.get("content_block")))
            case "content_block_delta":
                return self._said(reading, mapping(event.get("delta")))
            case "message_delta":
                why = mapping(event.get("delta")).get("stop_reason")
                reading = replace(reading, is_finished=reading.is_finished or bool(why))
                return _anthropic_usage(reading, mapping(event.get("usage")))
            case "message_stop":
                return replace(reading, is_over=True)
            case "error":
                return replace(reading, has_failed=True)
            case _:
                return reading

    def whole(self, body: bytes) -> Reading:
        """The reading of an answer that came as one JSON object."""
        message = parsed(body) or {}
        if not isinstance(message.get("content"), list):
            return Reading(has_failed=bool(message.get("error")))
        reading = Reading(is_answer=True, is_over=True)
        for block in items(message["content"]):
            reading = self._said(reading, block)
        return _anthropic_usage(reading, mapping(message.get("usage")))

    def _said(self, reading: Reading, part: Mapping[str, object]) -> Reading:
        is_text = part.get("type") in ("text", "text_delta")
        return replace(
            reading,
            said_characters=reading.said_characters + characters(part),
            has_text=reading.has_text or (is_text and is_said(part.get("text"))),
        )


def _openai_usage(
    reading: Reading, usage: Mapping[str, object], input_key: str, output_key: str
) -> Reading:
    """OpenAI counts cached tokens as part of the input."""
    total, output = count(usage.get(input_key)), count(usage.get(output_key))
    if total is None and output is None:
        return reading
    details = mapping(usage.get(f"{input_key}_details"))
    read = min(count(details.get("cached_tokens")) or 0, total or 0)
    written = min(count(details.get("cache_write_tokens")) or 0, (total or 0) - read)
    return replace(
        reading,
        fresh_tokens=reading.fresh_tokens if total is None else total - read - written,
        output_tokens=reading.output_tokens if output is None else output,
        cache_read_tokens=read,
        cache_write_tokens=written,
    )


def _anthropic_usage(reading: Reading, usage: Mapping[str, object]) -> Reading:
    """Anthropic counts cached tokens beside the input; an event may tell some figures only."""

    def told(name: str, before: int | None) -> int | None:
        now = count(usage.get(name))
        return before if now is None else now

    return replace(
        reading,
        fresh_tokens=told("input_tokens", reading.fresh_tokens),
        output_tokens=told("output_tokens", reading.output_tokens),
        cache_read_tokens=told("cache_read_input_tokens", reading.cache_read_tokens) or 0,
        cache_write_tokens=told("cache_creation_input_tokens", reading.cache_write_tokens) or 0,
    )
