"""Takes out of text what must not leave the process or be stored: secrets, and where on the disk
this installation keeps its files."""

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import fields, is_dataclass, replace
from typing import Final, TypeVar, cast

from app.core.text.secrets import Span, found_in, secret_spans

MASK: Final = "[redacted]"
MARGIN: Final = 8_192
"""How far beyond a bound it is looked for a secret that begins before it."""

Value = TypeVar("Value")


class Redactor:
    """Takes out the secrets of one installation, and what has the shape of one."""

    def __init__(self, known: Iterable[str] = ()) -> None:
        kept = tuple(known)
        self._sources: list[Callable[[], Iterable[str]]] = [lambda: kept]
        self._places: re.Pattern[str] | None = None

    def hiding(self, data_directory: str) -> "Redactor":
        """One that knows the same secrets, now and later, and shows no place on the disk either.

        A file in an agent's workspace is named by its path in there, any other one below
        `$SQUADRON_DATA_DIR`: whoever runs Squadron knows where that is, and nobody else has to.
        """
        other = Redactor()
        other._sources = self._sources
        other._places = re.compile(
            rf"(?<![\w.-]){re.escape(data_directory)}"
            r"(?:(?P<clone>/agents/[\w.~-]+/workspace)(?:(?P<inside>/(?=[\w.@~-]))|(?![\w.~-])/?)"
            r"|(?![\w-]))"
        )
        return other

    def learn(self, source: Callable[[], Iterable[str]]) -> None:
        """Ask there as well, each time: some secrets come and go."""
        self._sources.append(source)

    def __call__(self, text: str, most: int | None = None) -> str:
        """The text with `MASK` in place of every secret, at most `most` characters of it."""
        return redact(self._placeless(text), self._known(), most)

    def tail(self, text: str, most: int) -> str:
        """At most the last `most` characters of the text, redacted."""
        return redact_tail(self._placeless(text), most, self._known())

    def within(self, value: Value) -> Value:
        """The same value with all of its texts redacted, those of dataclasses, lists and mappings
        in it as well; keys and enumerations stay."""
        return cast(Value, self._within(value))

    def _within(self, value: object) -> object:
        if type(value) is str:  # no enumeration
            return self(value)
        if isinstance(value, Mapping):
            return {key: self._within(each) for key, each in value.items()}
        if isinstance(value, list | tuple):
            each = [self._within(each) for each in value]
            return tuple(each) if isinstance(value, tuple) else each
        if is_dataclass(value) and not isinstance(value, type):
            given = {each.name: getattr(value, each.name) for each in fields(value) if each.init}
            clean = {name: self._within(each) for name, each in given.items()}
            return replace(value, **{n: c for n, c in clean.items() if c != given[n]})
        return value

    def found_in(self, content: str) -> frozenset[str]:
        """What a file holds that must not leave, told apart and not to be shown."""
        return found_in(content, self._known())

    def _placeless(self, text: str) -> str:
        if self._places is None:
            return text
        return self._places.sub(_place_words, text)

    def _known(self) -> tuple[str, ...]:
        return tuple(secret for source in self._sources for secret in source())


def _place_words(place: re.Match[str]) -> str:
    if place["inside"]:
        return ""
    return "." if place["clone"] else "$SQUADRON_DATA_DIR"


def redact(text: str, known: Iterable[str] = (), most: int | None = None) -> str:
    """The text with `MASK` in place of every known secret and of every shape of one.

    Empty known values are ignored, others are taken as they are, whatever their length. `most`: the
    bound of what is returned; a secret that it cuts is taken out like any other.
    """
    end = len(text) if most is None else most
    return _masked(text[: end + MARGIN], known, 0, end)[:most]


def redact_tail(text: str, most: int, known: Iterable[str] = ()) -> str:
    """The last `most` characters, as `redact`."""
    last = text[-(most + MARGIN) :]
    return _masked(last, known, max(0, len(last) - most), len(last))[-most:]


def _masked(text: str, known: Iterable[str], begin: int, end: int) -> str:
    """Of a text what is from `begin` up to `end`; a secret that reaches in is masked."""
    kept = []
    for start, stop in _merged(secret_spans(text, known)):
        if start >= end:
            break
        if stop > begin:
            kept += [text[begin:start], MASK]
            begin = stop
    kept.append(text[begin:end])
    return "".join(kept)


def _merged(spans: Iterable[Span]) -> Iterator[Span]:
    """In order, those that overlap or touch as one."""
    last: Span | None = None
    for start, stop in sorted(spans):
        if last is not None and start <= last[1]:
            last = (last[0], max(last[1], stop))
            continue
        if last is not None:
            yield last
        last = (start, stop)
    if last is not None:
        yield last
