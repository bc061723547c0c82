"""Looks for secrets in what is about to be pushed: every file, name and message that GitHub lacks.

A commit that took a secret out again leaves it in the one before, so it is the new objects that are
looked through, not the last tree.
"""

import asyncio
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from app.adapters.workspace.host_git import HostGit
from app.adapters.workspace.objects import sizes
from app.adapters.workspace.stage import MOST_LISTING_BYTES, MOST_TOTAL_BYTES
from app.adapters.workspace.trees import Change, Entry, changes
from app.core.rules.protected import named_paths
from app.core.text.redact import Redactor
from app.ports import WorkspaceFailed

BATCH_BYTES: Final = 4_000_000
"""Looked through at once; a larger file is a batch of its own."""
MOST_GUILTY: Final = 200
"""Each takes a search of its own; where there are more, nothing is pushed."""
HEADER_BYTES: Final = 100
"""What git writes around an object."""


@dataclass(frozen=True, slots=True)
class Withheld:
    """What must not be pushed."""

    paths: dict[bytes, Entry]
    """Files that hold a secret, and what belongs there instead."""
    is_in_history: bool
    """Whether the commits hold one, be it in a file that is clean by now: then none is pushed."""


@dataclass(frozen=True, slots=True)
class _Object:
    id: str
    size: int


@dataclass(frozen=True, slots=True)
class SecretSearch:
    """Of one agent's commits, on the host's own objects."""

    git: HostGit
    directory: Path
    redact: Redactor

    async def withheld(self, sha: str, known: str, *others: str) -> Withheld:
        """What `sha` adds to `known`, the head on GitHub, and to `others` that are there.

        What `known` holds already in the changed files is told already. Raises `WorkspaceFailed`.
        """
        guilty = await self._guilty(await self._new_objects(sha, (known, *others)))
        if not guilty:
            return Withheld({}, is_in_history=False)
        changed = await changes(self.git, self.directory, known, sha)
        told = await self._told(changed)
        new = {each for each, found in guilty.items() if found - told}
        paths = {
            path: change.before
            for path, change in changed.items()
            if change.after.object in new or (change.after.is_there and self._is_named_so(path))
        }
        return Withheld(paths, is_in_history=bool(new))

    def _is_named_so(self, path: bytes) -> bool:
        return bool(self.redact.found_in(path.decode(errors="replace")))

    async def _new_objects(self, sha: str, there: Sequence[str]) -> list[_Object]:
        listed = await self.git(
            self.directory,
            *("rev-list", "--objects", "--no-object-names", sha, *(f"^{each}" for each in there)),
            most_output_bytes=MOST_LISTING_BYTES,
        )
        if len(listed) >= MOST_LISTING_BYTES:
            raise WorkspaceFailed(f"{sha[:12]} brings too many files to look through for secrets.")
        objects = await self._objects(listed.split())
        if sum(each.size for each in objects) > MOST_TOTAL_BYTES:
            raise WorkspaceFailed(
                f"{sha[:12]} brings more than {MOST_TOTAL_BYTES} bytes: too much to look through"
                " for secrets."
            )
        return objects

    async def _objects(self, ids: Sequence[str]) -> list[_Object]:
        found = await sizes(self.git, self.directory, ids)
        return [_Object(each, size) for each, size in found.items()]

    async def _guilty(self, objects: Sequence[_Object]) -> dict[str, frozenset[str]]:
        """Objects that hold a secret, and which: by halves, for most hold none. Raises
        `WorkspaceFailed` above `MOST_GUILTY`."""
        guilty = dict[str, frozenset[str]]()
        left = [*_batches(objects)]
        while left:
            batch = left.pop()
            if not (found := await self._found(batch)):
                continue
            if len(batch) > 1:
                half = len(batch) // 2
                left += (batch[:half], batch[half:])
                continue
            guilty[batch[0].id] = found
            if len(guilty) > MOST_GUILTY:
                raise WorkspaceFailed(f"more than {MOST_GUILTY} files and messages hold a secret.")
        return guilty

    async def _told(self, changed: dict[bytes, Change]) -> frozenset[str]:
        """What the changed files held before."""
        ids = {change.before.object for change in changed.values() if change.before.is_file}
        told = await self._guilty(await self._objects(sorted(ids)))
        return frozenset[str]().union(*told.values())

    async def _found(self, batch: Sequence[_Object]) -> frozenset[str]:
        text = await self.git(
            self.directory,
            *("cat-file", "--batch"),
            stdin="\n".join(each.id for each in batch).encode(),
            most_output_bytes=sum(each.size + HEADER_BYTES for each in batch),
        )
        return await asyncio.to_thread(self.redact.found_in, text)


def withheld_words(paths: Sequence[bytes]) -> str:
    """The sentence about files that were kept off the branch; empty: there are none."""
    if not paths:
        return ""
    return f"Files that hold a secret are not on the branch: {named_paths(paths)}."


def _batches(objects: Sequence[_Object]) -> Iterator[list[_Object]]:
    batch, size = list[_Object](), 0
    for each in objects:
        if batch and size + each.size > BATCH_BYTES:
            yield batch
            batch, size = [], 0
        batch.append(each)
        size += each.size
    if batch:
        yield batch
