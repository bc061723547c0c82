"""YAML text → a tree that knows the place of everything, and every mistake of the YAML itself.

Plain words are read as YAML 1.2 reads them: only `true` and `false` are booleans (`off` is a
word), and a number is a plain decimal number (`012` and `1:30` are words). Aliases and tags are
refused, so a small file cannot become a large value; size, depth and nodes are bounded.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Final, Protocol, TypeAlias

import yaml
from yaml.events import (
    AliasEvent,
    Event,
    MappingEndEvent,
    MappingStartEvent,
    ScalarEvent,
    SequenceEndEvent,
    SequenceStartEvent,
)

from app.config.wording import dotted, shown
from app.config.yamlwords import people_words

MAX_FILE_BYTES: Final = 256 * 1024
MAX_DEPTH: Final = 16
MAX_NODES: Final = 10_000
MAX_DIGITS: Final = 40
"""Of a whole number: far more than any range, and short enough for a message."""

Path: TypeAlias = tuple[str | int, ...]
"""Keys and list positions from the root of a document to one of its values."""

ScalarValue: TypeAlias = bool | int | float | str | None


class _HasPlace(Protocol):
    """PyYAML's mark, counting from 0."""

    line: int
    column: int


@dataclass(frozen=True, slots=True, order=True)
class Place:
    """A place in a text; lines and columns count from 1."""

    line: int
    column: int


START: Final = Place(1, 1)


@dataclass(frozen=True, slots=True)
class Scalar:
    place: Place
    value: ScalarValue


@dataclass(frozen=True, slots=True)
class Listing:
    place: Place
    items: "tuple[Node, ...]"


@dataclass(frozen=True, slots=True)
class Entry:
    """One `key: value` of a table; the key has a place of its own."""

    key_place: Place
    value: "Node"


@dataclass(frozen=True, slots=True)
class Table:
    place: Place
    entries: "MappingProxyType[str, Entry]"


Node: TypeAlias = Scalar | Listing | Table


@dataclass(frozen=True, slots=True)
class Mistake:
    """One mistake, with the path it concerns, so that a reader can tell whose mistake it is."""

    path: Path
    place: Place
    message: str


@dataclass(frozen=True, slots=True)
class Document:
    """A parsed text. Without a root it is empty, or so broken that nothing of it can be used."""

    root: Node | None = None
    mistakes: tuple[Mistake, ...] = field(default=())

    def plain(self) -> object:
        """The document as plain Python values; an empty one is None."""
        return None if self.root is None else _plain(self.root)

    def place(self, path: Path, *, of_key: bool = False) -> Place:
        """Where the value (or its key) stands; the nearest place on the way if there is none."""
        if self.root is None:
            return START
        node, key_place = self.root, None
        for part in path:
            match node:
                case Table(entries=entries) if part in entries:
                    entry = entries[str(part)]
                    node, key_place = entry.value, entry.key_place
                case Listing(items=items) if isinstance(part, int) and part < len(items):
                    node, key_place = items[part], None
                case _:
                    return node.place
        return key_place if of_key and key_place else node.place


def decode(content: str | bytes) -> str | Mistake:
    """The text of a file, or why it cannot be read as one."""
    try:
        data = content if isinstance(content, bytes) else content.encode()
        if len(data) > MAX_FILE_BYTES:
            return Mistake((), START, f"larger than {MAX_FILE_BYTES // 1024} kB")
        return data.decode("utf-8-sig")
    except UnicodeEncodeError as error:
        return Mistake((), place_in(error.object, error.start), "not UTF-8 text")
    except UnicodeDecodeError as error:
        before = error.object[: error.start].decode()
        return Mistake((), place_in(before, len(before)), "not UTF-8 text")


def place_in(text: str, index: int) -> Place:
    """The place of the character at `index`, with YAML's idea of a line break."""
    lines = _LINE_BREAK.split(text[:index])
    return Place(len(lines), len(lines[-1]) + 1)


def read_document(content: str | bytes) -> Document:
    """The tree of a file's content."""
    text = decode(content)
    return Document(None, (text,)) if isinstance(text, Mistake) else parse(text)


def parse(text: str) -> Document:
    """The tree of one YAML document and its mistakes; never raises for what a file contains."""
    builder = _Builder()
    try:
        root = builder.document(iter(yaml.parse(text, Loader=yaml.SafeLoader)))
    except yaml.reader.ReaderError as error:
        mistake = Mistake((), place_in(text, error.position), "character not allowed in YAML")
    except yaml.MarkedYAMLError as error:
        line, column, words = people_words(error, _LINE_BREAK.split(text))
        mistake = Mistake((), Place(line + 1, column + 1), words)
    except _TooLarge as error:
        mistake = error.mistake
    else:
        return Document(root, tuple(builder.mistakes))
    return Document(None, (*builder.mistakes, mistake))


class _TooLarge(Exception):
    """The document passes a bound; nothing more of it is read."""

    def __init__(self, mistake: Mistake) -> None:
        super().__init__(mistake.message)
        self.mistake = mistake


