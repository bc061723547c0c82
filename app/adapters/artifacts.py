"""What is kept of agents in a directory or in an S3-compatible bucket that every worker reaches.

The database says which file is the newest, and lets nobody write who was
overtaken: a file that no row names is of no account.
"""

import asyncio
import hashlib
import logging
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Final, TypeVar
from urllib.parse import quote

import fsspec

from app.core.agents.agent import Agent, AgentId
from app.ports import Artifact, ArtifactKind, Artifacts, StoreUnavailable

SECONDS: Final = 60.0
"""For one request and its repeats."""
MOST_MIB_IN_FILES: Final = 256
"""Of an agent, compressed. A process holds them in its memory for a moment."""
_S3: Final = {
    "config_kwargs": {
        "connect_timeout": 5,
        "read_timeout": 20,
        "retries": {"max_attempts": 2, "mode": "standard"},
    }
}
_IN_A_FILE: Final = b"squadron:file:"
"""How a row begins whose content is in a file: its digest and its name follow."""

Answer = TypeVar("Answer")
log = logging.getLogger("squadron.artifacts")


def artifacts_at(address: str | None, rows: Artifacts, new_name: Callable[[], str]) -> Artifacts:
    """In the directory or the bucket that the address names (`/path`, `s3://bucket/path`); None:
    in the rows themselves. Raises `ValueError` if the library for such addresses is missing."""
    return rows if address is None else FileArtifacts(SharedFiles(address), rows, new_name)


def artifact_problems(address: str | None) -> list[str]:
    """What is missing on this machine for such an address. Nothing is asked there."""
    if address is None:
        return []
    try:
        SharedFiles(address)
    except ValueError as error:
        return [f"SQUADRON_ARTIFACTS: {error}"]
    return []


class SharedFiles:
    """Files below an address. All methods raise `StoreUnavailable`."""

    def __init__(self, address: str) -> None:
        """Raises `ValueError` if the library for such addresses is missing."""
        self._address = address
        self._directory = None if "://" in address else Path(address)
        known = _S3 if self._directory is None else {"auto_mkdir": True}
        try:
            self._files, self._root = fsspec.url_to_fs(
                address, use_listings_cache=False, skip_instance_cache=True, **known
            )
        except ImportError as error:
            raise ValueError(
                f"{address}: {error}. For s3:// install Squadron with its extra `s3`."
            ) from error

    async def write(self, file: str, content: bytes) -> None:
        """A new file."""
        await self._do(self._write, file, content)

    async def read(self, file: str) -> bytes | None:
        """None: there is no such file."""
        try:
            return await self._do(self._files.cat_file, file)
        except FileNotFoundError:
            return None

    async def delete(self, file: str) -> None:
        """The file, or all files below that name, if there are any."""
        with suppress(FileNotFoundError):
            await self._do(partial(self._files.rm, recursive=True), file)

    async def trial(self, name: str) -> None:
        """Write a file of that name, read it, and delete it."""
        content = b"Squadron looks whether it can write here."
        await self.write(name, content)
        read = await self.read(name)
        await self.delete(name)
        if read != content:
            raise StoreUnavailable(f"{self._address}: what is read is not what was written")

    def _write(self, path: str, content: bytes) -> None:
        if self._directory is not None:
            self._directory.mkdir(mode=0o700, parents=True, exist_ok=True)
        self._files.pipe_file(path, content)

    async def _do(self, what: Callable[..., Answer], file: str, *arguments: bytes) -> Answer:
        """What the library of the address raises becomes `StoreUnavailable`."""
        try:
            async with asyncio.timeout(SECONDS):
                return await asyncio.to_thread(what, f"{self._root}/{file}", *arguments)
        except FileNotFoundError:
            raise
        except Exception as error:  # each kind of address has a library with errors of its own
            said = str(error) or type(error).__name__
            raise StoreUnavailable(f"{self._address}: {said}") from error


class FileArtifacts:
    """Implements `ports.Artifacts`: rows of the database, which name files."""

    def __init__(self, files: SharedFiles, rows: Artifacts, new_name: Callable[[], str]) -> None:
        self._files = files
        self._rows = rows
        self._new_name = new_name

    async def artifact(self, agent: AgentId, kind: ArtifactKind) -> Artifact | None:
        """What was kept of it last; None: nothing, or its file is gone or damaged."""
        row = await self._rows.artifact(agent, kind)
        if row is None or (named := _named(row)) is None:
            return row
        digest, file = named
        content = await self._files.read(file)
        if content is None or hashlib.sha256(content).hexdigest() != digest:
            what = "gone" if content is None else "damaged"
            log.warning("a kept file is %s: %s", what, file, extra={"agent": str(agent)})
            return None
        return Artifact(content, row.model_calls)

    async def keep_artifact(self, agent: Agent, kind: ArtifactKind, artifact: Artifact) -> bool:
        """In the place of what was kept before, unless it has gone on since it was seen; then
        False."""
        before = await self._rows.artifact(agent.id, kind)
        row, file = artifact, ""
        if artifact.content:
            file = f"{_directory(agent.id)}/{kind}-{self._new_name()}"
            await self._files.write(file, artifact.content)
            digest = hashlib.sha256(artifact.content).hexdigest()
            row = Artifact(_IN_A_FILE + f"{digest} {file}".encode(), artifact.model_calls)
        is_kept = await self._rows.keep_artifact(agent, kind, row)
        named = None if before is None else _named(before)
        stale = file if not is_kept else named[1] if named else ""
        if stale:
            await self._is_deleted(stale)
        return is_kept

    async def forget_artifacts(self, agent: AgentId) -> None:
        """Keep nothing of it any longer. Who has no rows is asked for nowhere else: this is called
        for every agent that has ended long ago, each day."""
        rows = [await self._rows.artifact(agent, kind) for kind in ArtifactKind]
        if any(rows) and await self._is_deleted(_directory(agent)):
            await self._rows.forget_artifacts(agent)

    async def _is_deleted(self, file: str) -> bool:
        try:
            await self._files.delete(file)
        except StoreUnavailable as away:
            log.warning("a kept file is not deleted: %s", away)
            return False
        return True


def _named(row: Artifact) -> tuple[str, str] | None:
    """The digest and the name of the file that holds its content; None: the row does."""
    if not row.content.startswith(_IN_A_FILE):
        return None
    digest, _, file = row.content.removeprefix(_IN_A_FILE).decode().partition(" ")
    return digest, file


def _directory(agent: AgentId) -> str:
    return quote(str(agent), safe="").replace("_", "%5F").replace("%", "_")
