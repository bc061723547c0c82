"""Files of a workspace, opened so that nothing outside of it is ever reached.

The agent writes to the workspace while we look at it, so a check of a path before its use proves
nothing. Every component is opened relative to its parent and no link is followed, wherever it
leads; what was opened is then looked at, and only regular files and directories are used.
"""

import errno
import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from itertools import islice
from pathlib import Path

from app.ports import WORKSPACE_INSIDE

MOST_FILE_BYTES = 1_000_000
MOST_ENTRIES = 500

_SAFE = os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC  # a FIFO without a peer must not block


class FileRefused(Exception):
    """A path or file that the tools do not touch; the text is for the model."""


def view(workspace: Path, path: str) -> str | list[str]:
    """A file's text, or a directory's entries (`name/`, `name@` for a link), sorted."""
    with _opened(workspace, path, os.O_RDONLY) as handle:
        if stat.S_ISDIR(os.fstat(handle).st_mode):
            return _entries(handle)
        return _content(handle, path).decode(errors="replace")


def create(workspace: Path, path: str, text: str) -> None:
    """Write a whole file, new or not; missing directories are made."""
    content = _encoded(text)
    with _opened(workspace, path, os.O_WRONLY | os.O_CREAT, make_parents=True) as handle:
        _require_regular(handle, path)
        _replace(handle, content)


def edit(workspace: Path, path: str, old: str, new: str) -> None:
    """Replace the only occurrence of `old`."""
    with _opened(workspace, path, os.O_RDWR) as handle:
        content, wanted = _content(handle, path), _encoded(old)
        found = content.count(wanted) if wanted else 0
        if found != 1:
            raise FileRefused(
                f"the text to replace occurs {found} times in {path}, it must occur exactly once;"
                " view the file and quote more of it"
                if wanted
                else "the text to replace is empty"
            )
        _replace(handle, content.replace(wanted, _encoded(new)))


@contextmanager
def _opened(workspace: Path, path: str, flags: int, *, make_parents: bool = False) -> Iterator[int]:
    """A descriptor of `path` below `workspace`. Raises `FileRefused`."""
    *parents, last = _components(workspace, path)
    try:
        directory = os.open(workspace, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        try:
            for name in parents:
                directory = _into(directory, name, make=make_parents)
            handle = os.open(last, flags | _SAFE, 0o666, dir_fd=directory)
            if flags & os.O_CREAT:
                handle = _given(handle, directory)
        finally:
            os.close(directory)
    except OSError as error:
        raise FileRefused(_why(error, path)) from error
    try:
        yield handle
    except OSError as error:
        raise FileRefused(_why(error, path)) from error
    finally:
        os.close(handle)


def _components(workspace: Path, path: str) -> list[str]:
    """The path below the workspace, name by name; `.` for the workspace itself."""
    if "\0" in path:
        raise FileRefused("a path cannot hold a NUL character")
    relative = path
    if path.startswith("/"):
        roots = (str(WORKSPACE_INSIDE), str(workspace), str(workspace.resolve()))
        inside = [root for root in roots if path == root or path.startswith(f"{root}/")]
        if not inside:
            raise FileRefused(f"{path} is outside of the workspace {workspace}")
        relative = path[len(inside[0]) :].lstrip("/")
    names = os.path.normpath(relative or ".").split("/")
    if ".." in names:
        raise FileRefused(f"{path} leads out of the workspace")
    return names


def _into(directory: int, name: str, *, make: bool) -> int:
    """Step from one open directory into the next; the first one is closed on success."""
    if make:
        with suppress(FileExistsError):
            os.mkdir(name, dir_fd=directory)
    deeper = os.open(name, os.O_RDONLY | os.O_DIRECTORY | _SAFE, dir_fd=directory)
    if make:
        deeper = _given(deeper, directory)
    os.close(directory)
    return deeper


def _given(handle: int, directory: int) -> int:
    """What the service made in an agent's directory, given to the agent: where the service is
    root, they are two users. It is closed where that fails."""
    try:
        user, owner = os.geteuid(), os.fstat(directory)
        if owner.st_uid != user == os.fstat(handle).st_uid:
            os.fchown(handle, owner.st_uid, owner.st_gid)
    except OSError:
        os.close(handle)
        raise
    return handle


def _entries(handle: int) -> list[str]:
    with os.scandir(handle) as entries:
        found = [
            f"{entry.name}{'@' if entry.is_symlink() else '/' if entry.is_dir() else ''}"
            for entry in islice(entries, MOST_ENTRIES + 1)
        ]
    shown = sorted(found[:MOST_ENTRIES])
    return shown if len(found) == len(shown) else [*shown, "(and more: use bash to list them)"]


def _content(handle: int, path: str) -> bytes:
    _require_regular(handle, path)
    chunks, left = [], MOST_FILE_BYTES + 1
    while left and (chunk := os.read(handle, left)):
        chunks.append(chunk)
        left -= len(chunk)
    if not left:
        raise FileRefused(f"{path} is larger than {MOST_FILE_BYTES} bytes; use bash for it")
    return b"".join(chunks)


def _require_regular(handle: int, path: str) -> None:
    if not stat.S_ISREG(os.fstat(handle).st_mode):
        raise FileRefused(f"{path} is not a regular file")


def _encoded(text: str) -> bytes:
    try:
        content = text.encode()
    except UnicodeEncodeError as error:
        raise FileRefused(f"the text is not valid Unicode ({error.reason})") from error
    if len(content) > MOST_FILE_BYTES:
        raise FileRefused(f"the text is larger than {MOST_FILE_BYTES} bytes; write it in parts")
    return content


def _replace(handle: int, content: bytes) -> None:
    os.ftruncate(handle, 0)
    os.lseek(handle, 0, os.SEEK_SET)
    while content:
        content = content[os.write(handle, content) :]


def _why(error: OSError, path: str) -> str:
    if error.errno in (errno.ENOTDIR, errno.ELOOP):
        return f"{path}: a link, or a file used as a directory; links are not followed"
    return f"{path}: {error.strerror}"
