"""Source text of any language: what stands outside of its strings and comments."""

from __future__ import annotations

import re
from bisect import bisect_right
from typing import Final

_LITERAL: Final = re.compile(
    r'''"""(?:\\.|[^\\])*?"""|'{3}(?:\\.|[^\\])*?'{3}'''
    r"""|"(?:\\.|[^"\\\n])*"|'(?:\\.|[^'\\\n])*'|(?:^|(?<=\s))(?:\#|//)[^\n]*""",
    re.DOTALL | re.MULTILINE,
)


def outside_of_literals(pattern: re.Pattern[str], code: str) -> list[re.Match[str]]:
    """The matches of `pattern` that begin outside of a string and of a comment of `code`."""
    found = list(pattern.finditer(code))
    if not found:
        return []
    literals = [match.span() for match in _LITERAL.finditer(code)]
    ends = [end for _, end in literals]
    outside: list[re.Match[str]] = []
    for match in found:
        next_literal = bisect_right(ends, match.start())
        if next_literal == len(literals) or match.start() < literals[next_literal][0]:
            outside.append(match)
    return outside
