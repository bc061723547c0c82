"""From bytes to JSON objects that know where they stand, within bounds."""

from __future__ import annotations

import codecs
import json
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from io import BytesIO
from typing import Any, Final, NoReturn

from app.adapters.transcripts.places import PathTo, written
from app.core.history.transcript import Unread

MAX_FILE_BYTES: Final = 256 * 1024 * 1024
MAX_LINE_BYTES: Final = 32 * 1024 * 1024
MAX_DIGITS: Final = 1_000
"""Of a whole number; Python itself reads no more than 4,300."""


class TranscriptProblem(ValueError):
    """A transcript cannot be read: where, and what was expected there."""

    def __init__(self, line: int, message: str, path: PathTo = ()) -> None:
        super().__init__(f"{line}: {message}")
        self.line = line
        """Counted from 1."""
        self.message = message
        self.path = path
        """To the object meant, in a file that is one JSON document; empty in JSON lines."""


@dataclass(frozen=True, slots=True)
class Record:
    """One JSON object of a transcript. Each getter raises `TranscriptProblem` on another type."""

    fields: dict[str, Any]
    line: int
    path: PathTo = ()

    def text(self, key: str) -> str:
        value = self.fields.get(key)
        return value if isinstance(value, str) else self.misfit(key, "a string")

    def flag(self, key: str) -> bool:
        value = self.fields.get(key)
        return value if isinstance(value, bool) else self.misfit(key, "true or false")

    def optional_flag(self, key: str) -> bool:
        """True or false; false where it is null or not there."""
        return self.fields.get(key) is not None and self.flag(key)

    def mapping(self, key: str) -> dict[str, Any]:
        value = self.fields.get(key)
        return value if isinstance(value, dict) else self.misfit(key, "an object")

    def record(self, key: str) -> Record:
        return Record(self.mapping(key), self.line, (*self.path, key))

    def optional_record(self, key: str) -> Record:
        """An object; one without fields where it is null or not there."""
        if self.fields.get(key) is None:
            return Record({}, self.line, (*self.path, key))
        return self.record(key)

    def records(self, key: str) -> Iterator[Record]:
        """The objects in a list, each as soon as it is asked for."""
        value = self.fields.get(key)
        if not isinstance(value, list):
            self.misfit(key, "a list of objects")
        for index, item in enumerate(value):
            path = (*self.path, key, index)
            if not isinstance(item, dict):
                _misfit(self.line, path, "an object", item)
            yield Record(item, self.line, path)

    def nullable_text(self, key: str) -> str | None:
        """A string or null, but one of them must be there."""
        return None if self._is_null(key) else self.text(key)

    def nullable_count(self, key: str) -> int | None:
        """A number from 0, or null, but one of them must be there."""
        value = self.nullable_whole(key)
        return self.misfit(key, "a number from 0, or null") if value and value < 0 else value

    def nullable_whole(self, key: str) -> int | None:
        """A whole number or null, but one of them must be there."""
        return None if self._is_null(key) else self.optional_whole(key)

    def optional_text(self, key: str) -> str | None:
        """A string; None where it is null or not there."""
        return None if self.fields.get(key) is None else self.text(key)

    def optional_whole(self, key: str) -> int | None:
        """A whole number; None where it is null or not there."""
        value = self.fields.get(key)
        if value is None or type(value) is int:
            return value
        return self.misfit(key, "a whole number, or null")

    def optional_count(self, key: str) -> int | None:
        """A number from 0; None where it is null or not there."""
        return None if self.fields.get(key) is None else self.nullable_count(key)

    def instant(self, key: str) -> datetime:
        """RFC 3339 with an offset, turned to UTC."""
        text = self.text(key)
        try:
            at = datetime.fromisoformat(text)
            if at.tzinfo is not None and text[10:11] == "T":
                return at.astimezone(UTC)
        except (ValueError, OverflowError):
            pass
        return self.misfit(key, "an instant as 2026-01-31T12:00:00Z")

    def refuse(self, message: str) -> NoReturn:
        """This object is not what the format says; `message` ends with what was expected."""
        raise TranscriptProblem(self.line, message, self.path)

    def _is_null(self, key: str) -> bool:
        if key not in self.fields:
            self.misfit(key, "a value, or null")
        return self.fields[key] is None

    def misfit(self, key: str, expected: str) -> NoReturn:
        """The value under `key` is not what the format says: `expected` is."""
        value = self.fields.get(key, _NOTHING)
        _misfit(self.line, (*self.path, key), expected, value)


def _misfit(line: int, path: PathTo, expected: str, value: object) -> NoReturn:
    message = f"{written(path)}: expected {expected}, found {_shown(value)}"
    raise TranscriptProblem(line, message, path)


