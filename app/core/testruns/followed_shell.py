"""The state of a shell that is followed in thought, and what its builtins do to it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Final

from app.core.shell_line import HOLE, ShellNode, Words

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

    errexit: bool = False
    pipefail: bool = False
    last: Status = 0
    stages: tuple[Status, ...] = (0,)
    job: Status = 0
    """Status of the youngest background job, which `wait $!` gives."""
    variables: dict[str, str | Status] = field(default_factory=dict)
    functions: dict[str, ShellNode] = field(default_factory=dict)
    at_exit: ShellNode | None = None

    def copy(self, *, fresh: bool = False) -> FollowedShell:
        return FollowedShell(
            errexit=self.errexit and not fresh,
            pipefail=self.pipefail and not fresh,
            last=self.last,
            stages=self.stages,
            job=self.job,
            variables=dict(self.variables),
            functions=dict(self.functions),
        )


def value_of(word: str, shell: FollowedShell) -> str | Status:
    """A word after expansion: a status where it is one, text where it is literal, else None."""
    if HOLE not in word:
        return int(word) if word.isdigit() else word
    before, name, after = word.split(HOLE, 2) if word.count(HOLE) == 2 else ("", "", "?")
    if before or after:
        return None
    values = [_variable(part, shell) for part in name.split("+")]
    known = [value for value in values if isinstance(value, int)]
    if len(values) == 1:
        return values[0]
    return max(known) if len(known) == len(values) or any(known) else None


def _variable(name: str, shell: FollowedShell) -> str | Status:
    if name.isdigit():
        return int(name)
    if name == "?":
        return shell.last
    if name == "!":
        return shell.job
    if name.startswith(("PIPESTATUS[", "pipestatus[")):
        index = name[len("PIPESTATUS[") :].rstrip("]")
        if index in {"@", "*"}:
            return shell.stages[-1] if len(shell.stages) == 1 else None
        position = int(index) if index.isdigit() else -1
        return shell.stages[position] if 0 <= position < len(shell.stages) else None
    if name == "PIPESTATUS":
        return shell.stages[0]
    return shell.variables.get(name)


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
    for i, word in enumerate(words):
        if word[:1] in {"-", "+"}:
            on = word[0] == "-"
            if "e" in word[1:]:
                shell.errexit = on
            if word.endswith("o") and words[i + 1 : i + 2] == ("pipefail",):
                shell.pipefail = on
            if word.endswith("o") and words[i + 1 : i + 2] == ("errexit",):
                shell.errexit = on
    return 0


def _wait(words: Words, shell: FollowedShell) -> Status:
    operands = [word for word in words if not word.startswith("-")]
    if not operands:
        return 0
    value = value_of(operands[-1], shell)
    return value if isinstance(value, int) else shell.job


def _test(words: Words, shell: FollowedShell) -> Status:
    """`[ $rc -ne 0 ]`, `[[ "$ok" == true ]]`, `(( rc ))`: comparisons of what is known."""
    own = tuple(word for word in words if word not in {"]", "]]", "))"})
    negated = own[:1] == ("!",)
    own = own[1:] if negated else own
    result = _compared(own, shell)
    if result is None:
        return None
    return int(result is negated)


def _compared(words: Words, shell: FollowedShell) -> bool | None:
    if len(words) == 1:
        value = value_of(words[0], shell)
        return bool(value) if isinstance(value, int) else None
    if len(words) != 3:
        return None
    left, right = value_of(words[0], shell), value_of(words[2], shell)
    if left is None or right is None:
        return None
    if words[1] in {"-eq", "=", "=="}:
        return left == right
    if words[1] in {"-ne", "!="}:
        return left != right
    if isinstance(left, int) and isinstance(right, int):
        return _ORDERS[words[1]](left, right) if words[1] in _ORDERS else None
    return None


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
    "((": _test,
    "true": _succeed,
    ":": _succeed,
    "false": _fail,
}
