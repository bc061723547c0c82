"""Bare repositories: what the REST answers, the pages and a merge need to ask of git."""

from __future__ import annotations

import asyncio
import os
import re
import shutil
import signal
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

MAX_GIT_SECONDS = 60
MAX_PATCH_CHARACTERS = 100_000
"""A longer patch of one file is left out, as GitHub leaves it out."""
MAX_REMEMBERED_COMPARISONS = 512
NOTHING = "0" * 40
"""The SHA with which git writes a reference that does not exist."""
EMPTY_TREE = "4b825dc642cb6eb9a060e54bf8d69288fbee4904"
_SHA = re.compile(r"[0-9a-f]{40}")
_COMMIT_FORMAT = "%x1e%H%x1f%T%x1f%P%x1f%an%x1f%ae%x1f%aI%x1f%cn%x1f%ce%x1f%cI%x1f%B"


class GitFailed(Exception):
    """A git command ended with an error; the text is git's own."""


@dataclass(frozen=True, slots=True)
class Signature:
    name: str
    email: str
    date: str
    """RFC 3339, as git prints it."""


@dataclass(frozen=True, slots=True)
class Commit:
    sha: str
    tree: str
    parents: tuple[str, ...]
    author: Signature
    committer: Signature
    message: str


@dataclass(frozen=True, slots=True)
class FileChange:
    path: str
    previous: str | None
    sha: str | None
    """The blob after the change; None when the file was removed."""
    status: str
    additions: int
    deletions: int
    patch: str | None


@dataclass(frozen=True, slots=True)
class Comparison:
    """What `base...head` shows: everything on head since the two parted."""

    merge_base: str
    commits: tuple[Commit, ...]
    files: tuple[FileChange, ...]
    behind_by: int


@dataclass(frozen=True, slots=True)
class Entry:
    """One entry of a directory."""

    mode: str
    kind: str
    sha: str
    size: int
    path: str


def environment() -> dict[str, str]:
    """The whole environment of every git process: nobody's personal configuration takes part."""
    return {
        "PATH": os.environ["PATH"],
        "LC_ALL": "C.UTF-8",
        "GIT_CONFIG_NOSYSTEM": "1",
        "GIT_CONFIG_GLOBAL": os.devnull,
        "GIT_TERMINAL_PROMPT": "0",
    }


async def run(
    *arguments: str, cwd: Path, stdin: bytes = b"", extra: dict[str, str] | None = None
) -> tuple[int, bytes, bytes]:
    """Run git to its end, at most MAX_GIT_SECONDS: exit code, standard output, standard error."""
    process = await asyncio.create_subprocess_exec(
        "git",
        *arguments,
        cwd=cwd,
        env=environment() | (extra or {}),
        start_new_session=True,
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
    )
    try:
        async with asyncio.timeout(MAX_GIT_SECONDS):
            out, error = await process.communicate(stdin)
    finally:
        await end(process)
    assert process.returncode is not None
    return process.returncode, out, error


async def end(process: asyncio.subprocess.Process) -> None:
    """Make sure that the process and its whole group are gone."""
    if process.returncode is None:
        os.killpg(process.pid, signal.SIGKILL)
        await process.wait()


async def output(
    *arguments: str, cwd: Path, stdin: bytes = b"", extra: dict[str, str] | None = None
) -> str:
    """Standard output of a git command that has to succeed; GitFailed otherwise."""
    code, out, error = await run(*arguments, cwd=cwd, stdin=stdin, extra=extra)
    if code != 0:
        raise GitFailed(f"git {arguments[0]}: {error.decode(errors='replace').strip()}")
    return out.decode(errors="replace")


class GitRepository(Protocol):
    """Commits and references, as REST, the pages and a merge ask for them."""

    @property
    def lock(self) -> asyncio.Lock:
        """Held by whatever moves references."""
        ...

    @property
    def path(self) -> Path:
        """Where git finds it."""
        ...

    async def refs(self) -> dict[str, str]:
        """Every branch and tag by its full name, with the SHA it points to."""
        ...

    async def resolve(self, name: str) -> str | None:
        """The commit of a branch, tag, full reference or SHA; None when there is none."""
        ...

    async def log(
        self, *revisions: str, limit: int = 250, path: str | None = None
    ) -> tuple[Commit, ...]:
        """Commits, newest first; `revisions` are SHAs or `^SHA`."""
        ...

    async def commit(self, sha: str) -> Commit: ...

    async def merge_base(self, one: str, other: str) -> str:
        """The commit where two lines parted; EMPTY_TREE when they have no common history."""
        ...

    async def contains(self, descendant: str, ancestor: str) -> bool: ...

    async def compare(self, base: str, head: str) -> Comparison:
        """`base...head` of two SHAs."""
        ...

    async def changes(self, old: str, new: str) -> tuple[FileChange, ...]:
        """Changed files between two commits or trees, with their patches."""
        ...

    async def diff(self, old: str, new: str) -> bytes:
        """The same, as git prints it."""
        ...

    async def entries(self, sha: str, path: str) -> list[Entry]:
        """What lies at `path` of a commit: the directory's entries, or the one file."""
        ...

    async def blob(self, sha: str) -> bytes: ...

    async def merged_tree(self, base: str, head: str) -> str | None:
        """The tree of a merge of two commits; None when they conflict."""
        ...

    async def commit_tree(
        self, tree: str, parents: list[str], message: str, name: str, email: str
    ) -> str:
        """A new commit of that author; its SHA. No reference moves."""
        ...

    async def valid_name(self, ref: str) -> bool: ...

    async def set_pull(self, number: int, sha: str) -> None:
        """Let `refs/pull/N/head` follow the head of a pull request."""
        ...

    async def copied(self, path: Path) -> GitRepository:
        """A copy; the references of pull requests stay behind."""
        ...

    async def take(self, other: GitRepository, sha: str) -> None:
        """Have a commit of a fork, and all that it rests on."""
        ...

    async def move(self, ref: str, new: str, old: str) -> None:
        """Set a reference from `old` to `new` (NOTHING: there is none); GitFailed if it moved."""
        ...


