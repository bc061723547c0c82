"""Parts of GitHub's markdown that nobody sees: titles of links, attributes of HTML, the words that
stand for a picture.

One paragraph at a time, from left to right, as GitHub reads it. What certainly is code is shown
and stays. Where the reading is not certain, nothing after it in the paragraph counts as code.
"""

import re
from collections.abc import Collection
from typing import Final

REMOVED: Final = "[hidden text removed]"
ALT: Final = "alt text: "
"""Before the words that stand for a picture: people see the picture."""

_MOST_LABEL: Final = 999
_MOST_DEPTH: Final = 32
"""Of parentheses in an address, as GitHub has it."""
_PARENTHESIS: Final = re.compile(r"\\.|[()]", re.DOTALL)
_BREAK: Final = re.compile(r"((?:\r\n|\r|\n)(?:[ \t>]*(?:\r\n|\r|\n))+)")
_S: Final = r"(?:[ \t\r]|\n[ \t>]*)"
"""Space in a tag or a link, in a quote as well."""
_VALUE: Final = r"\"[^\"]*\"|'[^']*'"
_TOKEN: Final = re.compile(
    r"\\[!-/:-@\[-`{-~]"
    r"|(?P<ticks>`+)"
    r"|(?P<link><[a-zA-Z][a-zA-Z0-9+.-]{1,31}:[^\s<>]*>|<[\w.+-]+@[\w.-]+>)"
    r"|(?P<tag></?[a-zA-Z])"
    r"|(?P<open>!?\[)"
    r"|(?P<close>\])"
)
_TAG: Final = re.compile(
    rf"<(?P<name>[a-zA-Z][a-zA-Z0-9-]*+)"
    rf"(?P<attributes>(?:{_S}++[a-zA-Z_:][\w.:-]*+(?:{_S}*+={_S}*+(?:[^\s\"'=<>`]+|{_VALUE}))?)*+)"
    rf"{_S}*+/?>"
)
_RAW_TAG: Final = re.compile(
    r"</?(?P<name>[a-zA-Z][^\s/>]*+)"
    r"(?P<attributes>(?:=\s*+\"[^\"]*+(?:\"|\Z)|=\s*+'[^']*+(?:'|\Z)|[^>])*+)(?:>|\Z)"
)
"""A tag as browsers read it, in what GitHub takes for a block of HTML."""
_ATTRIBUTE: Final = re.compile(rf"(?P<name>[^\s=>/]++)(?:\s*+=\s*+(?P<value>{_VALUE}|[^\s>]*+))?")
_ADDRESS: Final = re.compile(r"[^\s\"'<>]*")
_SIZE: Final = re.compile(r"[0-9]{1,5}(?:px|%)?|left|center|right|")
_KEPT: Final = {
    "href": _ADDRESS,
    "src": _ADDRESS,
    **dict.fromkeys(("align", "colspan", "height", "open", "rowspan", "start", "width"), _SIZE),
}
"""Attributes that may stay, and what they can say."""
_SPACE: Final = re.compile(rf"{_S}*+")
_ANY_SPACE: Final = re.compile(r"\s")
_IN_ANGLES: Final = re.compile(r"<[^<>\n]*+>")
_TITLE: Final = re.compile(
    rf"{_S}++(?:\"(?:\\.|[^\"\\])*+\"|'(?:\\.|[^'\\])*+'|\((?:\\.|[^()\\])*+\)){_S}*+\)", re.DOTALL
)
"""The title of a link and what ends its address."""
_HTML_LINE: Final = re.compile(
    r"^[ \t>*+-]*(?:[0-9]{1,9}[.)][ \t]+)?</?[a-zA-Z][a-zA-Z0-9-]*+(?:[\s/>]|\Z)", re.MULTILINE
)
_HOLDS_ALL: Final = re.compile(r"<(?:pre|script|style|textarea)\b", re.IGNORECASE)
"""HTML that goes on after an empty line."""
_BLOCK_BEGINS: Final = re.compile(r"\n[ \t>]*(?:[-+*#~`|<]|[0-9]{1,9}[.)])")


def shown(prose: str, labels: Collection[str]) -> str:
    """The text without these parts, each of which leaves a mark. `labels`: of the addresses that
    links may name, in small letters."""
    pieces, holds_all = list[str](), False
    for place, piece in enumerate(_BREAK.split(prose)):
        if place % 2:  # between two paragraphs
            pieces.append(piece)
            continue
        is_html = _HTML_LINE.search(piece) is not None
        holds_all = holds_all or (is_html and _HOLDS_ALL.search(piece) is not None)
        pieces.append(_Paragraph(piece, labels, is_raw=is_html or holds_all).shown())
    return "".join(pieces)


