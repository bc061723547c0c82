"""Command lines to plain values: the one place that knows the shell's grammar.

`parse` never raises and its work is bounded, whatever an agent writes: 64 kB of text, of which the
parser reads 1 MB, 20,000 nodes, 4,000 pipes and parentheses, 60 levels, 4 nested shells, 12
wrappers. Past a bound, or where the shell would refuse the text, the line says that it is not
complete.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Sequence
from itertools import islice
from typing import Final

from app.adapters.shell.budget import Budget
from app.adapters.shell.canonical import canonical
from app.adapters.shell.nodes import parsed
from app.adapters.shell.scripts import WrittenScripts
from app.adapters.shell.tree import TreeReader
from app.testruns.shell_line import HOLE, ShellLine
from app.testruns.shell_line import Sequence as ShellSequence

__all__ = ["MAX_TEXT_BYTES", "parse"]

MAX_TEXT_BYTES: Final = 64 * 1024
MAX_OPERATORS: Final = 4_000
"""Pipes and parentheses: with more of them the parser's error recovery can take many seconds."""

_OPERATOR: Final = re.compile(r"[|()]")


def parse(command: str | Sequence[str], *, pipefail: bool = False) -> ShellLine:
    """What a shell would run for `command`.

    A string is a command line; a list of words is a program with its arguments, run as it is.
    `pipefail`: the shell is started with `-o pipefail`.
    """
    budget = Budget()
    reader = TreeReader(budget, WrittenScripts(budget))
    if isinstance(command, str):
        text = command.replace(HOLE, "")
        encoded = text.encode(errors="replace")
        if len(encoded) > MAX_TEXT_BYTES:
            budget.complete = False
            text = encoded[:MAX_TEXT_BYTES].decode(errors="ignore")
        bounded = _bounded(text)
        budget.complete &= bounded == text
        tree, is_all = parsed(bounded)
        root = reader.read_tree(tree, is_all, bounded)
        read = canonical(tree) if budget.complete else command
    else:
        words = tuple(word.replace(HOLE, "") for word in command)
        budget.complete = sum(map(len, words)) <= MAX_TEXT_BYTES
        root = reader.start(words, None) if words and budget.complete else ShellSequence(())
        read = shlex.join(command)
    return ShellLine(root, budget.complete, pipefail, read)


def _bounded(text: str) -> str:
    """`text` up to the operator that is one too many."""
    excess = next(islice(_OPERATOR.finditer(text), MAX_OPERATORS, None), None)
    return text if excess is None else text[: excess.start()]
