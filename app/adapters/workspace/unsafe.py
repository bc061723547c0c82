"""What of a tree would harm whoever checks it out: links that lead out of it, submodules that run
something, files too large for GitHub.

It is judged on the host's own objects, by host git, without a checkout.
"""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import Final

from app.adapters.workspace.host_git import GitFailed, HostGit
from app.adapters.workspace.objects import sizes
from app.adapters.workspace.stage import MOST_FILE_BYTES
from app.adapters.workspace.trees import Change, Entry
from app.core.rules.protected import MOST_NAMED
from app.ports import WorkspaceFailed

MOST_LINK_BYTES: Final = 4_096
"""Linux takes no longer path."""
MOST_SUBMODULE_BYTES: Final = 100_000
MOST_READ: Final = 1_000
"""Links and lists of submodules that one agent changes; git starts once for each."""
_LINK, _FILE = "120000", "100"
_SUBMODULES: Final = re.compile(rb"\.gitmodules[ .]*|gitmod~[1-4]", re.IGNORECASE)
"""The file in whatever letters: some disks fold their case, some cut off blanks and dots at the
end, some have short names."""
_RUNS: Final = re.compile(r"-|ext::|fd::|.*[\x00-\x1f\x7f]", re.DOTALL | re.IGNORECASE)
"""An address that git or ssh would take for an option or for a command."""


async def unsafe_changes(
    git: HostGit, directory: Path, changed: Mapping[bytes, Change]
) -> dict[bytes, str]:
    """Those of the changed paths that must not be pushed, each with why. Raises
    `WorkspaceFailed`."""
    files = sorted({each.after.object for each in changed.values() if each.after.is_file})
    known = await sizes(git, directory, files)
    look = _Look(git, directory)
    read = [path for path, change in changed.items() if _is_read(path, change.after)]
    if len(read) > MOST_READ:
        raise WorkspaceFailed(f"the work changes more than {MOST_READ:,} links.")
    found = {
        path: await look.why(path, change, known.get(change.after.object, 0))
        for path, change in changed.items()
    }
    return {path: why for path, why in found.items() if why}


def unsafe_words(refused: Mapping[bytes, str]) -> str:
    """The sentence about what was kept off the branch; empty: nothing was."""
    if not refused:
        return ""
    named = ", ".join(
        f"`{path.decode(errors='replace')}` ({why})"
        for path, why in sorted(refused.items())[:MOST_NAMED]
    )
    more = f" and {len(refused) - MOST_NAMED} more" if len(refused) > MOST_NAMED else ""
    return f"What would harm whoever checks it out is not on the branch: {named}{more}."


@dataclass(frozen=True, slots=True)
class _Look:
    git: HostGit
    directory: Path

    async def why(self, path: bytes, change: Change, size: int) -> str:
        """Why a path must not be pushed as it is now; empty: it may."""
        if change.after.mode == _LINK:
            return await self._link(path, change.after.object, size)
        if not change.after.mode.startswith(_FILE):
            return ""
        if size > MOST_FILE_BYTES:
            return f"larger than {MOST_FILE_BYTES} bytes"
        if _is_read(path, change.after):
            return await self._submodules(change.after.object, size)
        return ""

    async def _link(self, path: bytes, link: str, size: int) -> str:
        if size > MOST_LINK_BYTES:
            return "a link with too long a target"
        target = await self.git(self.directory, "cat-file", "blob", link)
        return "a link that leads out of the repository" if leads_out(path, target) else ""

    async def _submodules(self, blob: str, size: int) -> str:
        if size > MOST_SUBMODULE_BYTES:
            return "too large to be read"
        try:
            listed = await self.git(
                self.directory, "config", "--no-includes", "--blob", blob, "--null", "--list"
            )
        except GitFailed as failure:
            if failure.is_transient:
                raise
            return "git cannot read it"
        return next((why for why in map(_said_by, _settings(listed)) if why), "")


def _is_read(path: bytes, entry: Entry) -> bool:
    """Whether what it holds decides, and not only how large it is."""
    is_submodules = _SUBMODULES.fullmatch(path.rpartition(b"/")[2]) is not None
    return entry.mode == _LINK or (entry.mode.startswith(_FILE) and is_submodules)


def leads_out(path: bytes, target: str) -> bool:
    """Whether a link at `path` may lead out of the tree that holds it.

    Only what goes up at its beginning can be followed on paper: a later `..` goes up from wherever
    another link leads to.
    """
    parts = PurePosixPath(target).parts
    names = [part for part in parts if part != ".."]
    up = len(parts) - len(names)
    begins_there = parts[:up] == ("..",) * up
    return target.startswith("/") or not begins_there or up > path.count(b"/")


def _settings(listed: str) -> Iterator[tuple[str, str]]:
    for setting in filter(None, listed.split("\0")):
        key, _, value = setting.partition("\n")
        yield key, value


def _said_by(setting: tuple[str, str]) -> str:
    key, value = setting
    section, _, rest = key.partition(".")
    name, _, variable = rest.rpartition(".")
    if section != "submodule":
        return ""
    if _climbs(name):
        return f"the submodule's name {name!r} leads out of the repository"
    match variable:
        case "update" if value.startswith("!"):
            return "a submodule's `update` runs a command"
        case "url" if _RUNS.match(value):
            return "a submodule's `url` is no address"
        case "path" if value.startswith(("-", "/")) or _climbs(value):
            return "a submodule's `path` leads out of the repository"
    return ""


def _climbs(name: str) -> bool:
    return ".." in re.split(r"[/\\]", name)
