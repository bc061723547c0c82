"""The lines of a comment as GitHub shows them (`ports.VisibleLines`)."""

import re
from collections import Counter
from functools import cache, lru_cache
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from markdown_it import MarkdownIt
    from markdown_it.token import Token

SOMETHING = "\N{OBJECT REPLACEMENT CHARACTER}"
"""Stands for a piece of a line that is shown and is no plain text: code, a picture, emphasis."""
MOST_KEPT: Final = 8
"""Comments whose lines are remembered: one is asked about several times in a row."""
_NOT_ONES_OWN: Final = frozenset(
    ("blockquote", "cite", "code", "kbd", "listing", "plaintext", "pre", "q", "samp", "tt", "xmp")
)
"""HTML elements that hold quotes and code."""
_HIDDEN: Final = "<!--"
_TAG: Final = re.compile(
    r"<!--(?:-?>|.*?(?P<shown>-->|--!>|\Z))"
    r"|<(?P<end>/?)(?P<name>[a-z][a-z0-9]*)(?:\"[^\"]*\"|'[^']*'|[^\"'>])*",
    re.IGNORECASE | re.DOTALL,
)


@lru_cache(maxsize=MOST_KEPT)
def visible_lines(body: str) -> tuple[str, ...]:
    """Lines of the paragraphs that are the author's own words: no quotes, code, lists, headings,
    nor what a hidden comment holds."""
    lines: list[str] = []
    is_words, html = False, _Html()
    for token in _parser().parse(body):
        if token.type == "html_block":
            html.read(token.content)
        elif token.type == "inline":
            text = _text(token, html)
            lines += text.split("\n") if is_words else ()
        elif token.level == 0:
            # A line of dashes below a paragraph makes a heading of it; nobody meant that.
            is_heading = token.type == "heading_open" and token.markup in "-="
            is_words = is_heading or token.type == "paragraph_open"
    return tuple(lines)


@cache
def _parser() -> "MarkdownIt":
    # Imported at the first comment: starting up need not wait for it.
    from markdown_it import MarkdownIt

    parser = MarkdownIt("commonmark").enable(["table", "strikethrough"])
    parser.disable("text_join")  # it hides what was escaped
    parser.parse("its rules are put together at the first text, and threads share them")
    return parser


class _Html:
    """The HTML elements that hold quotes and code, and are open at one place of a comment."""

    def __init__(self) -> None:
        self._open = Counter[str]()

    def read(self, html: str) -> None:
        """Go on past a piece of HTML. One that is left open holds all that follows."""
        for tag in _TAG.finditer(html):
            name = (tag["name"] or _HIDDEN).casefold()
            if name == _HIDDEN:
                self._open[name] += tag["shown"] == ""
            elif name in _NOT_ONES_OWN:
                self._open[name] = max(self._open[name] + (-1 if tag["end"] else 1), 0)

    def is_open(self) -> bool:
        return any(self._open.values())


def _text(inline: "Token", html: _Html) -> str:
    return "".join(_piece(child, html) for child in inline.children or ())


def _piece(token: "Token", html: _Html) -> str:
    match token.type:
        case "text":
            return SOMETHING if html.is_open() else token.content
        case "text_special" if token.info == "escape" and token.content != "/":
            return SOMETHING if html.is_open() else token.content
        case "softbreak" | "hardbreak":
            return "\n"
        case "html_inline":
            html.read(token.content)
            return "" if token.content.startswith(_HIDDEN) else SOMETHING
        case _:
            return SOMETHING
