"""What of a workspace nobody wrote: builds, tests and package managers made it, or the setup did.

No commit of an agent holds it, whatever the project's `.gitignore` forgot; what the default branch
holds itself stays.
"""

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from fnmatch import fnmatchcase
from pathlib import Path, PurePosixPath
from typing import Final

from app.adapters.workspace.host_git import HostGit
from app.adapters.workspace.stage import MOST_LISTING_BYTES, unquoted
from app.adapters.workspace.trees import ABSENT, Change, changes, tree_without

DIRECTORIES: Final = (
    # Python
    *("__pycache__", ".venv", ".tox", ".nox", ".eggs", "*.egg-info", "__pypackages__"),
    *(".pytest_cache", ".mypy_cache", ".ruff_cache", ".hypothesis", ".ipynb_checkpoints"),
    # JavaScript
    *("node_modules", "bower_components", ".parcel-cache", ".turbo", ".nyc_output"),
    *(".next", ".nuxt", ".svelte-kit", ".angular"),
    # JVM, Dart, Terraform
    *(".gradle", ".dart_tool", ".terraform"),
)
"""Names, as `fnmatch` has them, that only tools give a directory."""
FILES: Final = ("*.pyc", "*.pyo", ".coverage", ".coverage.*", ".DS_Store")
"""The same of files."""
BESIDE: Final[Mapping[str, tuple[str, ...]]] = {
    "venv": ("pyproject.toml", "setup.py", "requirements.txt"),
    "build": (
        *("pyproject.toml", "setup.py", "package.json", "CMakeLists.txt", "meson.build"),
        *("build.gradle", "build.gradle.kts", "pubspec.yaml"),
    ),
    "dist": ("pyproject.toml", "setup.py", "package.json"),
    "htmlcov": ("pyproject.toml", "setup.py", "setup.cfg", "tox.ini"),
    "coverage": ("package.json",),
    "target": ("Cargo.toml", "pom.xml", "build.sbt"),
    "_build": ("mix.exs", "dune-project", "rebar.config"),
    "deps": ("mix.exs",),
    ".build": ("Package.swift",),
    "vendor": ("composer.json",),
}
"""Names that people give directories as well: a tool made such a one where one of these files lies
beside it."""


@dataclass(frozen=True, slots=True)
class Beginning:
    """What an agent's work is compared with."""

    base: str
    """The commit of the default branch that it started from."""
    start: str
    """The head of its branch when its clone was made."""
    set_up: str | None
    """The tree of the workspace when its setup had ended; None: there was none."""


async def made_by_tools(
    git: HostGit, directory: Path, workspace: Path, base: str, paths: Iterable[bytes]
) -> Mapping[bytes, str]:
    """Those of the paths that a tool has made, each with the topmost directory (with `/` at its
    end) or file that is to be named for it."""
    found = {path: made for path in paths if (made := _made(workspace, path))}
    if not found:
        return {}
    projects_own = await _held(git, directory, base, {made.rstrip("/") for made in found.values()})
    return {path: made for path, made in found.items() if made.rstrip("/") not in projects_own}


async def without_made(
    git: HostGit, directory: Path, workspace: Path, beginning: Beginning, tree: str
) -> tuple[str, Mapping[bytes, str]]:
    """The tree without what was made; the paths of that, each with what is to be named for it.

    Of what a setup left untracked a file is made as long as it is what the setup left.
    """
    base, start = beginning.base, beginning.start
    added = {
        path: change.after.object
        for path, change in (await changes(git, directory, base, tree)).items()
        if not change.before.is_there and change.after.is_there
    }
    found = dict(await made_by_tools(git, directory, workspace, base, added))
    if beginning.set_up is not None and added:
        by_setup = await changes(git, directory, start, beginning.set_up)
        of_it = [path for path, blob in added.items() if _is_left(by_setup.get(path), blob)]
        found = {**await _in_new_directories(git, directory, start, of_it), **found}
    if not found:
        return tree, {}
    return await tree_without(git, directory, tree, dict.fromkeys(found, ABSENT)), found


def _is_left(left: Change | None, blob: str) -> bool:
    """Whether the setup has left a new file, and left just this."""
    return left is not None and not left.before.is_there and left.after.object == blob


async def _in_new_directories(
    git: HostGit, directory: Path, start: str, paths: Collection[bytes]
) -> Mapping[bytes, str]:
    """The paths, each with the topmost directory (with `/` at its end) above it that `start` does
    not hold; with itself, if there is none."""
    above = {path: [*PurePosixPath(_decoded(path)).parents][-2::-1] for path in paths}
    every = {str(each) for parents in above.values() for each in parents}
    there = await _held(git, directory, start, every)
    return {
        path: next((f"{each}/" for each in parents if str(each) not in there), _decoded(path))
        for path, parents in above.items()
    }


async def _held(git: HostGit, directory: Path, commit: str, paths: Collection[str]) -> set[str]:
    """Those of the paths, of files and of directories, that the commit holds."""
    if not paths:
        return set()
    listed = await git(
        directory,
        *("ls-tree", "--name-only", commit, "--", *sorted(paths)),
        most_output_bytes=MOST_LISTING_BYTES,
    )
    return {_decoded(unquoted(line)) for line in listed.splitlines()}


def _decoded(path: bytes) -> str:
    return path.decode("utf-8", "surrogateescape")


def _made(workspace: Path, path: bytes) -> str:
    """The topmost directory or the file that a tool seems to have made; empty: none."""
    place = PurePosixPath(_decoded(path))
    for parent in [*place.parents][-2::-1]:
        if _is_named(parent.name, DIRECTORIES) or _stands_beside(workspace, parent):
            return f"{parent}/"
    return str(place) if _is_named(place.name, FILES) else ""


def _is_named(name: str, patterns: tuple[str, ...]) -> bool:
    return any(fnmatchcase(name, pattern) for pattern in patterns)


def _stands_beside(workspace: Path, directory: PurePosixPath) -> bool:
    beside = workspace / directory.parent
    return any((beside / name).exists() for name in BESIDE.get(directory.name, ()))
