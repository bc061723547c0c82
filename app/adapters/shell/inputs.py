"""What flows into a command's standard input, where the line itself says it."""

from __future__ import annotations

import re
from typing import Final

from tree_sitter import Node

from app.adapters.shell.nodes import decoded
from app.adapters.shell.words import WordReader

_PRINTERS: Final = frozenset({"echo", "printf"})
_PRINTER_OPTION: Final = re.compile("-[neE]+")


def heredoc_text(redirect: Node) -> str:
    body = _heredoc_body(redirect)
    return "" if body is None else decoded(body)


def heredoc_substitutions(redirect: Node) -> list[Node]:
    """The `$(…)` in the text of an unquoted here-document: the shell runs them."""
    body = _heredoc_body(redirect)
    if body is None:
        return []
    text, start = body.text or b"", body.start_byte
    return [
        child
        for child in body.named_children
        if child.type == "command_substitution"
        and not text[: child.start_byte - start].endswith(b"\\")
    ]


def _heredoc_body(redirect: Node) -> Node | None:
    return next((c for c in redirect.children if c.type == "heredoc_body"), None)


def herestring_text(redirect: Node, words: WordReader) -> str:
    named = [child for child in redirect.children if child.is_named]
    return words.text(named[-1]) if named else ""


def printed_text(node: Node, words: WordReader) -> str | None:
    """The text that `echo …`, `printf …` or a fed `cat` writes, as far as it is literal."""
    if node.type == "redirected_statement":
        redirects = node.children_by_field_name("redirect")
        body = node.child_by_field_name("body")
        if len(redirects) == 1 and redirects[0].type == "heredoc_redirect" and body is not None:
            return heredoc_text(redirects[0]) if writes_its_input(body) else None
        return None
    if node.type != "command":
        return None
    name = node.child_by_field_name("name")
    if name is None or decoded(name) not in _PRINTERS:
        return None
    waiting = words.substitutions
    words.substitutions = []
    texts = [words.text(child) for child in node.children_by_field_name("argument")]
    words.substitutions = waiting
    return " ".join(t for t in texts if not _PRINTER_OPTION.fullmatch(t)).replace("\\n", "\n")


def writes_its_input(node: Node) -> bool:
    return (node.text or b"").split()[:1] == [b"cat"]
