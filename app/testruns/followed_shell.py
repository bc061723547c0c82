"""The state of a shell that is followed in thought, and what its builtins do to it."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Final

from app.testruns.shell_line import HOLE, ShellNode, Words

Status = int | None
"""An exit status; None: it cannot be foreseen."""


class ShellExit(Exception):
    """The shell that is followed ends."""

    def __init__(self, status: Status) -> None:
        super().__init__(status)
        self.status = status


class FunctionReturn(ShellExit):
    """The function that is followed ends; outside of one, as `exit`."""


@dataclass(slots=True)
class FollowedShell:
    """What one shell process knows; a subshell starts as a copy."""

    pipefail: bool
    errexit: bool = False
    last: Status = 0
    stages: tuple[Status, ...] = ()
    """Of the last pipeline, a single command included."""
    job: Status = 0
    """Status of the youngest background job, which `wait $!` gives."""
    variables: dict[str, str | Status] = field(default_factory=dict)
    functions: dict[str, ShellNode] = field(default_factory=dict)
    at_exit: ShellNode | None = None

    def copy(self) -> FollowedShell:
        """For a subshell, which inherits all but the EXIT trap."""
        variables, functions = dict(self.variables), dict(self.functions)
        return replace(self, variables=variables, functions=functions, at_exit=None)


def value_of(word: str, shell: FollowedShell) -> str | Status:
    """A word after expansion: a status where it is one, text where it is known, else None."""
    pieces: list[str | Status] = [
        _expanded(piece, shell) if i % 2 else piece for i, piece in enumerate(word.split(HOLE))
    ]
    if None in pieces:
        return None
    text = "".join(map(str, pieces))
    return int(text) if text.isdigit() else text


def prints_a_status(word: str, shell: FollowedShell) -> bool:
    """Whether a word such as `rc=$?` shows the status, not 0, of a command that failed."""
    return any(_expanded(piece, shell) == 1 for piece in word.split(HOLE)[1::2])


def _expanded(name: str, shell: FollowedShell) -> str | Status:
    """The value of `$name`; of `$((a + 1))` only whether it is 0 is sure."""
    if "+" not in name:
        return _variable(name, shell)
    values = [int(part) if part.isdigit() else _variable(part, shell) for part in name.split("+")]
    known = [value for value in values if isinstance(value, int)]
    return sum(known) if len(known) == len(values) or any(known) else None


def _variable(name: str, shell: FollowedShell) -> str | Status:
    if name == "?":
        return shell.last
    if name == "!":
        return shell.job
    stage = _STAGE.fullmatch(name)
    if stage is None:
        return shell.variables.get(name)
    position = int(stage[1] or 0)
    return shell.stages[position] if position < len(shell.stages) else None


_STAGE: Final = re.compile(r"PIPESTATUS(?:\[(\d+)\])?")


def _status_word(words: Words, shell: FollowedShell) -> Status:
    """The operand of `exit` and `return`; without one, the last status."""
    if not words:
        return shell.last
    value = value_of(words[0], shell)
    return value % 256 if isinstance(value, int) else None


def _exit(words: Words, shell: FollowedShell) -> Status:
    raise ShellExit(_status_word(words, shell))


def _return(words: Words, shell: FollowedShell) -> Status:
    raise FunctionReturn(_status_word(words, shell))


def _set(words: Words, shell: FollowedShell) -> Status:
    options = iter(words)
    for word in options:
        if word == "--" or word[:1] not in {"-", "+"}:
            break  # what follows becomes `$1`, `$2`, …
        on = word[0] == "-"
        name = next(options, None) if word.endswith("o") else None
        if name == "pipefail":
            shell.pipefail = on
        if name == "errexit" or "e" in word:
            shell.errexit = on
    return 0


def _wait(words: Words, shell: FollowedShell) -> Status:
    """`wait` for all jobs is always 0, `wait $pid` tells that job's; which one `%1` is, or the
    next of `wait -n`, cannot be foreseen."""
    if not words:
        return 0
    value = value_of(words[-1], shell)
    return value if isinstance(value, int) else None


def _test(words: Words, shell: FollowedShell) -> Status:
    """`[ $rc -ne 0 ]`, `[[ "$ok" == true ]]`, `(( rc > 0 ))`: comparisons of what is known."""
    own = tuple(word for word in words if word not in {"]", "]]", "))"})
    negated = own[:1] == ("!",)
    result = _compared(own[1:] if negated else own, shell)
    return None if result is None else int(result is negated)


def _arithmetic(words: Words, shell: FollowedShell) -> Status:
    """`(( rc ))` is true for a number above 0."""
    if len(words) != 2:
        return _test(words, shell)
    value = value_of(words[0], shell)
    return int(value == 0) if isinstance(value, int) else None


def _compared(words: Words, shell: FollowedShell) -> bool | None:
    if len(words) != 3:
        return None
    left, operator, right = value_of(words[0], shell), words[1], value_of(words[2], shell)
    if left is None or right is None or not _PATTERN.isdisjoint(str(right)):
        return None
    if operator in {"-eq", "=", "=="}:
        return left == right
    if operator in {"-ne", "!="}:
        return left != right
    if isinstance(left, int) and isinstance(right, int) and operator in _ORDERS:
        return _ORDERS[operator](left, right)
    return None


_PATTERN: Final = frozenset("*?[")
"""`[[ $ok == n* ]]` looks whether a pattern fits."""
_ORDERS: Final = {
    "-gt": int.__gt__,
    ">": int.__gt__,
    "-ge": int.__ge__,
    ">=": int.__ge__,
    "-lt": int.__lt__,
    "<": int.__lt__,
    "-le": int.__le__,
    "<=": int.__le__,
}


def _succeed(_words: Words, _shell: FollowedShell) -> Status:
    return 0


def _fail(_words: Words, _shell: FollowedShell) -> Status:
    return 1


BUILTINS: Final[Mapping[str, Callable[[Words, FollowedShell], Status]]] = {
    "exit": _exit,
    "return": _return,
    "set": _set,
    "wait": _wait,
    "test": _test,
    "[": _test,
    "[[": _test,
    "((": _arithmetic,
    "true": _succeed,
    ":": _succeed,
    "false": _fail,
}
