"""Which tests a command line asks for, and which selection covers which."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from app.core.shell_line import (
    HOLE,
    AndOr,
    Function,
    If,
    Loop,
    Sequence,
    ShellLine,
    ShellNode,
    SimpleCommand,
    Words,
    children,
)
from app.core.testruns.judge import judge, program_name
from app.core.testruns.names import base_name
from app.core.testruns.runner import Asked
from app.core.testruns.status import failure_is_visible
from app.core.testruns.wordset import word_set

HARMLESS: Final = word_set(
    """[ [[ . : awk basename cat cd cut date declare df diff dirname du echo egrep env exit export
    expr false fgrep file find grep head hostname id jq less local ls more nl popd printenv printf
    ps pushd pwd read readlink realpath return rg seq set shift shopt sleep sort source stat tail
    test time times tr true type ulimit umask uname uniq unset wait wc whereis which whoami xxd"""
)
"""Programs that change no file unless their output is sent into one."""
MAX_VISITS: Final = 20_000
"""Nodes looked at in one line; function bodies count at each call."""


@dataclass(frozen=True, slots=True)
class Suite:
    """Which tests a command asks for."""

    runner: str
    """`pytest`, `npm test`, `cargo test`, … in one spelling, however it was started."""
    selectors: tuple[str, ...]
    """What narrows the run (paths, test ids, `-k expr`), sorted; empty: the whole suite."""
    status_visible: bool
    """Exit status 0 of the command proves a pass: the caller sees the runner's own status."""


@dataclass(frozen=True, slots=True)
class SuiteRules:
    """`test_commands:` of a repository: beginnings of argument lists."""

    add: tuple[Words, ...] = ()
    """These are test runs too (`make verify`)."""
    exclude: tuple[Words, ...] = ()
    """These are none, whatever the tables say; wins over `add`."""


def suite_of(line: ShellLine, rules: SuiteRules | None = None) -> Suite | None:
    """The test run that `line` asks for, or None.

    One call is at most one test run: of several runners the first gives the name, their selectors
    are united, and a run of everything among them makes it a run of everything.
    """
    rules = rules or SuiteRules()
    found: list[tuple[SimpleCommand, Asked]] = []
    for command in _running(line.root):
        asked = _asked(command, rules)
        if asked is not None:
            found.append((command, asked))
    if not found:
        return None
    whole = any(not asked.selectors for _, asked in found)
    united = frozenset[str]().union(*(asked.selectors for _, asked in found))
    targets = {id(command): command for command, _ in found}
    return Suite(
        runner=_readable(found[0][1].runner),
        selectors=() if whole else tuple(sorted(_readable(selector) for selector in united)),
        status_visible=line.complete
        and all(failure_is_visible(line, target) for target in targets.values()),
    )


def may_change(line: ShellLine, rules: SuiteRules | None = None) -> bool:
    """Whether `line` may change files besides running tests: `sed -i … && pytest`.

    Everything may that is no test run and not known to be harmless. So an edit and a test run in
    one command line cannot pass for a repeat without a change.
    """
    rules = rules or SuiteRules()
    return any(
        _asked(command, rules) is None
        and command.starts is None
        and (command.writes or base_name(command.words[0]) not in HARMLESS)
        for command in _running(line.root)
    )


def covers(wide: Suite, narrow: Suite) -> bool:
    """Does a pass of `wide` say that `narrow` passes?

    Same runner, and each selector of `narrow` is, or lies below, one of `wide`. An expression
    (`-k …`) is covered by an equal one only, and a selection by expression covers nothing else.
    """
    if wide.runner != narrow.runner:
        return False
    if not wide.selectors:
        return True
    if not narrow.selectors:
        return False
    wide_filters = {s for s in wide.selectors if s.startswith("-")}
    narrow_filters = {s for s in narrow.selectors if s.startswith("-")}
    if not wide_filters <= narrow_filters:
        return False
    wide_paths = [s for s in wide.selectors if s not in wide_filters]
    narrow_paths = [s for s in narrow.selectors if s not in narrow_filters]
    if not wide_paths:
        return True
    return bool(narrow_paths) and all(
        any(_lies_below(path, above) for above in wide_paths) for path in narrow_paths
    )


def _lies_below(path: str, above: str) -> bool:
    """`tests/a.py::T::t[1]` lies below `tests`, `tests/a.py`, `…::T` and `…::t`."""
    if path == above or above.endswith("/..."):
        return path == above or path.startswith(above[:-3]) or path == above[:-4]
    return path.startswith(above) and path[len(above) :].startswith(("/", "::", "[", ":"))


def _readable(text: str) -> str:
    """Holes as a person would have written them: `$FILES`."""
    pieces = text.split(HOLE)
    return "".join(f"${piece or '?'}" if i % 2 else piece for i, piece in enumerate(pieces))


def _asked(command: SimpleCommand, rules: SuiteRules) -> Asked | None:
    if any(_begins(layer, rule) for layer in command.layers for rule in rules.exclude):
        return None
    for layer in command.layers:
        for rule in rules.add:
            if _begins(layer, rule):
                return Asked(" ".join(rule), frozenset(layer[len(rule) :]))
    own = command.layers if command.starts is None else command.layers[:-1]
    for layer in reversed(own):  # what starts a shell is judged by what that shell reads
        asked = judge(layer)
        if asked is not None:
            return asked
    return None


def _begins(words: Words, rule: Words) -> bool:
    if not rule or words[1 : len(rule)] != rule[1:]:
        return False
    return (
        words[0] == rule[0] or base_name(words[0]) == rule[0] or program_name(words[0]) == rule[0]
    )


def _running(root: ShellNode) -> Iterator[SimpleCommand]:
    """The simple commands that may run, in order: function bodies where they are called, and
    nothing behind an `exit`, a failing `&&` or a succeeding `||` that can be foreseen."""
    functions: dict[str, ShellNode] = {}
    pending: list[ShellNode] = [root]
    called: set[int] = set()
    for _ in range(MAX_VISITS):
        if not pending:
            return
        node = pending.pop()
        below: list[ShellNode]
        match node:
            case Function():
                functions[node.name] = node.body
                below = []
            case SimpleCommand():
                yield node
                below = list(children(node))
                body = functions.get(node.words[0])
                if body is not None and id(body) not in called:
                    called.add(id(body))
                    below.append(body)
            case Sequence():
                below = _until_exit(node.items)
            case AndOr():
                below = _reachable(node)
            case If() if (known := _foreseen(node.condition)) is not None:
                taken = node.then if known else node.otherwise
                below = [taken] if taken is not None else []
            case Loop() if node.condition is not None and _foreseen(node.condition) is False:
                below = []
            case _:
                below = list(children(node))
        pending.extend(reversed(below))


def _until_exit(items: tuple[ShellNode, ...]) -> list[ShellNode]:
    for i, item in enumerate(items):
        if isinstance(item, SimpleCommand) and item.words[0] in {"exit", "return", "logout"}:
            return list(items[: i + 1])
    return list(items)


def _reachable(node: AndOr) -> list[ShellNode]:
    reached = [node.first]
    status = _foreseen(node.first)
    for wants_success, right in node.rest:
        if status is not None and status is not wants_success:
            continue
        reached.append(right)
        status = _foreseen(right) if status is not None else None
    return reached


def _foreseen(node: ShellNode) -> bool | None:
    """Will it succeed? None: only running it tells."""
    if isinstance(node, SimpleCommand) and not node.inner and node.starts is None:
        return {"true": True, ":": True, "false": False}.get(node.words[0])
    return None
