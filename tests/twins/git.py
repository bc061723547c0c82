"""A twin of a repository's git: commits, trees and references in memory.

A tree is its files by path. Two changes of one file that differ conflict, wherever in it they are.
"""

import asyncio
import difflib
import hashlib
import itertools
import re
from collections.abc import Callable, Iterator, Mapping
from copy import copy
from datetime import datetime
from pathlib import Path
from typing import Final

from app.githubbox.git import (
    EMPTY_TREE,
    MAX_PATCH_CHARACTERS,
    NOTHING,
    Commit,
    Comparison,
    Entry,
    FileChange,
    GitFailed,
    GitRepository,
    Signature,
)

Files = Mapping[str, bytes]
WHO: Final = ("Box", "box@users.noreply.github.com")
_REF: Final = re.compile(r"refs/(?:heads|tags)/[\w./-]+")


class MemoryGit:
    """Implements the box's `GitRepository`, and what a workspace needs of git besides."""

    def __init__(self, now: Callable[[], datetime], files: Files) -> None:
        """One commit of those files on `main`."""
        self.lock = asyncio.Lock()
        self.path = Path("/nowhere")
        self._now = now
        self._order = itertools.count()
        self._commits: dict[str, Commit] = {}
        self._age: dict[str, int] = {}
        self._trees: dict[str, Files] = {EMPTY_TREE: {}}
        self._refs: dict[str, str] = {}
        self._pulls: dict[str, str] = {}
        self._refs["refs/heads/main"] = self.make(files, [], "Initial commit", *WHO)

    # --- what a workspace asks -----------------------------------------------------------------

    def make(self, files: Files, parents: list[str], message: str, name: str, email: str) -> str:
        """A new commit of those files; its SHA. No reference moves."""
        return self._made(self.tree(files), parents, message, name, email)

    def tree(self, files: Files) -> str:
        """The name of a tree of those files."""
        if not files:
            return EMPTY_TREE
        listing = "".join(f"{path}\0{_blob(files[path])}" for path in sorted(files))
        name = hashlib.sha1(f"tree {listing}".encode()).hexdigest()
        self._trees[name] = dict(files)
        return name

    def head(self, branch: str) -> str | None:
        """The commit of a branch."""
        return self._refs.get(f"refs/heads/{branch}")

    def files(self, revision: str) -> Files:
        """All files of a commit or a tree, by path."""
        found = self._commits.get(revision)
        return self._trees[found.tree if found else revision]

    def parted(self, one: str, other: str) -> str:
        """The newest commit that both rest on; EMPTY_TREE if there is none."""
        both = self._behind(one) & self._behind(other)
        return max(both, key=self._age.__getitem__, default=EMPTY_TREE)

    def since(self, head: str, *known: str) -> list[Commit]:
        """Commits of head that the others do not have, newest first."""
        seen = set[str]().union(*map(self._behind, known))
        new = sorted(self._behind(head) - seen, key=self._age.__getitem__, reverse=True)
        return [self._commits[sha] for sha in new]

    def merged(self, base: str, ours: Files, theirs: Files) -> tuple[Files, tuple[str, ...]]:
        """Both changes since `base`, and the files of which each has another; of those: ours."""
        before = self.files(base)
        merged, conflicts = dict(ours), list[str]()
        for path in sorted({*before, *theirs, *ours}):
            old, mine, other = before.get(path), ours.get(path), theirs.get(path)
            if other in (old, mine):
                continue
            if mine != old:
                conflicts.append(path)
            elif other is None:
                merged.pop(path, None)
            else:
                merged[path] = other
        return merged, tuple(conflicts)

    def differences(self, old: str, new: str) -> list[tuple[int, int]]:
        """Lines that were added and taken out, for each file that differs."""
        return [(one.additions, one.deletions) for one in self._changes(old, new)]

    # --- what the box asks ---------------------------------------------------------------------

    async def refs(self) -> dict[str, str]:
        return dict(self._refs)

    async def resolve(self, name: str) -> str | None:
        for known in (f"refs/heads/{name}", f"refs/tags/{name}", f"refs/{name}", name):
            if known in self._refs:
                return self._refs[known]
            if known in self._pulls:
                return self._pulls[known]
        return name if name in self._commits else None

    async def log(
        self, *revisions: str, limit: int = 250, path: str | None = None
    ) -> tuple[Commit, ...]:
        heads = [each for each in revisions if not each.startswith("^")]
        known = [each[1:] for each in revisions if each.startswith("^")]
        found = {one.sha: one for head in heads for one in self.since(head, *known)}
        newest = sorted(found.values(), key=lambda one: self._age[one.sha], reverse=True)
        touched = (one for one in newest if path is None or self._touches(one, path))
        return tuple(itertools.islice(touched, limit))

    async def commit(self, sha: str) -> Commit:
        return self._commits[sha]

    async def merge_base(self, one: str, other: str) -> str:
        return self.parted(one, other)

    async def contains(self, descendant: str, ancestor: str) -> bool:
        return ancestor in self._behind(descendant)

    async def compare(self, base: str, head: str) -> Comparison:
        parted = self.parted(base, head)
        commits = tuple(reversed(self.since(head, base)))
        return Comparison(parted, commits, self._changes(parted, head), len(self.since(base, head)))

    async def changes(self, old: str, new: str) -> tuple[FileChange, ...]:
        return self._changes(old, new)

    async def diff(self, old: str, new: str) -> bytes:
        found = self._changes(old, new)
        return "".join(_printed(one.path, one.status, one.patch) for one in found).encode()

    async def entries(self, sha: str, path: str) -> list[Entry]:
        files, below = self.files(sha), f"{path}/" if path else ""
        if path in files:
            return [_entry(path, files[path])]
        inside = {each[len(below) :].partition("/")[0] for each in files if each.startswith(below)}
        found = []
        for name in sorted(inside):
            whole = f"{below}{name}"
            if whole in files:
                found.append(_entry(whole, files[whole]))
            else:
                within = {k: v for k, v in files.items() if k.startswith(f"{whole}/")}
                found.append(Entry("040000", "tree", self.tree(within), 0, whole))
        return found

    async def blob(self, sha: str) -> bytes:
        for files in self._trees.values():
            for content in files.values():
                if _blob(content) == sha:
                    return content
        raise GitFailed(f"fatal: git cat-file {sha}: bad file")

    async def merged_tree(self, base: str, head: str) -> str | None:
        parted = self.parted(base, head)
        files, conflicts = self.merged(parted, self.files(base), self.files(head))
        return None if conflicts else self.tree(files)

    async def commit_tree(
        self, tree: str, parents: list[str], message: str, name: str, email: str
    ) -> str:
        return self._made(tree, parents, message, name, email)

    async def valid_name(self, ref: str) -> bool:
        return _REF.fullmatch(ref) is not None and ".." not in ref

    async def set_pull(self, number: int, sha: str) -> None:
        self._pulls[f"refs/pull/{number}/head"] = sha

    async def copied(self, path: Path) -> GitRepository:
        fork = copy(self)
        fork.lock, fork.path = asyncio.Lock(), path
        fork._refs, fork._pulls = dict(self._refs), {}
        return fork

    async def take(self, other: GitRepository, sha: str) -> None:
        if sha not in self._commits:  # a fork shares all commits with what it was made from
            raise GitFailed(f"fatal: {other.path}: not our ref {sha}")

    async def move(self, ref: str, new: str, old: str) -> None:
        if self._refs.get(ref, NOTHING) != old:
            raise GitFailed(f"fatal: update_ref failed for ref '{ref}': it is not at {old}")
        if new == NOTHING:
            del self._refs[ref]
        elif new not in self._commits:
            raise GitFailed(f"fatal: update_ref failed for ref '{ref}': {new} does not exist")
        else:
            self._refs[ref] = new

    # --- within --------------------------------------------------------------------------------

    def _made(self, tree: str, parents: list[str], message: str, name: str, email: str) -> str:
        who = Signature(name, email, self._now().isoformat(timespec="seconds"))
        age = next(self._order)
        sha = hashlib.sha1(f"{age} {tree} {parents} {message} {who}".encode()).hexdigest()
        self._commits[sha] = Commit(sha, tree, tuple(parents), who, who, message.strip("\n"))
        self._age[sha] = age
        return sha

    def _behind(self, sha: str) -> set[str]:
        """The commit and all that it rests on."""
        found, waiting = set[str](), [sha]
        while waiting:
            each = waiting.pop()
            if each in self._commits and each not in found:
                found.add(each)
                waiting.extend(self._commits[each].parents)
        return found

    def _touches(self, commit: Commit, path: str) -> bool:
        before = commit.parents[0] if commit.parents else EMPTY_TREE
        changed = [each.path for each in self._changes(before, commit.sha)]
        return any(each == path or each.startswith(f"{path}/") for each in changed)

    def _changes(self, old: str, new: str) -> tuple[FileChange, ...]:
        return tuple(_differences(self.files(old), self.files(new)))


