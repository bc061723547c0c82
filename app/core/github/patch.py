"""A change as git prints it, file by file: its size, and the lines that can be commented on."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

MOST_FILES_LISTED: Final = 200

_FILE: Final = re.compile(r"^diff --git ", re.MULTILINE)
_HUNK: Final = re.compile(r"@@ -\d+(?:,\d+)? \+(\d+)(?:,(\d+))? @@")
_NAME_AFTER: Final = re.compile(r"^(?:\+\+\+ b/|rename to |copy to )(.+?)\t?$", re.MULTILINE)
_NAME_OF_BOTH: Final = re.compile(r"a/(.+) b/\1$", re.MULTILINE)
"""Of a file that is binary, or was removed: its name after the change stands nowhere else."""


@dataclass(frozen=True, slots=True)
class FilePatch:
    """What a change does to one file."""

    path: str
    """After the change; of a removed file, before it. Odd names are as git quotes them."""
    text: str
    """As git prints it, its own first line left out."""
    added: int
    """Lines."""
    deleted: int


def files_of(diff: str) -> tuple[FilePatch, ...]:
    """The files of `git diff`'s output, in its order; text that is none gives none."""
    return tuple(_file(part) for part in _FILE.split(diff)[1:])


def listed(files: Sequence[FilePatch]) -> str:
    """Each file with the size of its change, for an agent; bounded."""
    lines = [f"{each.path} | +{each.added} -{each.deleted}" for each in files[:MOST_FILES_LISTED]]
    if len(files) > MOST_FILES_LISTED:
        lines.append(f"… and {len(files) - MOST_FILES_LISTED} more files")
    return "\n".join(lines)


def commentable(hunks: str) -> frozenset[int]:
    """The lines, numbered as after the change, that a comment can stand on: those in the hunks."""
    lines: set[int] = set()
    number = left = 0
    for line in hunks.splitlines():
        if found := _HUNK.match(line):
            number, left = int(found[1]), int(found[2] or 1)
        elif left and line[:1] != "-" and line[:1] != "\\":
            lines.add(number)
            number, left = number + 1, left - 1
    return frozenset(lines)


def _file(part: str) -> FilePatch:
    head, _, text = part.partition("\n")
    before, at, hunks = text.partition("@@ ")
    name = _NAME_AFTER.search(before) or _NAME_OF_BOTH.search(head)
    changed = [line[:1] for line in (at + hunks).splitlines()]
    return FilePatch(
        name[1] if name is not None else head.rpartition(" b/")[2],
        text,
        added=changed.count("+"),
        deleted=changed.count("-"),
    )
