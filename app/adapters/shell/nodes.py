"""What the grammar's nodes mean where it groups them otherwise than bash does."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import replace
from typing import Final

import tree_sitter_bash
from tree_sitter import Language, Node, Parser

from app.adapters.shell.budget import MAX_NODES, MAX_READS, PIECE_BYTES
from app.adapters.shell.texts import decoded
from app.adapters.shell.words import WordReader
from app.testruns.shell_line import (
    HOLE,
    AndOr,
    Pipeline,
    Sequence,
    ShellNode,
    SimpleCommand,
    Subshell,
    children,
)
from app.testruns.wordset import word_set

_LANGUAGE: Final = Language(tree_sitter_bash.language())
_ESCAPE_AT_LINE_START: Final = re.compile(r"\n\\(?!\n)")

COMPARED: Final = word_set(
    """word number string raw_string concatenation simple_expansion expansion extglob_pattern regex
    ansi_c_string command_substitution arithmetic_expansion variable_name test_operator"""
)
"""Operands and operators of `[[ … ]]` and `(( … ))`."""
STATEMENT_GROUPS: Final = frozenset(
    {"program", "compound_statement", "do_group", "ERROR", "else_clause"}
)
"""Nodes that hold statements, one after the other."""


def parsed(text: str) -> tuple[Node, bool]:
    """The root of the tree of `text`, and whether that is all of it: of a text that the parser
    reads over and over again, the beginning is halved until it does not.

    A backslash that begins a line is moved one blank to the right: the grammar would take the line
    end before it into its word.
    """
    if "\n\\" in text:
        text = _ESCAPE_AT_LINE_START.sub("\n \\\\", text)
    encoded = text.encode(errors="replace")
    length = len(encoded)
    while (root := _within_reads(encoded[:length])) is None:
        length //= 2
    return root, length == len(encoded)


def _within_reads(text: bytes) -> Node | None:
    """The root of its tree; None once the parser has read MAX_READS pieces of it."""
    reads = 0

    def piece(offset: int, _: object) -> bytes:
        nonlocal reads
        reads += 1
        return text[offset : offset + PIECE_BYTES]

    try:
        tree = Parser(_LANGUAGE).parse(piece, progress_callback=lambda *_: reads > MAX_READS)
    except ValueError:  # what the parser raises where it was stopped
        return None
    return tree.root_node


def members_of(node: Node) -> list[tuple[bool, Node]]:
    """The members of a left-deep and-or list, left to right, each with its operator (`&&`: True).

    A redirection of the whole list belongs to its last member.
    """
    members: list[tuple[bool, Node]] = []
    while True:
        if node.type == "redirected_statement":
            body = node.child_by_field_name("body")
            if body is None or body.type != "list":
                break
            node = body
        if node.type != "list" or len(node.children) < 3:
            break
        operator = next((c.type for c in node.children if c.type in {"&&", "||"}), "&&")
        members.append((operator == "&&", node.children[-1]))
        node = node.children[0]
    members.append((True, node))
    return members[::-1]


def redirects_of_members(node: Node) -> dict[int, list[Node]]:
    """The redirections that `members_of` leaves out, by the identity of the member whose output
    they take: of `cd x && pytest > log || true` that of `pytest`."""
    found: dict[int, list[Node]] = {}
    taking: list[Node] = []
    while True:
        body = node.child_by_field_name("body") if node.type == "redirected_statement" else None
        if body is not None and body.type == "list":
            taking = node.children_by_field_name("redirect")
            node = body
        if node.type != "list" or len(node.children) < 3:
            return found
        if taking:
            found[node.children[-1].id] = taking
            taking = []
        node = node.children[0]


def stages_of(node: Node) -> list[Node]:
    return [child for child in node.children if child.is_named and child.type != "comment"]


def branches_of_case(node: Node) -> list[list[Node]]:
    """The statements of each `PATTERN) … ;;`."""
    items = [child for child in node.children if child.type == "case_item"]
    return [
        [c for i, c in enumerate(item.children) if item.field_name_for_child(i) != "value"]
        for item in items
    ]


def uses_variable(node: Node, name: str) -> bool:
    source = node.text or b""
    return f"${name}".encode() in source or f"{{{name}".encode() in source


def behind_heredoc(redirect: Node) -> list[Node]:
    """The operator and what stands behind `<<EOF` on its line."""
    behind: list[Node] = []
    for child in redirect.children:
        if child.type == "pipeline":
            behind += [c for c in child.children if c.type != "comment"]
        elif child.type in {"&&", "||"} or (
            child.is_named and behind and "heredoc" not in child.type
        ):
            behind.append(child)
    return behind


def writes_a_file(redirect: Node) -> bool:
    """`> f`, `>> f`, `&> f`, also behind `<<EOF`; not `2>&1`, nor a device."""
    if redirect.type == "heredoc_redirect":
        return any(map(writes_a_file, redirect.children))
    if redirect.type != "file_redirect":
        return False
    operators = {child.type for child in redirect.children}
    target = redirect.child_by_field_name("destination")
    is_device = target is not None and (target.text or b"").startswith(b"/dev/")
    return not is_device and not operators.isdisjoint({">", ">>", ">|", "&>", "&>>"})


def with_output_in_a_file(node: ShellNode) -> ShellNode:
    """The statement whose output a redirection takes, marked as writing a file."""
    match node:
        case SimpleCommand():
            return replace(node, writes=True)
        case Sequence(items=(*before, last)):
            return Sequence((*before, with_output_in_a_file(last)))
        case Pipeline(stages=(*before, last)):
            return Pipeline((*before, with_output_in_a_file(last)))
        case AndOr(first=first, rest=(*before, (operator, last))):
            return AndOr(first, (*before, (operator, with_output_in_a_file(last))))
        case Subshell(body=body):
            return replace(node, body=with_output_in_a_file(body))
        case _:
            return node


def hides_all_output(redirects: Iterable[Node]) -> bool:
    """`> FILE 2>&1`, `&> FILE`, `> FILE 2> FILE`, where a file may be `/dev/null`."""
    hidden: set[str] = set()
    for redirect in redirects:
        found = _TAKES_OUTPUT.fullmatch(decoded(redirect))
        if found is None or found["to"].startswith(_SEEN):
            continue
        if found["to"] == "&1":
            hidden |= {"2"} if "1" in hidden else set()
        else:
            takes_both = found["from"] == "&" or found["both"]
            hidden |= {"1", "2"} if takes_both else {found["from"] or "1"}
    return hidden == {"1", "2"}


_TAKES_OUTPUT: Final = re.compile(
    r"(?P<from>[12&]?)>{1,2}\|?(?P<both>&(?=[^\d-]))?\s*(?P<to>&1|[^&\s(].*)"
)
_SEEN: Final = ("/dev/stdout", "/dev/stderr", "/dev/tty", "/dev/fd", "/proc/")


def with_output_hidden(node: ShellNode) -> ShellNode:
    """The statement all of whose output redirections take, marked as silent."""
    match node:
        case SimpleCommand(starts=starts):
            inner = None if starts is None else with_output_hidden(starts)
            return replace(node, silent=True, starts=inner)
        case Sequence(items=items):
            return Sequence(tuple(map(with_output_hidden, items)))
        case AndOr(first=first, rest=(*before, (operator, last))):
            return AndOr(first, (*before, (operator, with_output_hidden(last))))
        case Subshell(body=body):
            return replace(node, body=with_output_hidden(body))
        case _:
            return node


_ARGUMENTS: Final = frozenset({f"{HOLE}@{HOLE}", f"{HOLE}*{HOLE}"})


def runs_its_arguments(body: ShellNode) -> bool:
    """Does this body of a function start what the function is given: `timeout 60 "$@"`?"""
    pending = [body]
    while pending:
        node = pending.pop()
        if isinstance(node, SimpleCommand) and node.words[0] in _ARGUMENTS:
            return True
        pending.extend(children(node))
    return False


_CHANGED_BY: Final = word_set(
    "postfix_expression unary_expression binary_expression for_statement unset_command"
)
_READERS: Final = word_set("read mapfile readarray getopts printf let")


def constant_variables(root: Node, words: WordReader) -> Iterator[tuple[str, str]]:
    """Variables that one statement sets, to literal text: they mean that text everywhere, with
    all that `+=` adds to it."""
    seen: dict[str, str | None] = {}
    added: list[tuple[int, str, str]] = []
    pending = [(root, root)]  # each with its parent, which the library would search from the root
    for _ in range(MAX_NODES):
        if not pending:
            break
        node, parent = pending.pop()
        if node.type == "variable_assignment" and parent.type != "command":
            name, value = node.child_by_field_name("name"), node.child_by_field_name("value")
            if name is not None:
                key = decoded(name)
                text = "" if value is None else words.text(value)
                if any(child.type == "+=" for child in node.children):
                    is_element = value is not None and value.type == "array"
                    added.append((node.start_byte, key, f" {text}" if is_element else text))
                else:
                    seen[key] = text if HOLE not in text and key not in seen else None
                words.substitutions.clear()
        elif node.type == "variable_name" and parent.type in _CHANGED_BY:
            seen[decoded(node)] = None
        elif node.type == "command_name" and decoded(node) in _READERS:
            seen.update(dict.fromkeys(map(decoded, parent.children)))
        pending.extend((child, node) for child in node.named_children)
    else:
        return iter(())  # too long to know all that changes them
    for _, key, text in sorted(added):
        before = seen.get(key)
        if before is not None:
            seen[key] = before + text if HOLE not in text else None
    return ((name, text) for name, text in seen.items() if text is not None)
