"""Turns the files of a workspace into a tree: the host's index, the agent's files, no more.

`git add` would look into nested repositories and `git status` runs code there; `ls-files` and
`update-index` only read files. Attributes with filters have no effect: filters are defined in
configuration, and the agent's is not read.
"""

import os
import re
import stat
from collections import Counter
from collections.abc import Awaitable, Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from app.adapters.workspace.host_git import HostGit
from app.core.agents.events import MadeFiles
from app.ports import WorkspaceFailed

MOST_FILES: Final = 20_000
MOST_FILE_BYTES: Final = 50_000_000
"""GitHub warns above this and refuses twice as much."""
MOST_TOTAL_BYTES: Final = 500_000_000
MOST_LISTING_BYTES: Final = 8_000_000
_UNSEEN: Final = re.compile("[\u200c-\u200f\u202a-\u202e\u206a-\u206f\ufeff]")
"""What a Mac's disk leaves out of names: `.g\\u200cit` is `.git` there."""
_GIT_NAME: Final = re.compile(rb"(?:^|[/\\])(?:\.git|git~1)[ .]*(?:[/\\:]|$)", re.IGNORECASE)
_GITLINK: Final = re.compile(r":\d{6} 160000 \S+ \S+ \S+\t(?P<path>.+)")


@dataclass(frozen=True, slots=True)
class LeftOut:
    """Something in the workspace that no commit can or may hold."""

    path: str
    why: str
    size_bytes: int = 0


@dataclass(frozen=True, slots=True)
class Staged:
    """The content of a workspace."""

    tree: str
    left_out: tuple[LeftOut, ...]
    made: Mapping[bytes, str]
    """Paths of what nobody wrote, each with what is to be named for it: the tree does not hold
    them."""

    @property
    def named(self) -> tuple[MadeFiles, ...]:
        """The same for people."""
        counted = Counter(self.made.values())
        return tuple(MadeFiles(name, files) for name, files in sorted(counted.items()))


LeaveOut = Callable[[Collection[bytes]], Awaitable[Mapping[bytes, str]]]
"""Which of these changed paths nobody wrote, each with what is to be named for it."""


async def stage(
    git: HostGit,
    git_directory: Path,
    workspace: Path,
    index: Path,
    start: str,
    base: str,
    leave_out: LeaveOut,
) -> Staged:
    """The workspace's files as a tree, ignored ones not, nor those that `leave_out` names; those of
    `start` always.

    The index is the host's own; it is kept between calls so that unchanged files are not read
    again. Gitlinks that are not in `base` are taken out. Raises `WorkspaceFailed`.
    """
    variables = {"GIT_INDEX_FILE": str(index)}
    await git(git_directory, "read-tree", "--reset", "-i", start, variables=variables)
    links = await _new_gitlinks(git, git_directory, base, start)
    listed = await git(
        git_directory,
        *("ls-files", "--others", "--modified", "--exclude-standard"),
        work_tree=workspace,
        variables=variables,
        most_output_bytes=MOST_LISTING_BYTES,
    )
    if len(listed) >= MOST_LISTING_BYTES:
        raise WorkspaceFailed(f"{workspace} holds too many changed files to list.")
    paths = sorted({unquoted(line) for line in listed.splitlines()} - set(links))
    gone = [path for path in paths if _is_beyond_a_link(workspace, path)]
    made = await leave_out(paths)
    chosen, left_out = _choose(workspace, sorted({*paths} - {*gone} - {*made}))
    await _update(git, git_directory, variables, workspace, ("--add", "--remove"), chosen)
    await _update(git, git_directory, variables, workspace, ("--force-remove",), [*links, *gone])
    tree = await git(git_directory, "write-tree", variables=variables)
    nested = tuple(LeftOut(_shown(path), "a nested repository") for path in links)
    return Staged(tree.strip(), left_out + nested, made)


def unquoted(path: str) -> bytes:
    """The bytes of a path as git prints it: in C's quotes if it holds anything unusual."""
    if not path.startswith('"'):
        return path.encode()
    return path[1:-1].encode().decode("unicode_escape").encode("latin-1")


async def _new_gitlinks(git: HostGit, git_directory: Path, base: str, start: str) -> list[bytes]:
    if base == start:
        return []
    raw = await git(
        git_directory,
        *("diff-tree", "-r", "--raw", "--no-renames", base, start),
        most_output_bytes=MOST_LISTING_BYTES,
    )
    found = (_GITLINK.fullmatch(line) for line in raw.splitlines())
    return [unquoted(match["path"]) for match in found if match]


async def _update(
    git: HostGit,
    git_directory: Path,
    variables: dict[str, str],
    workspace: Path,
    how: tuple[str, ...],
    paths: Sequence[bytes],
) -> None:
    if paths:
        await git(
            git_directory,
            *("update-index", "--replace", *how, "-z", "--stdin"),
            work_tree=workspace,
            variables=variables,
            stdin=b"".join(path + b"\0" for path in paths),
        )


def _is_beyond_a_link(workspace: Path, path: bytes) -> bool:
    """Whether a link stands in place of one of the path's directories: then it is not there,
    whatever the link leads to."""
    parents = Path(_native(path)).parents
    return any((workspace / parent).is_symlink() for parent in parents)


def _choose(
    workspace: Path, paths: Sequence[bytes]
) -> tuple[tuple[bytes, ...], tuple[LeftOut, ...]]:
    """Which changed paths fit into a commit; of the others, why not."""
    chosen: list[bytes] = []
    left_out: list[LeftOut] = []
    total_bytes = 0
    for path in paths:
        place = workspace / Path(_native(path))
        try:
            status = place.lstat()
        except (FileNotFoundError, NotADirectoryError):
            chosen.append(path)  # deleted: that is a change, too
            continue
        size_bytes = status.st_size if stat.S_ISREG(status.st_mode) else 0
        why = _why_not(path, place, status.st_mode, size_bytes)
        if not why and total_bytes + size_bytes > MOST_TOTAL_BYTES:
            why = f"more than {MOST_TOTAL_BYTES} bytes in all"
        if not why and len(chosen) == MOST_FILES:
            why = f"more than {MOST_FILES} changed files"
        if why:
            left_out.append(LeftOut(_shown(path), why, size_bytes))
        else:
            chosen.append(path)
            total_bytes += size_bytes
    return tuple(chosen), tuple(left_out)


def _why_not(path: bytes, place: Path, mode: int, size_bytes: int) -> str:
    if stat.S_ISDIR(mode) and (path.endswith(b"/") or os.path.lexists(place / ".git")):
        return "a nested repository"
    if not (stat.S_ISDIR(mode) or stat.S_ISREG(mode) or stat.S_ISLNK(mode)):
        return "neither a file nor a link"
    if _GIT_NAME.search(path) or _GIT_NAME.search(_UNSEEN.sub("", _shown(path)).encode()):
        return "a name that git keeps for itself"
    if stat.S_ISLNK(mode) and place.name.lower() == ".gitmodules":
        return "a link in place of .gitmodules"
    if size_bytes > MOST_FILE_BYTES:
        return f"larger than {MOST_FILE_BYTES} bytes"
    return ""


def _native(path: bytes) -> str:
    return path.decode("utf-8", "surrogateescape")


def _shown(path: bytes) -> str:
    return path.decode(errors="replace")
