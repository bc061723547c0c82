"""A directory as one compressed piece of bytes, and back.

Some of what is packed an agent's own programs have written. So only plain files are taken, no link
is followed, nothing is written outside the directory, and both ways have a bound.
"""

import errno
import gzip
import io
import os
import stat
import tarfile
from collections.abc import Collection, Iterator
from pathlib import Path, PurePosixPath
from typing import IO, TYPE_CHECKING, Final

if TYPE_CHECKING:
    from typing_extensions import Buffer

MOST_FILES: Final = 10_000
MOST_UNPACKED_BYTES: Final = 2**29
"""Of a directory before it is compressed."""


class TooMuch(Exception):
    """The directory does not fit."""


def packed(directory: Path, without: Collection[str], most_bytes: int) -> bytes:
    """All plain files below it but those `without`, which are named by their first part. Equal
    files give equal bytes. `most_bytes`: of these, compressed. Raises `TooMuch`; `OSError`."""
    buffer, left = _Bounded(most_bytes), MOST_UNPACKED_BYTES
    with (
        gzip.GzipFile(fileobj=buffer, mode="wb", mtime=0) as squeezed,
        tarfile.open(fileobj=squeezed, mode="w") as archive,
    ):
        for number, (name, file) in enumerate(_files(directory, without), 1):
            content = file.read(left + 1)
            left -= len(content)
            if number > MOST_FILES or left < 0:
                raise TooMuch(f"{directory} holds more than fits")
            entry = tarfile.TarInfo(name)
            entry.size = len(content)
            archive.addfile(entry, io.BytesIO(content))
    return buffer.getvalue()


def unpack(content: bytes, directory: Path) -> None:
    """Write the files below the directory, which is not there yet. Raises `TooMuch`; `OSError`;
    `tarfile.TarError`."""
    left = MOST_UNPACKED_BYTES
    directory.mkdir(mode=0o700, parents=True)
    with tarfile.open(fileobj=io.BytesIO(content), mode="r:gz") as archive:
        for entry in archive:
            name = PurePosixPath(entry.name)
            source = archive.extractfile(entry) if entry.isfile() else None
            if source is None or name.is_absolute() or ".." in name.parts:
                raise tarfile.TarError(f"{entry.name!r} is no file of an agent")
            left -= entry.size
            if left < 0:
                raise TooMuch(f"{directory} would hold too many bytes")
            target = directory / name
            target.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            target.write_bytes(source.read())


def _files(directory: Path, without: Collection[str]) -> Iterator[tuple[str, IO[bytes]]]:
    """By name below the directory, sorted. Each is opened in the directory where it was listed: who
    puts a link in the place of either meanwhile changes nothing."""
    for place, directories, names, listed in os.fwalk(directory):
        below = PurePosixPath(place).relative_to(directory)
        here = [each for each in sorted(directories) if str(below / each) not in without]
        directories[:] = here
        for name in sorted(names):
            file = _opened(name, listed)
            if file is not None:
                with file:
                    yield str(below / name), file


def _opened(name: str, listed: int) -> IO[bytes] | None:
    """None: it is no plain file, or gone."""
    flags = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
    try:
        descriptor = os.open(name, flags, dir_fd=listed)
    except OSError as error:
        if error.errno in (errno.ELOOP, errno.ENOENT, errno.ENXIO):
            return None
        raise
    file = os.fdopen(descriptor, "rb")
    if stat.S_ISREG(os.fstat(descriptor).st_mode):
        return file
    file.close()
    return None


class _Bounded(io.BytesIO):
    """Raises `TooMuch` beyond its bound."""

    def __init__(self, most_bytes: int) -> None:
        super().__init__()
        self._most = most_bytes

    def write(self, content: "Buffer", /) -> int:
        written = super().write(content)
        if self.tell() > self._most:
            raise TooMuch(f"more than {self._most} bytes, compressed")
        return written
