"""What people wrote as people see it: text that GitHub does not show must not steer a model.

Hidden parts are taken out and leave a mark, so that model and people know; the words that stand
for a picture stay, and are called that (`hidden_parts`). What stands in a fenced
code block is shown on GitHub and stays. Wherever GitHub's markdown leaves room for doubt, a part
counts as hidden. Letters that only look alike are left alone.
"""

import re
import unicodedata
from collections.abc import Iterator
from typing import Final

from app.core.text import hidden_parts
from app.core.text.hidden_parts import REMOVED

TURNED: Final = "[text direction changed]"
"""In the place of a character that makes people read text in another order than it has."""
FOOTNOTE: Final = "[hidden footnote]"

_MOST_SILENT: Final = 3
"""Invisible characters in a row that carry no message: joiners of letters, selectors of emoji."""
_BLANK: Final = (
    (0x034F, 0x034F), (0x115F, 0x1160), (0x17B4, 0x17B5), (0x180B, 0x180F), (0x2065, 0x2065),
    (0x3164, 0x3164), (0xFE00, 0xFE0F), (0xFFA0, 0xFFA0), (0xE0000, 0xE0FFF),
)  # fmt: skip
"""Ranges of characters that nobody sees, besides Unicode's format and control characters."""
_PREPENDED: Final = frozenset("\u0600\u0601\u0602\u0603\u0604\u0605\u06dd\u070f\u0890\u0891\u08e2")
"""Format characters that are seen."""
_TURNING: Final = frozenset("\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069")
_SEEN_CONTROLS: Final = frozenset("\n\r\t")

_LINE: Final = re.compile(r"[^\r\n]*(?:\r\n|\r|\n)|[^\r\n]+")
_FENCE: Final = re.compile(r"(`{3,})[^`\r\n]*[\r\n]*|(~{3,})[^\r\n]*[\r\n]*")
"""A line that opens a code block, and whatever stands around it: it begins in the first column."""
_HTML: Final = re.compile(r"[ \t]*<[a-zA-Z/!?]")
"""A line that may begin raw HTML, in which a fence is none."""

_COMMENT: Final = re.compile(
    r"<!--.*?(?:-->|\Z)|<\?.*?(?:\?>|\Z)|<!\[CDATA\[.*?(?:\]\]>|\Z)|<![a-zA-Z][^>]*(?:>|\Z)",
    re.DOTALL,
)
_DEFINITION: Final = re.compile(
    r"^[ \t>*+-]*(?:[0-9]{1,9}[.)][ \t]+)?\[(?P<label>[^\[\]^][^\[\]]{0,998})\]:[ \t]*\n?[ \t>]*"
    r"(?P<address><[^<>\n]*>|[^\s<]\S*)"
    r"(?P<title>[ \t]*\n?[ \t>]*(?:\"[^\"]*\"|'[^']*'|\([^()]*\)))?[ \t]*$",
    re.MULTILINE,
)
"""`[label]: address "title"`, which GitHub does not show: `[//]: # (a note)` is a known trick."""
_FOOTNOTE: Final = re.compile(r"^[ \t>]*(\[\^[^\[\]\s]{1,100}\]):", re.MULTILINE)


def plain(text: str) -> str:
    """Text that GitHub shows as it is, such as a title, without characters that nobody sees."""
    return "".join(_seen(text))


def markdown(text: str) -> str:
    """Text that GitHub renders, without what it does not show."""
    return plain("".join(part if is_code else _shown(part) for part, is_code in _parts(text)))


def _parts(text: str) -> Iterator[tuple[str, bool]]:
    """The text in pieces, and whether each is certainly a code block."""
    prose, code, fence, is_html = "", "", "", False
    for line in _LINE.findall(text):
        opening = _FENCE.fullmatch(line)
        if fence:
            code += line
            if _closes(line, fence):
                yield code, True
                code, fence = "", ""
        elif opening is not None and not is_html:
            yield prose, False
            prose, code, fence = "", line, opening[1] or opening[2]
        else:
            prose += line
            is_html = is_html or _HTML.match(line) is not None
    yield prose, False
    yield code, True


def _closes(line: str, fence: str) -> bool:
    bare = line.rstrip("\r\n \t")
    inner = bare.lstrip(" ")
    is_near = len(bare) - len(inner) <= 3
    return is_near and len(inner) >= len(fence) and set(inner) == {fence[0]}


def _shown(prose: str) -> str:
    prose = _COMMENT.sub(REMOVED, prose)
    words = " ".join(prose.split()).casefold()
    prose = _DEFINITION.sub(lambda found: _definition(found, words), prose)
    prose = _FOOTNOTE.sub(lambda found: _footnote(found, words), prose)
    return hidden_parts.shown(prose, {_label(each) for each in _DEFINITION.finditer(prose)})


def _definition(found: re.Match[str], words: str) -> str:
    """An address that a link of the text uses is not hidden; a title is."""
    is_used = words.count(f"[{_label(found)}]") > 1
    is_address = found["title"] is None and not any(map(str.isspace, found["address"]))
    return found[0] if is_used and is_address else REMOVED


def _label(definition: re.Match[str]) -> str:
    return " ".join(definition["label"].split()).casefold()


def _footnote(found: re.Match[str], words: str) -> str:
    """GitHub shows a footnote that something refers to."""
    return found[0] if words.count(found[1].casefold()) > 1 else FOOTNOTE


def _seen(text: str) -> Iterator[str]:
    unseen = ""
    for character in text:
        if _is_seen(character):
            yield _mark(unseen)
            unseen = ""
            yield character
        elif character in _TURNING:
            yield _mark(unseen) + TURNED
            unseen = ""
        elif character in "\u2028\u2029":
            yield _mark(unseen) + "\n"
            unseen = ""
        else:
            unseen += character
    yield _mark(unseen)


def _mark(unseen: str) -> str:
    """Tag characters are letters that nobody sees, however few."""
    is_message = len(unseen) > _MOST_SILENT or any(ord(each) >= 0xE0000 for each in unseen)
    return REMOVED if is_message else ""


def _is_seen(character: str) -> bool:
    if character in _SEEN_CONTROLS or character in _PREPENDED:
        return True
    code = ord(character)
    if any(first <= code <= last for first, last in _BLANK):
        return False
    return unicodedata.category(character) not in ("Cf", "Cc", "Zl", "Zp", "Cs")
