"""Answers that GitHub need not give again: it says 304 where its last one still stands."""

from collections import OrderedDict
from dataclasses import dataclass
from typing import Final

from app.adapters.github.call import Call, Query

MOST_BYTES: Final = 32_000_000
"""Of all answers together; the one that was not asked for longest goes first."""


@dataclass(frozen=True, slots=True)
class Remembered:
    """An answer as it came."""

    tag: str
    """Its ETag."""
    content: bytes
    next_page: Query | None


class RememberedAnswers:
    """The last answer to each call that wants to be remembered."""

    def __init__(self) -> None:
        self._answers: OrderedDict[str, Remembered] = OrderedDict()
        self._bytes = 0

    def to(self, call: Call) -> Remembered | None:
        """The last answer to that call."""
        if not call.is_remembered:
            return None
        name = _name(call)
        if name in self._answers:
            self._answers.move_to_end(name)
        return self._answers.get(name)

    def keep(self, call: Call, answer: Remembered) -> None:
        """It takes the place of the answer before it."""
        name = _name(call)
        self._drop(self._answers.pop(name, None))
        self._answers[name] = answer
        self._bytes += len(answer.content)
        while self._bytes > MOST_BYTES:
            _, oldest = self._answers.popitem(last=False)
            self._drop(oldest)

    def _drop(self, answer: Remembered | None) -> None:
        self._bytes -= 0 if answer is None else len(answer.content)


def _name(call: Call) -> str:
    return f"{call.path} {sorted(call.query.items())}"
