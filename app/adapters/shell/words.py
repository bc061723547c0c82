"""From the nodes of a shell word to its text after quoting and expansion.

What only the running shell knows becomes a hole (see `app.testruns.shell_line.HOLE`); command and
process substitutions are handed back as nodes, for somebody else to read.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

from tree_sitter import Node

from app.adapters.shell.texts import decoded, printed_text
from app.testruns.shell_line import HOLE

MAX_EXPANDED: Final = 128 * 1024
"""Characters that known variables may add to one text; past it their values are not known."""
MAX_NESTED_OUTPUTS: Final = 4
"""`$(echo $(echo …))`: deeper ones are not known."""

_ALL_WORDS: Final = re.compile(rb"\[@\]|^\"\$@\"$")
_ESCAPE: Final = re.compile(r"\\(?:\n|(.))", re.DOTALL)
_ESCAPE_IN_DOUBLE_QUOTES: Final = re.compile(r'\\(?:\n|([$`"\\]))')
_ANSI_ESCAPES: Final = {"n": "\n", "t": "\t", "r": "\r", "a": "\a", "b": "\b", "e": "\x1b"}
_ARITHMETIC_NAMES: Final = re.compile(r"[A-Za-z_]\w*|\d+|\?")
_SUM: Final = re.compile(r"[\s\w$?|+(){}]*")
_LOOKS_UP: Final = frozenset(
    {"which", "type", "command", "whereis", "realpath", "readlink", "echo"}
)


@dataclass(slots=True)
class WordReader:
    """Reads words of one command line."""

    variables: Mapping[str, str]
    """What is known of variables: those with one literal value throughout the line."""
    substitutions: list[Node] = field(default_factory=list)
    """Nodes met inside words that start commands; the caller takes them out."""
    nesting: int = 0
    """Substitutions whose output is being read."""
    room: int = MAX_EXPANDED

    def split(self, node: Node) -> tuple[str, ...]:
        """The argument(s) that a word becomes: an unquoted variable is split at blanks, and
        `"${words[@]}"`, `"$@"` into their elements."""
        if (
            node.type == "string"
            and node.named_child_count == 1
            and _ALL_WORDS.search(node.text or b"")
        ):
            node = node.named_children[0]
        if node.type in {"simple_expansion", "expansion"}:
            name = _variable_name(node)
            known = self._known(name.removesuffix("[@]").removesuffix("[*]"))
            if known is not None:
                return tuple(known.split())
        text = self.text(node)
        if node.type == "command_substitution" and HOLE not in text:
            return tuple(text.split())
        return (text,)

    def text(self, node: Node) -> str:
        kind = node.type
        raw = decoded(node)
        match kind:
            case "word" | "extglob_pattern" | "regex" | "heredoc_start":
                return _ESCAPE.sub(r"\1", raw) if "\\" in raw else raw
            case "raw_string":
                return raw[1:-1]
            case "string" | "translated_string":
                return self._double_quoted(node)
            case "ansi_c_string":
                return _ESCAPE.sub(lambda m: _ANSI_ESCAPES.get(m[1] or "", m[1] or ""), raw[2:-1])
            case "command_name" | "concatenation":
                return "".join(self.text(child) for child in node.children)
            case "simple_expansion" | "expansion":
                return self._variable(node)
            case "array":
                return " ".join(self.text(child) for child in node.named_children)
            case "command_substitution":
                self.substitutions.append(node)
                return _looked_up(node) or self._output(node) or HOLE * 2
            case "process_substitution":
                self.substitutions.append(node)
                return HOLE * 2
            case "arithmetic_expansion":
                return _arithmetic(raw)
            case _:
                return raw

    def arguments(self, command: Node) -> list[str]:
        """Of a command; the substitutions among them are left to whoever reads the command
        itself."""
        waiting, self.substitutions = self.substitutions, []
        texts = [self.text(child) for child in command.children_by_field_name("argument")]
        self.substitutions = waiting
        return texts

    def _output(self, node: Node) -> str:
        """What `$(cat <<EOF …)`, `$(echo …)` give; '' where only running it tells."""
        inside = node.named_children
        if len(inside) != 1 or self.nesting >= MAX_NESTED_OUTPUTS:
            return ""
        self.nesting += 1
        text = printed_text(inside[0], self.arguments) or ""
        self.nesting -= 1
        return text.rstrip("\n")

    def _double_quoted(self, node: Node) -> str:
        """By offsets: the grammar counts blanks before an expansion as part of that expansion."""
        source = node.text or b""
        start = node.start_byte
        pieces: list[str] = []
        end = node.start_byte + source.find(b'"') + 1
        for child in node.children:
            if not child.is_named and child.type == '"':
                continue
            if child.type == "string_content":
                continue
            literal = source[end - start : child.start_byte - start]
            pieces.append(_unescaped(literal))
            blanks = len(child.text or b"") - len((child.text or b"").lstrip())
            pieces.append(decoded(child)[:blanks])
            pieces.append(self.text(child))
            end = child.end_byte
        closing = len(source) - (1 if source.endswith(b'"') else 0)
        pieces.append(_unescaped(source[end - start : max(closing, end - start)]))
        return "".join(pieces)

    def _known(self, name: str) -> str | None:
        value = self.variables.get(name)
        self.room -= len(value or "")
        return value if self.room >= 0 else None

    def _variable(self, node: Node) -> str:
        name = _variable_name(node)
        known = self._known(name)
        if known is not None:
            return known
        default = _default(node)
        if default is not None:
            return self.text(default)
        for child in node.children:
            if child.type == "command_substitution":
                self.substitutions.append(child)
        return f"{HOLE}{name}{HOLE}"


def positional(arguments: Sequence[str]) -> dict[str, str]:
    """The variables in which a shell finds its arguments: `$1`, `$2`, …, and `$@` for all."""
    if not arguments:
        return {}
    every = " ".join(arguments)
    return {"@": every, "*": every} | {str(i): word for i, word in enumerate(arguments, 1)}


def _unescaped(literal: bytes) -> str:
    text = literal.decode(errors="replace")
    return _ESCAPE_IN_DOUBLE_QUOTES.sub(r"\1", text) if "\\" in text else text


def _variable_name(node: Node) -> str:
    """`rc`, `?`, `PIPESTATUS[0]`; of `${x%.*}` only that it is no plain variable."""
    for child in node.children:
        if child.type in {"variable_name", "special_variable_name"}:
            plain = node.type == "simple_expansion" or node.child_count <= 3
            return decoded(child) if plain or _default(node) is not None else f"{decoded(child)}%"
        if child.type == "subscript":
            return decoded(child)
    return decoded(node).strip().strip("${}")


def _default(node: Node) -> Node | None:
    """`${PY:-python}` → the node of `python`."""
    after_operator = False
    for child in node.children:
        if after_operator and child.is_named:
            return child
        after_operator |= child.type in {":-", "-", ":=", "="}
    return None


def _looked_up(node: Node) -> str:
    """`$(which PROGRAM)`, `$(npm bin)`: the program or folder that is looked up, else ''."""
    words = decoded(node).strip("$()` \n").split()
    while len(words) > 1 and (words[1].startswith("-") or words[0] == "exec"):
        del words[1]
    plain = all(re.fullmatch(r"[\w./@-]+", word) for word in words)
    if plain and len(words) == 2 and words[0] in _LOOKS_UP:
        return words[1]
    return ""


def _arithmetic(raw: str) -> str:
    """`$((a + b))`, `$((rc || 1))`: a hole named after its parts if they only add up."""
    inner = raw.strip()[3:-2]
    if not _SUM.fullmatch(inner):
        return HOLE * 2
    return f"{HOLE}{'+'.join(_ARITHMETIC_NAMES.findall(inner))}{HOLE}"
