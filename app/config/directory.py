"""Reads `.squadron/` from disk for `config check`: bounded, regular files only, no links."""

import os
import stat
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Final

from app.config.yamltree import MAX_FILE_BYTES
from app.core.rules.plan import ConfigProblem

MAX_FILES: Final = 64
MAX_DIRECTORY_DEPTH: Final = 4

AGENTS: Final = "agents"
_CONFIG_NAMES: Final = ("config.yaml", "config.yml", "setup.sh", "verify.sh")
_LIKE_FILES: Final = {
    "config.yaml": "config.yaml",
    "config.yml": "config.yaml",
    "setup.sh": "setup.sh",
    "setup": "setup.sh",
    "verify.sh": "verify.sh",
    "verify": "verify.sh",
}
_LIKE_AGENTS: Final = ("agent", "agents", "roles", "role")
_LIKE_MARKDOWN: Final = (".md", ".markdown", ".mdown", ".txt")


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


def unread(directory: Path) -> Sequence[ConfigProblem]:
    """What is there under a name that is almost one of those that are read, and what to call it."""
    agents = directory / AGENTS
    found = [_misnamed(path) for path in sorted(directory.iterdir())]
    if agents.is_dir():
        found += [_misnamed_agent(path) for path in sorted(agents.iterdir())]
    return [each for each in found if each is not None]


def _misnamed(path: Path) -> ConfigProblem | None:
    """In `.squadron` itself."""
    name, is_directory = path.name, path.is_dir()
    if is_directory and name in _CONFIG_NAMES:
        return _problem(path, f"not read: {name} has to be a file")
    if is_directory and name != AGENTS and name.casefold() in _LIKE_AGENTS:
        return _problem(path, f"not read: call the directory {AGENTS}")
    if not is_directory and name == AGENTS:
        return _problem(path, f"not read: {AGENTS} has to be a directory")
    if name == "config.yml" and (path.parent / "config.yaml").exists():
        return _problem(path, "not read: config.yaml is there, too: delete one of them")
    meant = _LIKE_FILES.get(name.casefold())
    if not is_directory and meant is not None and name not in _CONFIG_NAMES:
        return _problem(path, f"not read: call it {meant}")
    return None


def _misnamed_agent(path: Path) -> ConfigProblem | None:
    is_meant = path.suffix.casefold() in _LIKE_MARKDOWN and path.suffix != ".md"
    if is_meant and not path.is_dir():
        return _problem(path, f"not read: call it {path.stem}.md")
    return None


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
