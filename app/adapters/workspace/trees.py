"""In which paths two commits differ, and trees with some paths put back, on the host's objects."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from app.adapters.workspace.host_git import HostGit
from app.adapters.workspace.stage import MOST_LISTING_BYTES, unquoted
from app.ports import WorkspaceFailed

_CHANGE: Final = re.compile(
    r":(?P<mode>\d{6}) (?P<mode_after>\d{6}) (?P<object>[0-9a-f]{40}) (?P<after>[0-9a-f]{40})"
    r" \S+\t(?P<path>.+)"
)
_NO_MODE: Final = "000000"


@dataclass(frozen=True, slots=True)
class Entry:
    """What a tree holds at a path; the mode says so where it holds nothing."""

    mode: str
    object: str

    @property
    def is_there(self) -> bool:
        """Whether there is one."""
        return self.mode != _NO_MODE

    @property
    def is_file(self) -> bool:
        """Whether it has content: a file or a link, no repository, and not nothing."""
        return self.mode[:2] in ("10", "12")


ABSENT: Final = Entry(_NO_MODE, "0" * 40)


@dataclass(frozen=True, slots=True)
class Change:
    """How two trees differ at a path."""

    before: Entry
    after: Entry


async def changes(git: HostGit, directory: Path, one: str, other: str) -> dict[bytes, Change]:
    """The paths in which two commits differ. Raises `WorkspaceFailed`."""
    raw = await git(
        directory,
        *("diff-tree", "-r", "--raw", "--no-renames", "--no-abbrev", one, other),
        most_output_bytes=MOST_LISTING_BYTES,
    )
    if len(raw) >= MOST_LISTING_BYTES:
        raise WorkspaceFailed(f"{other[:12]} changes too many files to list.")
    found = (_CHANGE.fullmatch(line) for line in raw.splitlines())
    return {
        unquoted(match["path"]): Change(
            Entry(match["mode"], match["object"]), Entry(match["mode_after"], match["after"])
        )
        for match in found
        if match
    }


async def tree_without(
    git: HostGit, directory: Path, sha: str, refused: Mapping[bytes, Entry]
) -> str:
    """The tree of `sha` with these entries put back."""
    variables = {"GIT_INDEX_FILE": str(directory / "publish.index")}
    await git(directory, "read-tree", "--reset", "-i", sha, variables=variables)
    # All are taken out first: a file may stand in the way of a directory.
    removals = [_line(path, ABSENT) for path in refused]
    returns = [_line(path, each) for path, each in refused.items() if each.is_there]
    await git(
        directory,
        *("update-index", "--replace", "-z", "--index-info"),
        variables=variables,
        stdin=b"".join([*removals, *returns]),
    )
    return (await git(directory, "write-tree", variables=variables)).strip()


def _line(path: bytes, entry: Entry) -> bytes:
    return f"{entry.mode} {entry.object}\t".encode() + path + b"\0"
