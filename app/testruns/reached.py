"""Which simple commands of a line the shell may reach, and in which folder."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from app.testruns.shell_line import (
    HOLE,
    AndOr,
    Background,
    Function,
    If,
    Loop,
    Not,
    Pipeline,
    Sequence,
    ShellNode,
    SimpleCommand,
    Subshell,
    Words,
    children,
)

MAX_VISITS: Final = 20_000
"""Nodes looked at in one line; function bodies count at each call."""

_CHANGES_FOLDER: Final = frozenset({"cd", "pushd", "popd"})


@dataclass(frozen=True, slots=True)
class _BackTo:
    """A child process ends: its parent is where it was."""

    folder: str


def running(root: ShellNode) -> Iterator[tuple[SimpleCommand, str]]:
    """The simple commands that may run, in order, each with the folder in which it does.

    Function bodies stand where they are called, and nothing behind an `exit`, a failing `&&` or
    a succeeding `||` that can be foreseen. The folder is what the line's own `cd` words tell:
    relative to where the line starts, which itself is empty, or absolute.
    """
    functions: dict[str, ShellNode] = {}
    folder, folder_before = "", ""
    pending: list[ShellNode | _BackTo] = [root]
    called: set[int] = set()
    for _ in range(MAX_VISITS):
        if not pending:
            return
        node = pending.pop()
        below: list[ShellNode]
        match node:
            case _BackTo():
                folder = node.folder
                below = []
            case Function():
                functions[node.name] = node.body
                below = []
            case SimpleCommand():
                yield node, folder
                if node.words[0] in _CHANGES_FOLDER:
                    folder, folder_before = _changed(folder, folder_before, node.words), folder
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
            case Loop() if _foreseen(node.condition) is False:
                below = []
            case Subshell() | Pipeline() | Background():
                pending.append(_BackTo(folder))
                below = list(children(node))
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


def _foreseen(node: ShellNode | None) -> bool | None:
    """Will it succeed? None: only running it tells."""
    if isinstance(node, Not):
        known = _foreseen(node.body)
        return None if known is None else not known
    if isinstance(node, SimpleCommand) and not node.inner:
        return {"true": True, ":": True, "false": False}.get(node.words[0])
    return None


def _changed(folder: str, before: str, words: Words) -> str:
    """The folder after `cd WORD`."""
    operands = [word for word in words[1:] if word == "-" or not word.startswith("-")]
    if words[0] == "popd" or operands == ["-"]:
        return before
    return path_from(folder, operands[0] if operands else "~")


def path_from(folder: str, path: str) -> str:
    """`path`, written in `folder`, as it reads where `folder` does: `web`, `../api` → `api`.

    What does not begin in `folder` stays as it is: `/srv`, `~/x`, and a variable's value.
    """
    is_absolute = path.startswith("/")
    if not is_absolute and not path.startswith(("~", HOLE)):
        is_absolute = folder.startswith("/")
        path = f"{folder}/{path}"
    parts: list[str] = []
    for part in path.split("/"):
        if part == ".." and parts and parts[-1] != "..":
            parts.pop()
        elif part not in {"", "."} and not (part == ".." and is_absolute):
            parts.append(part)
    return "/" * is_absolute + "/".join(parts)
