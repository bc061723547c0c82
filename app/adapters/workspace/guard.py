"""Keeps changes of protected paths, and what else must not be pushed, out of what is pushed.

Trees are compared, on the host's own objects: the agent's with where its branch left the default
branch, and with what others have pushed to it. Neither the tool that made a change nor the commit
that holds it counts.
"""

import re
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from app.adapters.workspace.commits import merge_base
from app.adapters.workspace.host_git import HostGit
from app.adapters.workspace.stage import MOST_LISTING_BYTES, unquoted
from app.core.rules.protected import is_protected
from app.ports import WorkspaceFailed

_CHANGE: Final = re.compile(
    r":(?P<mode>\d{6}) \d{6} (?P<object>[0-9a-f]{40}) (?P<after>[0-9a-f]{40}) \S+\t(?P<path>.+)"
)
NOTHING: Final = "000000"
"""The mode of what is not there."""


@dataclass(frozen=True, slots=True)
class Entry:
    """What a tree holds at a path; the mode says so where it holds nothing."""

    mode: str
    object: str

    @property
    def is_file(self) -> bool:
        """Whether it has content: a file or a link, no repository, and not nothing."""
        return self.mode[:2] in ("10", "12")


@dataclass(frozen=True, slots=True)
class Change:
    """How two trees differ at a path."""

    before: Entry
    after: str
    """The object that is there now."""

    @property
    def is_there(self) -> bool:
        """Whether there is one."""
        return self.after.strip("0") != ""


async def refused_changes(
    git: HostGit, directory: Path, sha: str, default: str, there: str | None
) -> dict[bytes, Entry]:
    """The protected paths that an agent has changed in `sha`, and what belongs there instead.

    `default`: the head of the default branch; `there`: that of the agent's branch on GitHub, which
    holds only what was judged before and what others pushed: that stays. Raises `WorkspaceFailed`.
    """
    base = await merge_base(git, directory, default, sha)
    changed = await _protected(git, directory, base, sha)
    if there is None or not changed:
        return changed
    unlike_there = await _protected(git, directory, there, sha)
    start = await merge_base(git, directory, default, there)
    of_others = await _protected(git, directory, start, there)
    return {
        path: unlike_there[path] if path in of_others else before
        for path, before in changed.items()
        if path in unlike_there
    }


async def tree_without(git: HostGit, directory: Path, sha: str, refused: dict[bytes, Entry]) -> str:
    """The tree of `sha` with these entries put back."""
    variables = {"GIT_INDEX_FILE": str(directory / "publish.index")}
    await git(directory, "read-tree", "--reset", "-i", sha, variables=variables)
    # All are taken out first: a file may stand in the way of a directory.
    removals = [_line(path, Entry(NOTHING, "0" * 40)) for path in refused]
    returns = [_line(path, each) for path, each in refused.items() if each.mode != NOTHING]
    await git(
        directory,
        *("update-index", "--replace", "-z", "--index-info"),
        variables=variables,
        stdin=b"".join([*removals, *returns]),
    )
    return (await git(directory, "write-tree", variables=variables)).strip()


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
        unquoted(match["path"]): Change(Entry(match["mode"], match["object"]), match["after"])
        for match in found
        if match
    }


async def _protected(git: HostGit, directory: Path, one: str, other: str) -> dict[bytes, Entry]:
    """Protected paths in which two commits differ; what `one` holds there."""
    found = await changes(git, directory, one, other)
    return {path: change.before for path, change in found.items() if is_protected(path)}


def _line(path: bytes, entry: Entry) -> bytes:
    return f"{entry.mode} {entry.object}\t".encode() + path + b"\0"