class BareRepository:
    """One bare repository. `lock` is held by whatever moves references."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.lock = asyncio.Lock()
        self._comparisons: dict[tuple[str, str], Comparison] = {}

    async def _git(
        self, *arguments: str, stdin: bytes = b"", extra: dict[str, str] | None = None
    ) -> str:
        return await output(*arguments, cwd=self.path, stdin=stdin, extra=extra)

    async def refs(self) -> dict[str, str]:
        """Every branch and tag by its full name, with the SHA it points to."""
        kinds = ("refs/heads/", "refs/tags/")
        listing = await self._git("for-each-ref", "--format=%(refname) %(objectname)", *kinds)
        return dict(line.split(" ", 1) for line in listing.splitlines())

    async def resolve(self, name: str) -> str | None:
        """The commit of a branch, tag, full reference or SHA; None when there is none."""
        if name.startswith("-") or not name.isprintable():
            return None
        known = [f"refs/heads/{name}", f"refs/tags/{name}", f"refs/{name}", name]
        for candidate in known if not _SHA.fullmatch(name) else [name]:
            code, out, _ = await run(
                "rev-parse",
                "--verify",
                "--quiet",
                "--end-of-options",
                candidate + "^{commit}",
                cwd=self.path,
            )
            if code == 0:
                return out.decode().strip().splitlines()[-1]
        return None

    async def log(
        self, *revisions: str, limit: int = 250, path: str | None = None
    ) -> tuple[Commit, ...]:
        """Commits, newest first; `revisions` are SHAs or `^SHA`."""
        listing = await self._git(
            "log",
            f"--max-count={limit}",
            f"--format={_COMMIT_FORMAT}",
            *revisions,
            "--",
            *([path] if path else []),
        )
        return tuple(_commit(record) for record in listing.split("\x1e")[1:])

    async def commit(self, sha: str) -> Commit:
        return (await self.log(sha, limit=1))[0]

    async def merge_base(self, one: str, other: str) -> str:
        """The commit where two lines parted; EMPTY_TREE when they have no common history."""
        code, out, _ = await run("merge-base", one, other, cwd=self.path)
        return out.decode().strip() if code == 0 else EMPTY_TREE

    async def contains(self, descendant: str, ancestor: str) -> bool:
        code, _, _ = await run("merge-base", "--is-ancestor", ancestor, descendant, cwd=self.path)
        return code == 0

    async def compare(self, base: str, head: str) -> Comparison:
        """`base...head` of two SHAs; remembered, since two SHAs never compare differently."""
        if (base, head) not in self._comparisons:
            if len(self._comparisons) >= MAX_REMEMBERED_COMPARISONS:
                self._comparisons.clear()
            merge_base = await self.merge_base(base, head)
            commits = await self.log(head, f"^{base}")
            behind = await self._git("rev-list", "--count", base, f"^{head}")
            files = await self.changes(merge_base, head)
            self._comparisons[base, head] = Comparison(
                merge_base, commits[::-1], files, int(behind)
            )
        return self._comparisons[base, head]

    async def changes(self, old: str, new: str) -> tuple[FileChange, ...]:
        """Changed files between two commits or trees, with their patches."""
        options = ("-M", "--no-color", "--no-ext-diff", "--no-textconv", old, new)
        raw = await self._git("diff", "--raw", "--numstat", "--no-abbrev", "-z", *options)
        patch = await self._git("diff", "-p", *options)
        return _file_changes(raw, patch)

    async def diff(self, old: str, new: str) -> bytes:
        options = ("-p", "-M", "--no-color", "--no-ext-diff", "--no-textconv")
        code, out, error = await run("diff", *options, old, new, cwd=self.path)
        if code != 0:
            raise GitFailed(error.decode(errors="replace"))
        return out

    async def entries(self, sha: str, path: str) -> list[Entry]:
        """What lies at `path` of a commit: the directory's entries, or the one file."""
        found = await self._entries(sha, path)
        if path and len(found) == 1 and found[0].kind == "tree" and found[0].path == path:
            return await self._entries(sha, path + "/")
        return found

    async def _entries(self, sha: str, path: str) -> list[Entry]:
        listing = await self._git(
            "ls-tree", "-z", "--long", "--full-tree", sha, "--", *([path] if path else [])
        )
        entries = []
        for line in listing.split("\0")[:-1]:
            meta, _, name = line.partition("\t")
            mode, kind, blob, size = meta.split()
            entries.append(Entry(mode, kind, blob, int(size) if size != "-" else 0, name))
        return entries

    async def blob(self, sha: str) -> bytes:
        code, out, error = await run("cat-file", "blob", sha, cwd=self.path)
        if code != 0:
            raise GitFailed(error.decode(errors="replace"))
        return out

    async def merged_tree(self, base: str, head: str) -> str | None:
        """The tree of a merge of two commits; None when they conflict."""
        code, out, error = await run("merge-tree", "--write-tree", base, head, cwd=self.path)
        if code not in (0, 1):
            raise GitFailed(f"git merge-tree: {error.decode(errors='replace').strip()}")
        return out.decode().splitlines()[0] if code == 0 else None

    async def commit_tree(
        self, tree: str, parents: list[str], message: str, name: str, email: str
    ) -> str:
        """A new commit of that author; its SHA. No reference moves."""
        who = {
            f"GIT_{part}_{field}": value
            for part in ("AUTHOR", "COMMITTER")
            for field, value in (("NAME", name), ("EMAIL", email))
        }
        chain = [word for parent in parents for word in ("-p", parent)]
        made = await self._git("commit-tree", tree, *chain, stdin=message.encode(), extra=who)
        return made.strip()

    async def valid_name(self, ref: str) -> bool:
        code, _, _ = await run("check-ref-format", ref, cwd=self.path)
        return code == 0

    async def set_pull(self, number: int, sha: str) -> None:
        """Let `refs/pull/N/head` follow the head of a pull request; nobody else moves it."""
        await self._git("update-ref", f"refs/pull/{number}/head", sha)

    async def copied(self, path: Path) -> BareRepository:
        """A copy, hook and all; the references of pull requests stay behind."""
        await asyncio.to_thread(shutil.copytree, self.path, path)
        await asyncio.to_thread(shutil.rmtree, path / "refs" / "pull", ignore_errors=True)
        return BareRepository(path)

    async def take(self, other: GitRepository, sha: str) -> None:
        """Have a commit of a fork, and all that it rests on."""
        await self._git("fetch", "--quiet", "--no-write-fetch-head", str(other.path), sha)

    async def move(self, ref: str, new: str, old: str) -> None:
        """Set a reference from `old` to `new` (NOTHING: there is none); GitFailed if it moved."""
        if new == NOTHING:
            await self._git("update-ref", "-d", ref, old)
        else:
            await self._git("update-ref", ref, new, old)


