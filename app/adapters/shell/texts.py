"""Nodes as text: their source, here-documents, and what `echo`, `printf` and `cat` write."""

import re
import shlex
from collections.abc import Callable, Sequence
from typing import Final

from tree_sitter import Node

Arguments = Callable[[Node], Sequence[str]]
"""Reads the arguments of a command (`WordReader.arguments`)."""

_PRINTERS: Final = frozenset({"echo", "printf"})
_PRINTER_OPTION: Final = re.compile("-[neE]+")
_ESCAPES_OPTION: Final = re.compile("-n?e")
MAX_PRINTED: Final = 64 * 1024
_FORMAT: Final = re.compile(r"%[sb]")


def decoded(node: Node) -> str:
    return (node.text or b"").decode(errors="replace")


def heredoc_body(redirect: Node) -> Node | None:
    return next((c for c in redirect.children if c.type == "heredoc_body"), None)


def heredoc_text(redirect: Node) -> str:
    body = heredoc_body(redirect)
    return "" if body is None else decoded(body)


def writes_its_input(node: Node) -> bool:
    return (node.text or b"").split()[:1] == [b"cat"]


def runs_file(path: str) -> str:
    """Text with which a shell runs the commands in a file."""
    return f". {shlex.quote(path)}"


def commands_printed(node: Node, arguments: Arguments) -> str | None:
    """What a shell reads from the output of `node`: as `printed_text`, and what `cat FILE` prints
    stands as the command that runs that file."""
    if node.type == "command" and writes_its_input(node):
        return "\n".join(map(runs_file, arguments(node))) or None
    return printed_text(node, arguments)


def printed_text(node: Node, arguments: Arguments) -> str | None:
    """The text that `echo …`, `printf …` or `cat <<EOF` writes, as far as it is literal."""
    if node.type == "redirected_statement":
        redirects = node.children_by_field_name("redirect")
        body = node.child_by_field_name("body")
        if len(redirects) == 1 and redirects[0].type == "heredoc_redirect" and body is not None:
            return heredoc_text(redirects[0]) if writes_its_input(body) else None
        return None
    name = node.child_by_field_name("name") if node.type == "command" else None
    if name is None or decoded(name) not in _PRINTERS:
        return None
    given = arguments(node)
    texts = [text for text in given if not _PRINTER_OPTION.fullmatch(text)]
    if decoded(name) == "printf":
        return _formatted(texts).replace("\\n", "\n")
    has_escapes = any(map(_ESCAPES_OPTION.fullmatch, given))
    return " ".join(texts).replace("\\n", "\n") if has_escapes else " ".join(texts)


def _formatted(texts: list[str]) -> str:
    """`printf FORMAT …` for formats of plain text; a format is used again until all are printed."""
    if not texts:
        return ""
    layout, *values = texts
    places = len(_FORMAT.findall(layout))
    if not places:
        return layout
    rounds = [values[i : i + places] for i in range(0, max(len(values), 1), places)]
    if len(layout) * len(rounds) > MAX_PRINTED:
        return layout
    return "".join(_filled(layout, given) for given in rounds)


def _filled(layout: str, values: list[str]) -> str:
    remaining = iter(values)
    return _FORMAT.sub(lambda _: next(remaining, ""), layout)
