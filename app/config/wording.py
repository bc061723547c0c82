"""How values and near misses are written in messages for people: short, and safe on one line."""

import difflib
import json
from collections.abc import Iterable
from typing import Final

_MAX_SHOWN_CHARACTERS: Final = 60


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
    """` (did you mean …?)` with the nearest known word, else all known words, if there are any."""
    words = list(known)
    if near := difflib.get_close_matches(word, words, n=1):
        return f" (did you mean {near[0]}?)"
    return f" (known: {', '.join(words)})" if words else ""


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