def lines(data: bytes) -> Iterator[Record]:
    """The objects of a file of JSON lines; blank lines are passed over."""
    for number, raw in _raw_lines(data):
        yield _record(raw, number)


def session_lines(data: bytes, unread: list[Unread]) -> Iterator[Record]:
    """The objects of a file of JSON lines that was written while the agent worked.

    A line that is torn, for two processes wrote at once or one died, is added to `unread`; the
    objects that stand complete at its beginning are read. A last line without a line feed that is
    no JSON was being written when the agent died: it is dropped. Raises `TranscriptProblem` at
    the first line if there is no object in the file.
    """
    found, first = False, None
    for number, raw in _raw_lines(data):
        try:
            records = [_record(raw, number)]
        except TranscriptProblem as problem:
            first = first or problem
            is_last = not raw.endswith(b"\n") and number > 1
            records = [] if is_last else [Record(each, number) for each in _complete(raw)]
            if not is_last:
                unread.append(Unread(number, problem.message))
        found = found or bool(records)
        yield from records
    if not found and first is not None:
        raise first


def _raw_lines(data: bytes) -> Iterator[tuple[int, bytes]]:
    _bounded(data)
    for number, raw in enumerate(BytesIO(data.removeprefix(codecs.BOM_UTF8)), 1):
        if len(raw) > MAX_LINE_BYTES:
            message = f"the line has {len(raw)} bytes; expected at most {MAX_LINE_BYTES}"
            raise TranscriptProblem(number, message)
        if raw.strip():
            yield number, raw


def _record(raw: bytes, number: int) -> Record:
    value = parsed(decoded(raw.rstrip(b"\r\n"), number), number)
    if not isinstance(value, dict):
        raise TranscriptProblem(number, f"expected a JSON object, found {_shown(value)}")
    return Record(value, number)


def _complete(raw: bytes) -> Iterator[dict[str, Any]]:
    """The objects at the beginning of a torn line."""
    text, at = raw.decode(errors="replace").rstrip(), 0
    while at < len(text):
        try:
            value, at = _DECODER.raw_decode(text, at)
        except (ValueError, RecursionError):
            return
        if not isinstance(value, dict):
            return
        yield _without_half_characters(value)


def text_of(data: bytes) -> str:
    """A whole file as text."""
    _bounded(data)
    return decoded(data.removeprefix(codecs.BOM_UTF8), 1)


def decoded(raw: bytes, line: int) -> str:
    """Text from UTF-8 that starts on `line`."""
    try:
        return raw.decode()
    except UnicodeDecodeError as error:
        line += raw.count(b"\n", 0, error.start)
        message = f"byte 0x{raw[error.start]:02x} is no UTF-8; expected UTF-8 text"
        raise TranscriptProblem(line, message) from error


def parsed(text: str, line: int) -> Any:
    """The JSON value of a text that starts on `line`."""
    try:
        value = _DECODER.decode(text)
        half = "\\ud" in text or "\\uD" in text
        return _without_half_characters(value) if half else value
    except json.JSONDecodeError as error:
        place = f"{error.msg}, column {error.colno}"
        raise TranscriptProblem(line + error.lineno - 1, f"expected JSON: {place}") from error
    except (ValueError, RecursionError) as error:
        raise TranscriptProblem(line, f"expected JSON that can be read: {error}") from error


def _no_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is no JSON")


def _whole(digits: str) -> int:
    if len(digits) > MAX_DIGITS:
        raise ValueError(f"a whole number in it has more than {MAX_DIGITS} digits")
    return int(digits)


_DECODER: Final = json.JSONDecoder(parse_constant=_no_constant, parse_int=_whole)


def _without_half_characters(value: Any) -> Any:
    """Systems cut texts in the middle of a character: half a surrogate pair becomes `?`."""
    whole = json.dumps(value, ensure_ascii=False).encode(errors="replace")
    return json.loads(whole)


def _bounded(data: bytes) -> None:
    if len(data) > MAX_FILE_BYTES:
        message = f"the file has {len(data)} bytes; expected at most {MAX_FILE_BYTES}"
        raise TranscriptProblem(1, message)


_MAX_SHOWN_CHARACTERS: Final = 40
_NOTHING: Final = object()
"""Stands for a field that is not there."""


def _shown(value: object) -> str:
    match value:
        case dict():
            return "an object"
        case list():
            return "a list"
        case None:
            return "null"
        case _ if value is _NOTHING:
            return "nothing"
        case _:
            text = json.dumps(value)
            cut = "…" if len(text) > _MAX_SHOWN_CHARACTERS else ""
            return text[:_MAX_SHOWN_CHARACTERS] + cut
