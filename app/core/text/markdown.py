"""How words of others are put before people: bounded, harmless, quoted. Pure markdown."""

import re
from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Final

from app.core.text.harmless import defused

MOST_TEXT: Final = 60_000
"""GitHub takes 65,536 characters in a body; the rest is for what we add."""
MOST_TITLE: Final = 250

_TICKS: Final = re.compile("`+")
_NO_TICK: Final = "'"


def cut(text: str, most: int) -> str:
    """At most `most` characters, saying so when something is missing."""
    return text if len(text) <= most else text[: most - 15].rstrip() + " … (shortened)"


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