def _differences(old: Files, new: Files) -> Iterator[FileChange]:
    for path in sorted({*old, *new}):
        before, after = old.get(path), new.get(path)
        if before == after:
            continue
        status = "added" if before is None else "removed" if after is None else "modified"
        lines = [*difflib.unified_diff(_lines(before), _lines(after), n=3)][2:]
        plus = sum(line.startswith("+") for line in lines)
        minus = sum(line.startswith("-") for line in lines)
        patch = "".join(lines).rstrip("\n")
        shown = patch if patch and len(patch) <= MAX_PATCH_CHARACTERS else None
        blob = None if after is None else _blob(after)
        yield FileChange(path, None, blob, status, plus, minus, shown)


def _printed(path: str, status: str, patch: str | None) -> str:
    """One file of a change, as git prints it."""
    old = "/dev/null" if status == "added" else f"a/{path}"
    new = "/dev/null" if status == "removed" else f"b/{path}"
    mode = {"added": "new file mode 100644\n", "removed": "deleted file mode 100644\n"}
    head = f"diff --git a/{path} b/{path}\n{mode.get(status, '')}--- {old}\n+++ {new}\n"
    return f"{head}{patch or ''}\n"


def _lines(content: bytes | None) -> list[str]:
    return [] if content is None else content.decode(errors="replace").splitlines(keepends=True)


def _blob(content: bytes) -> str:
    return hashlib.sha1(b"blob %d\0%b" % (len(content), content)).hexdigest()


def _entry(path: str, content: bytes) -> Entry:
    return Entry("100644", "blob", _blob(content), len(content), path)
