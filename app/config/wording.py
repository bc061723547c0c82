"""How values and near misses are written in messages for people: short, and safe on one line."""

import difflib
import json
import re
from collections.abc import Iterable, Set
from typing import Final

_MAX_SHOWN_CHARACTERS: Final = 60
_MOST_LISTED: Final = 40
_SECONDS_OF: Final = {
    **dict.fromkeys(("m", "min", "mins", "minute", "minutes"), 60),
    **dict.fromkeys(("h", "hr", "hrs", "hour", "hours"), 3_600),
    **dict.fromkeys(("d", "day", "days"), 86_400),
    **dict.fromkeys(("w", "week", "weeks"), 604_800),
}
_OTHER_UNITS: Final = ("", "s", "sec", "secs", "second", "seconds", "$", "usd")
_WITH_UNIT: Final = re.compile(
    r"\$?(?P<number>\d[\d_,]{0,15}(\.\d{1,9})?)(?P<unit> ?("
    + "|".join(re.escape(unit) for unit in (*_OTHER_UNITS, *_SECONDS_OF))
    + "))"
)


def shown(value: object) -> str:
    """A value of a configuration file as a person would name it."""
    match value:
        case None:
            return "nothing (null)"
        case bool():
            return "true" if value else "false"
        case int() | float():
            return str(value)
        case str():
            return f"text {quoted(value)}"
        case list() | tuple():
            return "a list"
        case _:
            return "a mapping"


def quoted(text: str) -> str:
    """A text in quotes, cut to what a message can bear."""
    cut = "…" if len(text) > _MAX_SHOWN_CHARACTERS else ""
    short = text[:_MAX_SHOWN_CHARACTERS] + cut
    return json.dumps(short, ensure_ascii=not short.isprintable())


def did_you_mean(word: str, known: Iterable[str]) -> str:
    """` (did you mean …?)` with the nearest known word, else all known words, if they are few."""
    words = sorted(known) if isinstance(known, Set) else list(known)
    if near := difflib.get_close_matches(word, words, n=1):
        return f" (did you mean {near[0]}?)"
    return f" (known: {', '.join(words)})" if 0 < len(words) <= _MOST_LISTED else ""


def as_number(value: object, *, is_whole: bool) -> str:
    """`: write 7200` for a text that says a number with its unit, as `2h` does; else nothing.
    Times are seconds here, money is in USD."""
    match = _WITH_UNIT.fullmatch(value.strip().lower()) if isinstance(value, str) else None
    if match is None:
        return ""
    number = float(match["number"].replace("_", "").replace(",", ""))
    amount = number * _SECONDS_OF.get(match["unit"].strip(), 1)
    return "" if is_whole and not amount.is_integer() else f": write {amount:.15g}"


def dotted(path: Iterable[str | int]) -> str:
    """A path in a document: `roles.bug-fix.setup[0]`."""
    text = ""
    for part in path:
        if isinstance(part, int):
            text += f"[{part}]"
        else:
            is_short = 0 < len(part) <= _MAX_SHOWN_CHARACTERS
            plain = is_short and part.isprintable() and " " not in part
            text += ("." if text else "") + (part if plain else quoted(part))
    return text
