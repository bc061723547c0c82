"""The wire formats that the scripted model speaks; each module reads and writes one of them."""

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Protocol

from app.scripted.script import Answer, Call, Conversation

Json = dict[str, object]

CREATED_SECONDS = 1_750_000_000
"""The instant in every answer: the same answer is the same bytes on any day."""


@dataclass(frozen=True, slots=True)
class Reply:
    """An answer, ready to be written in a wire format."""

    id: str
    model: str
    answer: Answer
    fresh_tokens: int
    """Input that no cache knows of."""
    output_tokens: int

    @property
    def input_tokens(self) -> int:
        """All input, as OpenAI counts it; Anthropic counts the fresh tokens apart."""
        return self.fresh_tokens + self.answer.cache_read_tokens + self.answer.cache_write_tokens

    def call_id(self, number: int) -> str:
        """The id of the answer's tool call with this number."""
        return f"call_{self.id}_{number}"


@dataclass(frozen=True, slots=True)
class Event:
    """One server-sent event; formats without named events leave the name empty."""

    data: Json | str
    name: str = ""

    def encoded(self) -> bytes:
        """The event as bytes on the wire."""
        data = self.data if isinstance(self.data, str) else json.dumps(self.data)
        name = f"event: {self.name}\n" if self.name else ""
        return f"{name}data: {data}\n\n".encode()


class Wire(Protocol):
    """One wire format."""

    def conversation(self, body: Mapping[str, object]) -> Conversation:
        """What the request tells the model."""
        ...

    def whole(self, reply: Reply) -> Json:
        """The answer as one JSON object."""
        ...

    def events(self, reply: Reply) -> Iterator[Event]:
        """The answer as server-sent events."""
        ...


def args_text(call: Call) -> str:
    """A call's arguments as a model writes them."""
    return call.args if isinstance(call.args, str) else json.dumps(call.args)


def pieces(text: str, size_characters: int = 40) -> Iterator[str]:
    """A text cut into the pieces in which it is streamed."""
    for start in range(0, len(text), size_characters):
        yield text[start : start + size_characters]


def plain_text(content: object) -> str:
    """The words in a message's content: a string, or a list of parts of which some have text."""
    if isinstance(content, str):
        return content
    if isinstance(content, Mapping):
        return plain_text(content.get("text") or content.get("content") or "")
    if isinstance(content, list):
        return "\n".join(words for part in content if (words := plain_text(part)))
    return ""


def items(value: object) -> Iterator[Mapping[str, object]]:
    """The objects in a list of a request body; whatever else is there is left out."""
    if isinstance(value, list):
        for each in value:
            if isinstance(each, Mapping):
                yield each
