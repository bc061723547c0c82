"""What an answer says about its own size, as a value, whatever its wire format."""

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Final

CHARACTERS_PER_TOKEN: Final = 4
"""For estimates, the same as the embedded runtime's."""
MOST_TOKENS: Final = 1_000_000_000
"""Of one answer; a larger figure is no figure."""

_NOT_SAID: Final = frozenset({"type", "role", "id", "call_id", "object", "status", "signature"})


@dataclass(frozen=True, slots=True)
class Reading:
    """What is known of one answer so far. Tokens are None until the provider has told them."""

    fresh_tokens: int | None = None
    """Input that no cache knew of."""
    output_tokens: int | None = None
    cache_read_tokens: int = 0
    cache_write_tokens: int = 0
    said_characters: int = 0
    """Of words, thoughts and arguments of tool calls."""
    has_text: bool = False
    is_answer: bool = False
    """Whether anything was an answer of a model at all."""
    is_finished: bool = False
    """The model has said why it ended; its usage may still follow."""
    is_over: bool = False
    """Nothing more follows."""
    has_failed: bool = False
    """The answer itself says that it failed."""

    @property
    def is_whole(self) -> bool:
        """Whether the answer came to its end."""
        return (self.is_finished or self.is_over) and not self.has_failed

    def billed(self, guessed_input_tokens: int) -> "Billed":
        """What the answer is counted as, estimated where the provider did not tell it.

        Something was sent, and something was seen: 0 tokens of it were not told. Of an answer that
        was cut off the provider has told less than it will bill: the output is then at least what
        was seen.
        """
        seen = guessed_tokens(self.said_characters)
        cached = self.cache_read_tokens + self.cache_write_tokens
        fresh, output = self.fresh_tokens, self.output_tokens
        is_input_told = fresh is not None and fresh + cached > 0
        is_output_told = output is not None and (output > 0 or seen == 0)
        if fresh is None or not is_input_told:
            fresh = max(0, guessed_input_tokens - cached)
        if output is None or not is_output_told:
            output = seen
        elif not self.is_whole:
            output = max(output, seen)
        return Billed(
            fresh + cached,
            output,
            self.cache_read_tokens,
            self.cache_write_tokens,
            is_estimate=not (self.is_whole and is_input_told and is_output_told),
        )


@dataclass(frozen=True, slots=True)
class Billed:
    """The tokens of one answer; the input includes cached ones."""

    input_tokens: int
    output_tokens: int
    cache_read_tokens: int
    cache_write_tokens: int
    is_estimate: bool


def guessed_tokens(characters: int) -> int:
    """About what a model counts for so many characters, rounded up."""
    return -(-characters // CHARACTERS_PER_TOKEN)


def parsed(data: bytes | str) -> Mapping[str, object] | None:
    """A JSON object, or None for whatever else it is."""
    try:
        value = json.loads(data)
    except (ValueError, RecursionError):
        return None
    return value if isinstance(value, dict) else None


def mapping(value: object) -> Mapping[str, object]:
    """The value if it is an object, else an empty one."""
    return value if isinstance(value, Mapping) else {}


def items(value: object) -> Iterator[Mapping[str, object]]:
    """The objects in a list; whatever else is there is left out."""
    if isinstance(value, list):
        for each in value:
            if isinstance(each, Mapping):
                yield each


def count(value: object) -> int | None:
    """A number of tokens, or None for whatever is none."""
    if isinstance(value, bool) or not isinstance(value, int):
        return None
    return value if 0 <= value <= MOST_TOKENS else None


def is_said(value: object) -> bool:
    """Whether it is a text that says something."""
    return isinstance(value, str) and bool(value.strip())


def characters(value: object) -> int:
    """Of all texts in a part of an answer, however deep; kinds and ids are none."""
    total, left = 0, [value]
    while left:
        each = left.pop()
        if isinstance(each, str):
            total += len(each)
        elif isinstance(each, Mapping):
            left.extend(inner for key, inner in each.items() if key not in _NOT_SAID)
        elif isinstance(each, list):
            left.extend(each)
    return total
