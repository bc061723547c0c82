"""What a shell would run, as plain values.

A `ShellLine` is the skeleton of a command line after parsing: simple commands joined by the
operators that decide which of them run and whose exit status the caller sees. Quotes are gone,
wrappers (`timeout 60 …`, `docker run …`) are peeled off and nested shells (`bash -c '…'`) are
parsed. Nothing here knows a grammar, and nothing here runs anything.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final, assert_never

SHELL_TOOLS: Final[frozenset[str]] = frozenset(
    {"bash", "Bash", "shell", "terminal", "run_command", "execute_bash"}
)
"""Names under which agent runtimes offer a shell. Any other tool runs no command line."""

HOLE: Final = "\0"
"""Encloses the name of what only the running shell knows: `$rc` in a word is `\\0rc\\0`.

No argument of a process can hold a NUL, so a hole equals no literal word.
"""

Words = tuple[str, ...]


@dataclass(frozen=True, slots=True)
class SimpleCommand:
    """One program start: `timeout 60 COMMAND`."""

    layers: tuple[Words, ...]
    """Argument lists, outermost first; each further one is what the wrapper before it starts."""
    inner: tuple[ShellNode, ...] = ()
    """Command and process substitutions among its words: they run before it."""
    starts: ShellNode | None = None
    """The command line that its innermost layer interprets: `bash -c TEXT`, `ssh host TEXT`."""
    status_swallowed: bool = False
    """A wrapper ends with 0 whatever the command did: `find -exec … \\;`, `tmux send-keys`."""
    writes: bool = False
    """A redirection sends its output into a file."""
    silent: bool = False
    """Redirections take all its output to where the caller of the line does not see it."""
    made: frozenset[str] = frozenset()
    """Scripts that the line has written and programs that it has built before this one starts."""

    @property
    def words(self) -> Words:
        """The innermost argument list, never empty."""
        return self.layers[-1]


@dataclass(frozen=True, slots=True)
class Assignment:
    """`rc=$?`, `out=$(…)`; with `declared`, under `export`, `local`, … (status always 0)."""

    values: tuple[tuple[str, str], ...]
    inner: tuple[ShellNode, ...] = ()
    declared: bool = False


@dataclass(frozen=True, slots=True)
class Sequence:
    """`a; b`, lines, `{ …; }`."""

    items: tuple[ShellNode, ...]


@dataclass(frozen=True, slots=True)
class AndOr:
    """`first && a || b`: equal precedence, left to right."""

    first: ShellNode
    rest: tuple[tuple[bool, ShellNode], ...]
    """(True for `&&`, False for `||`; what stands to its right)."""


@dataclass(frozen=True, slots=True)
class Pipeline:
    stages: tuple[ShellNode, ...]


@dataclass(frozen=True, slots=True)
class Not:
    body: ShellNode


@dataclass(frozen=True, slots=True)
class Background:
    body: ShellNode


@dataclass(frozen=True, slots=True)
class Subshell:
    """`( … )` and `$( … )`; with `fresh`, a new shell that inherits no options: `bash -c`."""

    body: ShellNode
    fresh: bool = False
    errexit: bool = False
    pipefail: bool = False


@dataclass(frozen=True, slots=True)
class If:
    condition: ShellNode
    then: ShellNode
    otherwise: ShellNode | None


@dataclass(frozen=True, slots=True)
class Loop:
    """`for`, `while`, `until`; a `for` has no condition, that of an `until` is negated."""

    condition: ShellNode | None
    body: ShellNode


@dataclass(frozen=True, slots=True)
class Case:
    branches: tuple[ShellNode, ...]


@dataclass(frozen=True, slots=True)
class Function:
    """A definition: its body runs where a simple command has its name."""

    name: str
    body: ShellNode


@dataclass(frozen=True, slots=True)
class AtExit:
    """`trap '…' EXIT`."""

    body: ShellNode


ShellNode = (
    SimpleCommand
    | Assignment
    | Sequence
    | AndOr
    | Pipeline
    | Not
    | Background
    | Subshell
    | If
    | Loop
    | Case
    | Function
    | AtExit
)


@dataclass(frozen=True, slots=True)
class ShellLine:
    root: ShellNode
    complete: bool = True
    """False: a bound was met, or the shell would refuse the text; `root` is what could be read."""
    pipefail: bool = False
    """The shell was started with `-o pipefail`."""
    text: str = ""
    """What the shell reads: the same for lines that differ in blanks, comments or needless
    quotes; as it was written where it could not be read completely."""


def children(node: ShellNode) -> Iterator[ShellNode]:
    """The nodes directly below `node`, in the order in which a shell meets them."""
    match node:
        case SimpleCommand():
            yield from node.inner
            if node.starts is not None:
                yield node.starts
        case Assignment():
            yield from node.inner
        case Sequence():
            yield from node.items
        case AndOr():
            yield node.first
            yield from (right for _, right in node.rest)
        case Pipeline():
            yield from node.stages
        case Not() | Background() | Subshell() | Function() | AtExit():
            yield node.body
        case If():
            yield node.condition
            yield node.then
            if node.otherwise is not None:
                yield node.otherwise
        case Loop():
            if node.condition is not None:
                yield node.condition
            yield node.body
        case Case():
            yield from node.branches
        case _:
            assert_never(node)