def _commit(record: str) -> Commit:
    sha, tree, parents, *people, message = record.split("\x1f", 9)
    author, committer = Signature(*people[:3]), Signature(*people[3:])
    return Commit(sha, tree, tuple(parents.split()), author, committer, message.strip("\n"))


_STATUS = {
    "A": "added",
    "D": "removed",
    "M": "modified",
    "T": "changed",
    "R": "renamed",
    "C": "copied",
}


def _file_changes(raw: str, patch: str) -> tuple[FileChange, ...]:
    """Join git's raw lines, its counts and its patches; all three come in one order."""
    fields = raw.split("\0")[:-1]
    heads: list[tuple[str, str, str, str | None]] = []  # letter, blob, path, previous path
    counts: list[tuple[int, int]] = []
    position = 0
    while position < len(fields):
        field = fields[position]
        if field.startswith(":"):
            _, _, _, blob, letter = field.split()
            renamed = letter[0] in "RC"
            previous = fields[position + 1] if renamed else None
            heads.append(
                (letter[0], blob, fields[position + 2 if renamed else position + 1], previous)
            )
            position += 3 if renamed else 2
        else:
            added, deleted, name = field.split("\t", 2)
            counts.append((_number(added), _number(deleted)))
            position += 3 if name == "" else 1
    patches = re.split(r"^diff --git .*\n", patch, flags=re.MULTILINE)[1:]
    texts = iter(patches)
    changes = []
    for (letter, blob, path, previous), (plus, minus) in zip(heads, counts, strict=True):
        text = next(texts, "")
        if letter == "T":  # git shows a changed file type as a removal and an addition
            text = next(texts, "")
        changes.append(
            FileChange(
                path,
                previous,
                None if blob == NOTHING else blob,
                _STATUS[letter],
                plus,
                minus,
                _hunks(text),
            )
        )
    return tuple(changes)


def _number(text: str) -> int:
    return 0 if text == "-" else int(text)  # "-" stands for a binary file


def _hunks(text: str) -> str | None:
    start = re.search(r"^@@", text, flags=re.MULTILINE)
    if start is None or len(text) > MAX_PATCH_CHARACTERS:
        return None
    return text[start.start() :].rstrip("\n")
