"""How words of others are put before people: bounded, defused, quoted. Pure markdown."""

import re
from datetime import UTC, datetime
from typing import Final

MOST_TEXT: Final = 60_000
"""GitHub takes 65,536 characters in a body; the rest is for what we add."""
MOST_TITLE: Final = 250

_CALLS: Final = re.compile(r"@(?=\w)|<(?=[/?!a-zA-Z])")
"""What calls people, and what begins a tag or a comment, which could hide all that follows."""
_CLOSES: Final = re.compile(
    r"\b(?:close[sd]?|fix(?:e[sd])?|resolve[sd]?)(?=:?\s+(?:#|GH-|https?:|[\w.-]+/[\w.-]+#))",
    re.IGNORECASE,
)
"""GitHub's words that close an issue when a pull request or a commit that says them is merged."""
_LINE_BREAK: Final = re.compile(r"\r\n?|\n")
"""What ends a line (CommonMark, "Line ending")."""
_NOTHING: Final = "\u200b"
"""A space without width: nobody sees it, and GitHub no longer reads the word as its own."""


def cut(text: str, most: int) -> str:
    """At most `most` characters, saying so when something is missing."""
    return text if len(text) <= most else text[: most - 15].rstrip() + " … (shortened)"


def defused(text: str) -> str:
    """Words that others wrote, without the power to call people, hide text or close issues, and
    with one kind of line break."""
    one_kind = _LINE_BREAK.sub("\n", text)
    calmed = _CALLS.sub(lambda found: found[0] + _NOTHING, one_kind)
    return _CLOSES.sub(lambda found: found[0][0] + _NOTHING + found[0][1:], calmed)


def in_one_line(text: str) -> str:
    """Words that others wrote, for a place that only one line fits into."""
    return " ".join(defused(text).split())


def said(text: str) -> str:
    """An agent's words behind a label: what is longer than a line must not swallow the rest."""
    is_one_line = _LINE_BREAK.search(text.strip()) is None
    return defused(text) if is_one_line else f"\n\n{quoted(text.strip())}"


def quoted(text: str) -> str:
    """An agent's words as a block quote: what they leave open, such as a fence, ends with it."""
    return "\n".join(f"> {line}".rstrip() for line in defused(text).splitlines())


def instant(at: datetime) -> str:
    """To the minute, for people anywhere."""
    return f"{at.astimezone(UTC):%Y-%m-%d %H:%M} UTC"
