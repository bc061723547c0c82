"""Which system wrote a transcript, by what is in it; a file's name says nothing."""

from __future__ import annotations

from itertools import islice
from typing import Any, Final

from app.adapters.transcripts import gemini, squadron
from app.adapters.transcripts.reading import (
    TranscriptProblem,
    lines,
    parsed,
    session_lines,
    text_of,
)
from app.core.history.transcript import Format

_EXPECTED: Final = f"expected a transcript in one of the formats {', '.join(Format)}"
_CLAUDE_MARKS: Final = frozenset({"sessionId", "uuid", "leafUuid", "messageId"})
_MAX_LINES: Final = 100
"""A session tells its system within its first lines."""


def recognise(data: bytes) -> Format:
    """The format of a file; `TranscriptProblem` if it is none of them."""
    try:
        first = next(lines(data), None)
    except TranscriptProblem:  # no line of its own: a document over several lines, or torn
        try:
            return _of_document(_document(data))
        except TranscriptProblem:
            found = _of_session(data)
            if found is None:
                raise
            return found
    if first is None:
        raise TranscriptProblem(1, f"the file is empty; {_EXPECTED}")
    found = _of_session(data)
    if found is None:
        raise TranscriptProblem(first.line, f"{_EXPECTED}; this object is of none of them")
    return found


def _of_session(data: bytes) -> Format | None:
    """By the first line that tells."""
    try:
        for record in islice(session_lines(data, []), _MAX_LINES):
            found = _of_line(record.fields) or _of_object(record.fields)
            if found is not None:
                return found
    except TranscriptProblem:
        pass
    return None


def _document(data: bytes) -> Any:
    try:
        return parsed(text_of(data), 1)
    except TranscriptProblem as problem:
        raise TranscriptProblem(problem.line, f"{problem.message}; {_EXPECTED}") from problem


def _of_document(value: Any) -> Format:
    """Of a file that is one JSON value."""
    if isinstance(value, list):
        if value and all(isinstance(item, dict) and "role" in item for item in value):
            return Format.MINI_SWE_AGENT
        raise TranscriptProblem(1, f"{_EXPECTED}; this list is no list of messages with a role")
    found = _of_object(value) if isinstance(value, dict) else None
    if found is None:
        raise TranscriptProblem(1, f"{_EXPECTED}; this value is of none of them")
    return found


def _of_object(fields: dict[str, Any]) -> Format | None:
    """Of an object that is the whole file."""
    if fields.keys() >= gemini.MARKS:
        return Format.GEMINI
    if isinstance(fields.get("trajectory"), list):
        return Format.SWE_AGENT
    if isinstance(fields.get("messages"), list):
        return Format.MINI_SWE_AGENT
    return None


def _of_line(fields: dict[str, Any]) -> Format | None:
    """Of one line among many; None where it does not tell."""
    if fields.keys() >= gemini.MARKS:
        return Format.GEMINI
    kind = fields.get("type")
    if not isinstance(kind, str):
        return None
    if kind in squadron.TYPES:
        return Format.SQUADRON
    if not fields.keys().isdisjoint(_CLAUDE_MARKS):  # also with data: a record of progress
        return Format.CLAUDE
    is_event = isinstance(fields.get("data"), dict) and "timestamp" in fields
    return Format.COPILOT if is_event else None
