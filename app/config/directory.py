"""Reads `.squadron/` from disk for `config check`: bounded, regular files only, no links."""

import os
import stat
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Final

from app.config.yamltree import MAX_FILE_BYTES
from app.core.rules.plan import ConfigProblem

MAX_FILES: Final = 64
MAX_DIRECTORY_DEPTH: Final = 4

_CONFIG_NAMES: Final = ("config.yaml", "config.yml", "setup.sh", "verify.sh")


class UnreadableDirectory(Exception):
    """The directory holds something that Squadron does not read."""

    def __init__(self, problems: tuple[ConfigProblem, ...]) -> None:
        super().__init__("\n".join(map(str, problems)))
        self.problems = problems


def read_directory(directory: Path) -> Mapping[str, bytes]:
    """`config.yaml`, `setup.sh`, `verify.sh` and every `.md` file below `directory`, by relative
    POSIX path.

    A file larger than the bound comes one byte too long, for the reader to refuse. Raises
    `UnreadableDirectory` for links (GitHub's answer for a link is its text, so it would work here
    only), special files, unreadable files, and more files or depth than the bounds.
    """
    contents: dict[str, bytes] = {}
    problems: list[ConfigProblem] = []
    for path in _wanted(directory, problems):
        if len(contents) + len(problems) >= MAX_FILES:
            problems.append(_problem(directory, f"more than {MAX_FILES} files"))
            break
        try:
            mode = path.lstat().st_mode
            if stat.S_ISLNK(mode):
                problems.append(_problem(path, "a link: Squadron reads regular files only"))
            elif not stat.S_ISREG(mode):
                problems.append(_problem(path, "not a regular file"))
            else:
                with path.open("rb") as file:
                    contents[path.relative_to(directory).as_posix()] = file.read(MAX_FILE_BYTES + 1)
        except OSError as error:
            problems.append(_problem(path, f"cannot be read: {error.strerror}"))
    if problems:
        raise UnreadableDirectory(tuple(problems))
    return contents


def _wanted(directory: Path, problems: list[ConfigProblem]) -> Iterator[Path]:
    """The paths that matter: configuration, agent files, and links that stand for a directory."""

    def refuse(error: OSError) -> None:
        problems.append(_problem(Path(error.filename), f"cannot be read: {error.strerror}"))

    for at, below, names in os.walk(directory, onerror=refuse):
        here = Path(at)
        yield from (here / name for name in sorted(below) if (here / name).is_symlink())
        if len(here.relative_to(directory).parts) >= MAX_DIRECTORY_DEPTH and below:
            problems.append(_problem(here, f"nested deeper than {MAX_DIRECTORY_DEPTH} directories"))
            below.clear()
        below.sort()
        for name in sorted(names):
            if name.endswith(".md") or (here == directory and name in _CONFIG_NAMES):
                yield here / name


def _problem(path: Path, message: str) -> ConfigProblem:
    return ConfigProblem(str(path), 1, 1, message)
