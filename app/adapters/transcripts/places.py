"""Where in a JSON document a value stands, found only when there is something to say about it."""

from __future__ import annotations

import json
import re
from typing import Final

PathTo = tuple[str | int, ...]
"""Keys and indices from the outermost value: `("trajectory", 3)`."""

_SPACE: Final = re.compile(r"[ \t\r\n]*")
_DECODER: Final = json.JSONDecoder()


def line_of(text: str, path: PathTo) -> int:
    """The line, from 1, on which the value begins; of its nearest parent if there is none."""
    position = _after_space(text, 0)
    for step in path:
        inner = _inside(text, position, step)
        if inner is None:
            break
        position = inner
    return text.count("\n", 0, position) + 1


def written(path: PathTo) -> str:
    """`trajectory[3].action`, for people."""
    text = ""
    for step in path:
        text += f"[{step}]" if isinstance(step, int) else f"{'.' * bool(text)}{step}"
    return text


def _inside(text: str, position: int, step: str | int) -> int | None:
    """Where the member or item `step` of the value at `position` begins."""
    opened = text[position]
    if opened not in "{[":
        return None
    index = 0
    while True:
        position = _after_space(text, position + 1)
        if text[position] in "}]":
            return None
        name: str | int = index
        if opened == "{":
            name, position = _DECODER.raw_decode(text, position)
            position = _after_space(text, _after_space(text, position) + 1)
        if name == step:
            return position
        _, position = _DECODER.raw_decode(text, position)
        position = _after_space(text, position)
        index += 1
        if text[position] != ",":
            return None


def _after_space(text: str, position: int) -> int:
    matched = _SPACE.match(text, position)
    assert matched is not None
    return matched.end()
