"""What flows into a command's standard input, where the line itself says it."""

from __future__ import annotations

from tree_sitter import Node

from app.adapters.shell.texts import heredoc_body, runs_file
from app.adapters.shell.words import WordReader


def heredoc_substitutions(redirect: Node) -> list[Node]:
    """The `$(…)` in the text of an unquoted here-document: the shell runs them."""
    body = heredoc_body(redirect)
    if body is None:
        return []
    text, start = body.text or b"", body.start_byte
    return [
        child
        for child in body.named_children
        if child.type == "command_substitution"
        and not text[: child.start_byte - start].endswith(b"\\")
    ]


def herestring_text(redirect: Node, words: WordReader) -> str:
    named = [child for child in redirect.children if child.is_named]
    return words.text(named[-1]) if named else ""


def text_of_file(redirect: Node, words: WordReader) -> str | None:
    """What `< FILE` gives to a shell: the text that runs that file; None for `> FILE`."""
    target = redirect.child_by_field_name("destination")
    if target is None or all(child.type != "<" for child in redirect.children):
        return None
    if b"(" in (target.text or b""):  # its substitutions are read with the redirection
        return None
    return runs_file(words.text(target))
