"""Reads the `.git` that an agent has written, by hand: no git runs, no link is followed.

Only plain files count. A FIFO or a device cannot block (opened non-blocking, then looked at), and
sizes and counts are bounded. What comes out is still untrusted until host git has checked it.
"""

import os
import re
import shutil
import stat
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Final

MOST_HEAD_BYTES: Final = 4096
MOST_PACKED_REFS_BYTES: Final = 16_000_000
MOST_OBJECT_FILES: Final = 200_000
MOST_OBJECT_BYTES: Final = 2_000_000_000
MOST_LINKED_REFS: Final = 5
_SHA: Final = re.compile(r"[0-9a-f]{40}")
_LOCAL_REF: Final = re.compile(r"refs/(?:heads/)?(?:(?![./])[^\x00-\x20~^:?*\[\\/]+/?)+")
_LOOSE_DIRECTORY: Final = re.compile(r"[0-9a-f]{2}")
_LOOSE_FILE: Final = re.compile(r"[0-9a-f]{38}")
_PACK_FILE: Final = re.compile(r"pack-[0-9a-f]{40}\.(?:pack|idx)")
_DIRECTORY: Final = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
_FILE: Final = os.O_RDONLY | os.O_NONBLOCK | os.O_NOFOLLOW | os.O_CLOEXEC


class Unreadable(Exception):
    """The agent's repository is not as git makes it; the text says in which way."""


def head_of(workspace: Path) -> str:
    """The commit that HEAD names, on whatever branch or none. Raises `Unreadable`."""
    name = _text(workspace, (".git", "HEAD"), MOST_HEAD_BYTES)
    for _ in range(MOST_LINKED_REFS):
        if _SHA.fullmatch(name):
            return name
        if not name.startswith("ref: "):
            break
        name = _ref(workspace, name.removeprefix("ref: ").strip())
    raise Unreadable("HEAD names no commit")


def has_stash(workspace: Path) -> bool:
    """Whether work was put aside with `git stash`: no commit of the branch holds that."""
    try:
        return bool(_SHA.fullmatch(_ref(workspace, "refs/stash")))
    except Unreadable:
        return False


def copy_objects(workspace: Path, destination: Path, known_packs: frozenset[str]) -> None:
    """Copy loose objects and unknown packs into the objects directory of a host's repository.

    Alternates are not copied: objects that the agent's repository only borrows are missing
    afterwards. Blocks; run it in a thread. Raises `Unreadable` beyond the bounds.
    """
    budget = _Budget()
    with _opened(workspace, (".git", "objects")) as objects:
        for name in _names(objects):
            if name == "pack":
                _copy_files(objects, name, destination, _PACK_FILE, budget, known_packs)
            elif _LOOSE_DIRECTORY.fullmatch(name):
                _copy_files(objects, name, destination, _LOOSE_FILE, budget)


def packs_of(workspace: Path) -> frozenset[str]:
    """The packs of a clone, by name without suffix."""
    return frozenset(path.stem for path in (workspace / ".git/objects/pack").glob("*.pack"))


# --- references ------------------------------------------------------------------------------


def _ref(workspace: Path, ref: str) -> str:
    if not _LOCAL_REF.fullmatch(ref) or ".." in ref or ref.endswith("/"):
        raise Unreadable("HEAD names something that is no branch")
    try:
        return _text(workspace, (".git", *ref.split("/")), MOST_HEAD_BYTES)
    except FileNotFoundError:
        return _packed_ref(workspace, ref)


def _packed_ref(workspace: Path, ref: str) -> str:
    try:
        packed = _text(workspace, (".git", "packed-refs"), MOST_PACKED_REFS_BYTES)
    except FileNotFoundError:
        packed = ""
    for line in packed.splitlines():
        sha, _, name = line.partition(" ")
        if name == ref:
            return sha
    raise Unreadable("its branch has no commit")


# --- files -----------------------------------------------------------------------------------


@contextmanager
def _opened(workspace: Path, parts: Sequence[str], flags: int = _DIRECTORY) -> Iterator[int]:
    """Open a path below the workspace component by component. Raises `Unreadable`.

    A missing last component of a file is a `FileNotFoundError`: that may be meant.
    """
    where = "/".join(parts)
    descriptor = os.open(workspace, _DIRECTORY)
    try:
        for number, part in enumerate(parts, start=1):
            is_last = number == len(parts)
            deeper = os.open(part, flags if is_last else _DIRECTORY, dir_fd=descriptor)
            os.close(descriptor)
            descriptor = deeper
        yield descriptor
    except FileNotFoundError:
        if flags == _FILE and parts[-1] != "HEAD":
            raise
        raise Unreadable(f"{where} is missing") from None
    except OSError as failure:
        raise Unreadable(f"{where} cannot be read: {failure.strerror}") from None
    finally:
        os.close(descriptor)


def _text(workspace: Path, parts: Sequence[str], most_bytes: int) -> str:
    with _opened(workspace, parts, _FILE) as descriptor:
        where = "/".join(parts)
        if not stat.S_ISREG(os.fstat(descriptor).st_mode):
            raise Unreadable(f"{where} is not a plain file")
        with os.fdopen(os.dup(descriptor), "rb") as file:
            content = file.read(most_bytes + 1)
        if len(content) > most_bytes:
            raise Unreadable(f"{where} is longer than {most_bytes} bytes")
        return content.decode(errors="replace").strip()


class _Budget:
    """How much may still be copied."""

    def __init__(self) -> None:
        self._files = MOST_OBJECT_FILES
        self._bytes = MOST_OBJECT_BYTES

    def spend(self, size_bytes: int) -> None:
        self._files -= 1
        self._bytes -= size_bytes
        if self._files < 0 or self._bytes < 0:
            raise Unreadable(
                f"it holds more than {MOST_OBJECT_FILES} object files or {MOST_OBJECT_BYTES} bytes"
            )


def _copy_files(
    objects: int,
    directory: str,
    destination: Path,
    pattern: re.Pattern[str],
    budget: _Budget,
    known: frozenset[str] = frozenset(),
) -> None:
    """Copy the plain files of one directory whose names fit; all else is not git's."""
    try:
        source = os.open(directory, _DIRECTORY, dir_fd=objects)
    except OSError as failure:
        raise Unreadable(f".git/objects/{directory} cannot be read: {failure.strerror}") from None
    try:
        (destination / directory).mkdir(exist_ok=True)
        for name in _names(source):
            if pattern.fullmatch(name) and Path(name).stem not in known:
                _copy_file(source, name, destination / directory / name, budget)
    finally:
        os.close(source)


def _names(directory: int) -> list[str]:
    with os.scandir(directory) as entries:
        return [entry.name for entry in entries]


def _copy_file(source: int, name: str, target: Path, budget: _Budget) -> None:
    try:
        descriptor = os.open(name, _FILE, dir_fd=source)
    except OSError as failure:
        raise Unreadable(f"object {name} cannot be read: {failure.strerror}") from None
    with os.fdopen(descriptor, "rb") as file:
        status = os.fstat(descriptor)
        if not stat.S_ISREG(status.st_mode):
            raise Unreadable(f"object {name} is not a plain file")
        budget.spend(status.st_size)
        with target.open("wb") as copy:
            shutil.copyfileobj(file, copy)