class _Builder:
    """Makes the tree from the parser's events, which come lazily, so a bound stops the parser."""

    def __init__(self) -> None:
        self.mistakes: list[Mistake] = []
        self._nodes = 0

    def document(self, events: Iterator[Event]) -> Node | None:
        """The single document of the stream; None when the stream is empty."""
        root: Node | None = None
        documents = 0
        for event in events:
            if isinstance(event, yaml.DocumentStartEvent):
                documents += 1
                if documents > 1:
                    self._wrong((), event, "only one YAML document in a file")
                    return root
            elif isinstance(event, yaml.NodeEvent):
                root = self._node(event, events, ())
        return root

    def _node(self, event: Event, events: Iterator[Event], path: Path) -> Node:
        self._nodes += 1
        place = _place(event.start_mark)
        if self._nodes > MAX_NODES:
            raise _TooLarge(Mistake(path, place, f"more than {MAX_NODES} values in one file"))
        if len(path) > MAX_DEPTH:
            raise _TooLarge(Mistake(path, place, f"nested deeper than {MAX_DEPTH} levels"))
        if isinstance(event, AliasEvent):
            self._wrong(path, event, "aliases are not supported: write the value out")
            return Scalar(place, None)
        if getattr(event, "tag", None) is not None:
            self._wrong(path, event, "tags are not supported: leave the !… out")
        if isinstance(event, MappingStartEvent):
            return self._table(place, events, path)
        if isinstance(event, SequenceStartEvent):
            return self._listing(place, events, path)
        assert isinstance(event, ScalarEvent)
        return Scalar(place, self._scalar(event, path))

    def _table(self, place: Place, events: Iterator[Event], path: Path) -> Table:
        entries: dict[str, Entry] = {}
        for key_event in events:
            if isinstance(key_event, MappingEndEvent):
                break
            key_node = self._node(key_event, events, (*path, "?"))
            key = self._key(key_node, key_event, path)
            inner = (*path, key) if key is not None else path
            value = self._node(next(events), events, inner)
            if key is None:
                continue
            if key in entries:
                first = entries[key].key_place.line
                self._wrong(inner, key_event, f"given twice, first in line {first}")
            else:
                entries[key] = Entry(key_node.place, value)
        return Table(place, MappingProxyType(entries))

    def _listing(self, place: Place, events: Iterator[Event], path: Path) -> Listing:
        items: list[Node] = []
        for event in events:
            if isinstance(event, SequenceEndEvent):
                break
            items.append(self._node(event, events, (*path, len(items))))
        return Listing(place, tuple(items))

    def _key(self, node: Node, event: Event, path: Path) -> str | None:
        if isinstance(node, Scalar) and isinstance(node.value, str):
            return node.value
        what = shown(node.value) if isinstance(node, Scalar) else "a list or a mapping"
        if not isinstance(event, AliasEvent):  # already said
            message = f"a key must be text, not {what}: write it in quotes"
            self.mistakes.append(Mistake((*path, "?"), _place(event.start_mark), message))
        return None

    def _scalar(self, event: ScalarEvent, path: Path) -> ScalarValue:
        if event.style is None and len(event.value) > MAX_DIGITS and _WHOLE.fullmatch(event.value):
            self._wrong(path, event, f"a whole number has at most {MAX_DIGITS} digits")
            return None
        value = plain_scalar(event.value) if event.style is None else str(event.value)
        if isinstance(value, str) and _CONTROL.search(value):
            self._wrong(path, event, "control characters are not allowed in a text")
            return _CONTROL.sub("\N{REPLACEMENT CHARACTER}", value)
        return value

    def _wrong(self, path: Path, event: Event, message: str) -> None:
        where = f"{dotted(path)}: " if path else ""
        self.mistakes.append(Mistake(path, _place(event.start_mark), f"{where}{message}"))


def plain_scalar(text: str) -> ScalarValue:
    """What an unquoted word means."""
    if text in _NULLS:
        return None
    if text in _BOOLEANS:
        return _BOOLEANS[text]
    if _WHOLE.fullmatch(text):
        return int(text)
    if _NUMBER.fullmatch(text):
        return float(text.lower().replace(".inf", "inf").replace(".nan", "nan"))
    return text


def _plain(node: Node) -> object:
    match node:
        case Scalar(value=value):
            return value
        case Listing(items=items):
            return [_plain(item) for item in items]
        case Table(entries=entries):
            return {key: _plain(entry.value) for key, entry in entries.items()}


def _place(mark: _HasPlace | None) -> Place:
    return START if mark is None else Place(mark.line + 1, mark.column + 1)


_NULLS: Final = frozenset({"", "~", "null", "Null", "NULL"})
_BOOLEANS: Final = MappingProxyType(
    {word: word.lower() == "true" for word in ("true", "True", "TRUE", "false", "False", "FALSE")}
)
_WHOLE: Final = re.compile(r"[-+]?(0|[1-9][0-9]*)")
_NUMBER: Final = re.compile(
    r"[-+]?((0|[1-9][0-9]*)(\.[0-9]*)?|\.[0-9]+)([eE][-+]?[0-9]+)?"
    r"|[-+]?\.(inf|Inf|INF)|\.(nan|NaN|NAN)"
)
_LINE_BREAK: Final = re.compile("\r\n|[\n\r\x85\u2028\u2029]")
_CONTROL: Final = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\ud800-\udfff]")
