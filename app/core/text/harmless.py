"""Words of others without power over who reads them: they call nobody, close no issue, hide
nothing, load nothing and lead to no other host.

A picture is a way out for an agent that has no network: whoever opens the page fetches its address.
"""

import re
from typing import Final

_NOTHING: Final = "\u200b"
"""A space without width: nobody sees it, and GitHub no longer reads the words as its own."""
_LINE_BREAK: Final = re.compile(r"\r\n?|\n")
"""What ends a line (CommonMark, "Line ending")."""
_ENTITIES: Final = re.compile(r"&(?:#x?[0-9a-f]{1,8}|[a-z][a-z0-9]{1,31});", re.IGNORECASE)
"""A character by its name, such as `&#64;`: it could be any of those that have power."""
_CALLS: Final = re.compile(r"[@\uff20\ufe6b](?=\w)")
"""What calls people."""
_MENTIONS: Final = re.compile(rf"(?<!\w){_CALLS.pattern}")
"""The same, and no address of mail."""
_TAGS: Final = re.compile(r"<(?=[/?!a-zA-Z])")
"""What begins a tag or a comment, which could hide all that follows."""
_CLOSES: Final = re.compile(
    r"\b(?:close[sd]?|fix(?:e[sd])?|resolve[sd]?)"
    r"(?=[\W_]{1,40}?(?:#\d|GH-\d|https?:|[\w.-]+/[\w.-]+#))",
    re.IGNORECASE,
)
"""GitHub's words that close an issue when a pull request or a commit that says them is merged; the
issue may stand in brackets or in bold."""
_HERE: Final = r"(?:https://github\.com/|\.{0,2}/?(?=[\w#]))[\w./#?=%~+-]*"
"""Where a link may lead: to GitHub, or within it."""
_LINKS: Final = re.compile(
    rf"!(?=\[)|\](?=\((?!{_HERE}\)))|\](?=:(?!\s*{_HERE}(?:\s|\Z)))"
    r"|(?:https?|ftp)\\?:\\?/\\?/(?!github\.com/)|www\\?\.(?=\w)",
    re.IGNORECASE,
)
"""What begins a picture, a link to another host, written out or by reference, and an address that
GitHub makes a link of (GFM, "Autolinks")."""
_DRAWINGS: Final = re.compile(
    r"(?P<fence>`{3,}|~{3,})[ \t]*(?:mermaid|geojson|topojson|stl|math)\b", re.I
)
"""Blocks that are drawn by a program in the reader's browser."""


def defused(text: str) -> str:
    """Words for a page of GitHub, with one kind of line break: what had power is shown as it was
    written."""
    words = _LINE_BREAK.sub("\n", text)
    for pattern in (_ENTITIES, _CALLS, _TAGS, _CLOSES, _LINKS):
        words = pattern.sub(_broken, words)
    return _DRAWINGS.sub(r"\g<fence>text", words)


def without_calls(text: str) -> str:
    """Words for a commit, which GitHub shows as they are, but for who is called and what is
    closed."""
    for pattern in (_MENTIONS, _CLOSES):
        text = pattern.sub(_broken, text)
    return text


def _broken(found: re.Match[str]) -> str:
    return found[0][0] + _NOTHING + found[0][1:]
