"""How words of others are put before people: bounded, defused, quoted. Pure markdown."""

import re
from collections.abc import Sequence
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
_TICKS: Final = re.compile("`+")
_NO_TICK: Final = "'"
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


def quoted(text: str) -> str:
    """An agent's words as a block quote: what they leave open, such as a fence, ends with it."""
    return "\n".join(f"> {line}".rstrip() for line in defused(text).splitlines())


def listed(each: Sequence[str]) -> str:
    """`a`, `a and b`, `a, b and c`."""
    *others, last = each
    return f"{', '.join(others)} and {last}" if others else last


def code(text: str) -> str:
    """Words that others wrote, as code in a line."""
    return f"`{in_one_line(text).replace('`', _NO_TICK)}`"


def fenced(text: str) -> str:
    """What a program printed, as a block of code that nothing in it can end."""
    longest = max(map(len, _TICKS.findall(text)), default=0)
    fence = "`" * max(3, longest + 1)
    return f"{fence}text\n{defused(text)}\n{fence}"


def folded(title: str, content: str) -> str:
    """What is read only by who opens it; empty: there is nothing."""
    return f"<details><summary>{title}</summary>\n\n{content}\n\n</details>" if content else ""


def instant(at: datetime) -> str:
    """To the minute, for people anywhere."""
    return f"{at.astimezone(UTC):%Y-%m-%d %H:%M} UTC"