class _Paragraph:
    """One paragraph, read once."""

    def __init__(self, text: str, labels: Collection[str], *, is_raw: bool) -> None:
        self._text = text
        self._labels = labels
        self._is_raw = is_raw
        self._is_sure = not is_raw
        """Whether it is certain what is code."""
        self._pieces: list[str] = []
        self._open: list[tuple[int, int]] = []
        """Where the brackets that are open stand in `_pieces`, and where their words begin."""
        self._title: tuple[int, re.Match[str] | None] = (-1, None)
        """Where the last space was that an address ends at, and the title that follows it."""

    def shown(self) -> str:
        at = 0
        while (found := _TOKEN.search(self._text, at)) is not None:
            self._pieces.append(self._text[at : found.start()])
            at = self._read(found)
        return "".join([*self._pieces, self._text[at:]])

    def _read(self, found: re.Match[str]) -> int:
        """Take one token over; where the next may begin."""
        if found["ticks"]:
            return self._code(found)
        if found["tag"]:
            return self._tag(found)
        if found["close"]:
            return self._bracket_ends(found)
        if found["open"]:
            self._open.append((len(self._pieces), found.end()))
        self._pieces.append(found[0])
        return found.end()

    def _code(self, found: re.Match[str]) -> int:
        """A piece of code stays. It is certain within a line, and within a cell of a table."""
        ticks, end = found["ticks"], found.end()
        if self._is_sure:
            close = re.compile(rf"(?<!`){ticks}(?!`)").search(self._text, end)
            inner = "" if close is None else self._text[end : close.start()]
            self._is_sure = not any(each in inner for each in "\r\n|")
            if close is not None and self._is_sure:
                end = close.end()
        self._pieces.append(self._text[found.start() : end])
        return end

    def _tag(self, found: re.Match[str]) -> int:
        pattern = _RAW_TAG if self._is_raw else _TAG
        tag = pattern.match(self._text, found.start())
        if tag is None or (not self._is_raw and _BLOCK_BEGINS.search(tag[0])):
            self._pieces.append("<")
            return found.start() + 1
        self._is_sure = self._is_sure and "\n" not in tag[0]
        self._pieces.append(_without_hidden(tag))
        return tag.end()

    def _bracket_ends(self, found: re.Match[str]) -> int:
        """The end of the words of a link, or of those that stand for a picture."""
        if self._open:
            place, begin = self._open.pop()
            if self._pieces[place] == "![":
                return self._picture_ends(found, place, begin)
        self._pieces.append("]")
        return self._target(found.end())

    def _picture_ends(self, found: re.Match[str], place: int, begin: int) -> int:
        end = found.end()
        follows = self._text[end : end + 2]
        is_named = follows[:1] == "[" and follows != "[]"
        words = self._text[begin : found.start()].removeprefix(ALT)
        is_label = len(words) <= _MOST_LABEL and " ".join(words.split()).casefold() in self._labels
        is_its_name = is_label and not is_named and follows[:1] != "("
        shown = ""
        if is_its_name:
            shown = f"[{''.join(self._pieces[place + 1 :]).removeprefix(ALT)}]"
        is_picture = is_its_name or follows[:1] in ("(", "[")
        is_told = self._text.startswith(ALT, begin) or begin == found.start()
        if is_picture and not is_told:
            self._pieces[place] += ALT
        self._pieces.append("]" + shown)
        if is_its_name:
            return end + 2 * (follows == "[]")
        return self._target(end)

    def _target(self, at: int) -> int:
        """What follows the words of a link: its address stays, its title does not."""
        if not self._text.startswith("(", at):
            return at
        begin = _SPACE.match(self._text, at + 1)
        assert begin is not None, "it matches nothing as well"
        angles = _IN_ANGLES.match(self._text, begin.end())
        if angles is None:
            title = self._title_after(begin.end())
            address = self._text[begin.end() : title.start()] if title else ""
            if title is None or not _is_balanced(address):
                return at
        else:
            title = _TITLE.match(self._text, angles.end())
            address = REMOVED if any(map(str.isspace, angles[0])) else angles[0]
            if title is None and address != REMOVED:
                return at
        end = angles.end() if angles is not None and title is None else at
        self._pieces.append(f"({address}" + (f"){REMOVED}" if title else ""))
        end = title.end() if title else end
        self._is_sure = self._is_sure and not any(each in self._text[at:end] for each in "`<\n")
        return end

    def _title_after(self, begin: int) -> re.Match[str] | None:
        """The title after the address that begins there and ends at the next space."""
        if begin > self._title[0]:
            space = _ANY_SPACE.search(self._text, begin)
            end = len(self._text) if space is None else space.start()
            self._title = end, _TITLE.match(self._text, end)
        return self._title[1]


def _is_balanced(address: str) -> bool:
    depth = 0
    for found in _PARENTHESIS.finditer(address):
        depth += {"(": 1, ")": -1}.get(found[0], 0)
        if not 0 <= depth <= _MOST_DEPTH:
            return False
    return depth == 0


def _without_hidden(tag: re.Match[str]) -> str:
    """A tag with the attributes that cannot hold words, and with the one that stands for a
    picture."""
    kept, is_changed = list[str](), False
    begin, end = tag.span("attributes")
    for each in _ATTRIBUTE.finditer(tag[0], begin - tag.start(), end - tag.start()):
        value = each["value"] or ""
        value = value[1:-1] if value[:1] in ("'", '"') and value[1:].endswith(value[0]) else value
        name = each["name"].casefold()
        if name == "alt" and value:
            is_changed = is_changed or not value.startswith(ALT)
            words = value.removeprefix(ALT).replace('"', "'")
            kept.append(f'alt="{ALT}{words}"')
        elif (name, value) == ("alt", "") or (name in _KEPT and _KEPT[name].fullmatch(value)):
            kept.append(each[0])
        else:
            kept.append(REMOVED)
            is_changed = True
    if not is_changed:
        return tag[0]
    words = [each for each in kept if each != REMOVED]
    marks = [REMOVED] if len(words) < len(kept) else []
    return " ".join([tag[0][: begin - tag.start()], *words, *marks]) + ">"
