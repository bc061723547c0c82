"""A command line as the shell reads it: without comments, with one blank where there are several.

Lines that a shell runs alike read alike, so an agent that repeats itself is recognised whatever it
writes behind its command.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

from tree_sitter import Node

from app.testruns.wordset import word_set

_WHOLE: Final = frozenset(
    {"ansi_c_string", "expansion", "heredoc_body", "raw_string", "string", "translated_string"}
)
"""Whose blanks are part of a word."""
_NEEDLESS_QUOTES: Final = re.compile(r"""(["'])([\w./:@%+,-]+)\1""")
_APART: Final = word_set("( ) { } && || | |& & ;;")
"""Words of their own, with blanks around them or without."""
_BEGIN: Final = word_set("( { && || | |& & ;; then do else elif if while until !")
"""Behind which a command may stand on the next line."""
_REDIRECT: Final = word_set("> >> < << <<- <<< &> &>> >& <& >|")


def canonical(root: Node) -> str:
    """The text of a tree that was read without an error."""
    source, offset = root.text or b"", root.start_byte
    words: list[str] = []
    end, last = offset, ";"
    is_apart = is_next_line = False
    for node in _tokens(root):
        gap = source[end - offset : node.start_byte - offset]
        end = node.end_byte
        is_apart |= bool(gap)
        is_next_line |= b"\n" in gap.replace(b"\\\n", b"")
        if node.type == "comment":
            continue
        token = _text(node)
        if (is_next_line or token == ";") and last not in _BEGIN and last != ";":
            words.append(";")
            last = ";"
        if token != ";":
            if last not in _REDIRECT and (is_apart or _stands_alone(token, last)):
                words.append(token)
            else:
                words[-1] += token
            last = token
        is_apart = is_next_line = False
    return " ".join(words[:-1] if last == ";" else words)


def _stands_alone(token: str, last: str) -> bool:
    is_redirect = token in _REDIRECT and not last.isdigit()
    return last == ";" or last in _APART or token in _APART or is_redirect


def _tokens(root: Node) -> Iterator[Node]:
    left = [root]
    while left:
        node = left.pop()
        if node.child_count and node.type not in _WHOLE:
            left.extend(reversed(node.children))
        else:
            yield node


def _text(node: Node) -> str:
    text = (node.text or b"").decode(errors="replace")
    bare = _NEEDLESS_QUOTES.fullmatch(text)
    return bare[2] if bare is not None else text
