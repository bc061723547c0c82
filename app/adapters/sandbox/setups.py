"""Results of setups, kept as archives that only sandboxes write and read.

What a repository holds decides what lies in a workspace, links included: so all packing and
unpacking is done where a link leads nowhere. The service itself only moves and deletes the
archives; it never looks into one.
"""

import asyncio
import hashlib
import json
import os
import platform
import secrets
import shutil
import stat
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Final

from app.ports import (
    WORKSPACE_INSIDE,
    Ended,
    KeptSetupFailed,
    Processes,
    SetupOrder,
    Stay,
    Walls,
)

SECONDS: Final = 300.0
"""For packing, and for unpacking."""
LEFT_OVER_AFTER: Final = timedelta(hours=1)
"""Longer than any packing takes."""
TOOLS: Final = ("python3", "node", "ruby", "php", "java", "go", "rustc", "gcc", "elixir", "dotnet")
"""What results are made for, where this machine has it."""
_FORM: Final = 1
"""Of an archive; one more when older ones must not be read."""
_MOST_SAID: Final = 500
_PACKED: Final = "packed"
_MOST_TRACKED_CHANGED: Final = 3

_INSIDE: Final = f"""\
set -euo pipefail
cd {WORKSPACE_INSIDE}
no() {{ echo "$1"; exit 3; }}
tracked() {{ git status --porcelain --untracked-files=no | sed -n 1,{_MOST_TRACKED_CHANGED}p; }}
"""
_STATE: Final = """\
state() {
  (
    cd .git
    find . \\( -path ./objects -o -path ./logs -o -path ./hooks \\) -prune \\
      -o ! -type d ! -path ./index ! -path ./config -print0 | sort -z | xargs -0 sha256sum
  ) | sha256sum
}
"""
"""Of `.git`, but for what is packed, and for what changes by looking."""
_BEGIN: Final = f"{_INSIDE}{_STATE}state\n"
_PACK: Final = f"""\
{_INSIDE}{_STATE}
changed=$(tracked)
[ -z "$changed" ] || no "it changes files that git tracks:
$changed"
[ "$(state)" = "$2" ] || no "it changes more of .git than config and hooks"
ulimit -f $(($3 / 1024))
left() {{
  printf '%s\\0' home workspace/.git/config
  [ ! -d .git/hooks ] || printf '%s\\0' workspace/.git/hooks
  git ls-files -z --others --directory | sed -z s,^,workspace/,
}}
bytes=$(left | (cd .. && du --bytes --total --files0-from=-) | sed -n '$s/[^0-9].*//p')
[ "$bytes" -le "$3" ] || no "it takes $bytes bytes, and at most $3 are kept"
left | tar --directory=.. --create --file="$1" --no-unquote --null --files-from=- ||
  no "it cannot be packed into $3 bytes"
sync "$1"
"""
# What is cut off between two files is whole to tar.
_UNPACK: Final = f"""\
{_INSIDE}
[ -s "$1" ] && [ -z "$(tail -c 1024 "$1" | tr -d '\\0')" ] || no "its end is missing"
tar --directory=.. --extract --preserve-permissions --file="$1" --delay-directory-restore
changed=$(tracked)
[ -z "$changed" ] || no "it would change files that git tracks here:
$changed"
"""


@dataclass(frozen=True, slots=True)
class Room:
    """How much is kept."""

    one_bytes: int = 2 * 1024**3
    all_bytes: int = 10 * 1024**3
    """What was taken least recently goes first."""
    age: timedelta = timedelta(days=7)


class NoSetups:
    """`Setups` where there is no sandbox: each workspace has another path, and a setup could put
    anything into the way of the next."""

    async def take(self, order: SetupOrder, now: datetime) -> datetime | None:
        """There is none."""
        return None

    async def begin(self, order: SetupOrder) -> str:
        """It cannot be kept."""
        return ""

    async def keep(self, order: SetupOrder, begun: str, now: datetime) -> str:
        """It is not kept."""
        return "there is no sandbox"

    async def tidy(self, now: datetime) -> None:
        """There is nothing."""


@dataclass(frozen=True, slots=True)
class ArchivedSetups:
    """`Setups`, one file each: `REPOSITORY_ID/DIGEST.tar`. It was modified when its setup ran, and
    accessed when it was taken last. What is being packed lies in `unfinished/` until it is whole.
    """

    directory: Path
    """Of ours; not there at first."""
    walls: Walls
    processes: Processes
    """Outside of the walls."""
    rules: Sequence[str]
    """What else decides what a setup can do: mounts and hosts."""
    room: Room = Room()

    async def take(self, order: SetupOrder, now: datetime) -> datetime | None:
        """As `Setups.take`."""
        archive = self._archive(order)
        found = _plain(archive)
        if found is None or self._is_old(found, now) or _is_used(order):
            return None
        ended = await self._inside(order, _UNPACK, str(archive), readable=archive)
        if ended.exit_code != 0:
            archive.unlink(missing_ok=True)
            raise KeptSetupFailed(_said(ended))
        with suppress(FileNotFoundError):
            os.utime(archive, (now.timestamp(), found.st_mtime))
        return datetime.fromtimestamp(found.st_mtime, UTC)

    async def begin(self, order: SetupOrder) -> str:
        """As `Setups.begin`."""
        if _is_used(order):
            return ""
        ended = await self._inside(order, _BEGIN)
        return ended.output.strip() if ended.exit_code == 0 else ""

    async def keep(self, order: SetupOrder, begun: str, now: datetime) -> str:
        """As `Setups.keep`."""
        archive = self._archive(order)
        kept = _plain(archive)
        if kept is not None and not self._is_old(kept, now):
            return "an equal one was kept meanwhile"
        desk = self.directory / "unfinished" / secrets.token_hex(8)
        for directory in (self.directory, desk.parent, desk, archive.parent):
            directory.mkdir(mode=0o700, exist_ok=True)
        packed = desk / _PACKED
        try:
            most = str(self.room.one_bytes)
            ended = await self._inside(order, _PACK, str(packed), begun, most, writable=desk)
            if ended.exit_code != 0:
                return _said(ended)
            if _plain(packed) is None:
                return "what was packed is no plain file"
            os.utime(packed, (now.timestamp(), now.timestamp()))
            packed.rename(archive)
        finally:
            await asyncio.to_thread(shutil.rmtree, desk, ignore_errors=True)
        await self.tidy(now)
        return ""

    async def tidy(self, now: datetime) -> None:
        """As `Setups.tidy`."""
        await asyncio.to_thread(self._tidy, now)

    def _tidy(self, now: datetime) -> None:
        for desk in self.directory.glob("unfinished/*"):
            with suppress(FileNotFoundError):
                if now.timestamp() - desk.lstat().st_mtime > LEFT_OVER_AFTER.total_seconds():
                    shutil.rmtree(desk, ignore_errors=True)
        total = 0
        for archive, status in sorted(self._archives(), key=lambda each: -each[1].st_atime):
            total += status.st_size
            if self._is_old(status, now) or total > self.room.all_bytes:
                archive.unlink(missing_ok=True)

    def _archives(self) -> Iterator[tuple[Path, os.stat_result]]:
        for archive in self.directory.glob("*/*.tar"):
            if (status := _plain(archive)) is not None:
                yield archive, status

    def _is_old(self, status: os.stat_result, now: datetime) -> bool:
        return now.timestamp() - status.st_mtime > self.room.age.total_seconds()

    def _archive(self, order: SetupOrder) -> Path:
        machine = _machine(order.environment.get("PATH", os.defpath))
        said = json.dumps(
            [_FORM, order.commands, order.script, order.dependencies, *self.rules, machine]
        )
        digest = hashlib.sha256(said.encode(errors="replace")).hexdigest()
        return self.directory / str(order.repository_id) / f"{digest}.tar"

    async def _inside(
        self,
        order: SetupOrder,
        script: str,
        *words: str,
        readable: Path | None = None,
        writable: Path | None = None,
    ) -> Ended:
        """Run a script behind the walls of the setup's agent."""
        stay = Stay(
            order.workspace,
            order.environment,
            readable=() if readable is None else (readable,),
            writable=() if writable is None else (writable,),
        )
        async with self.walls.around(stay) as entered:
            return await self.processes.run(
                [*entered.before, "bash", "-c", script, "setup", *words],
                cwd=self.directory.parent,
                environment=order.environment,
                timeout_seconds=SECONDS,
            )


def _plain(path: Path) -> os.stat_result | None:
    """What there is to know of a plain file; None: there is none."""
    try:
        status = path.lstat()
    except FileNotFoundError:
        return None
    return status if stat.S_ISREG(status.st_mode) else None


def _is_used(order: SetupOrder) -> bool:
    """Whether somebody was at home before the setup: what is there is not the setup's."""
    home = Path(order.environment["HOME"])
    return home.is_dir() and any(home.iterdir())


def _machine(path: str) -> Sequence[object]:
    """What results are made for: the system, and the tools that agents find on their `PATH`."""
    system = Path("/etc/os-release")
    found = (shutil.which(name, path=path) for name in TOOLS)
    tools = [Path(program).resolve() for program in found if program is not None]
    return [
        platform.machine(),
        system.read_text(errors="replace") if system.is_file() else "",
        path,
        *((str(tool), (status := tool.stat()).st_size, status.st_mtime_ns) for tool in tools),
    ]


def _said(ended: Ended) -> str:
    if ended.exit_code is None:
        return f"no end within {SECONDS:.0f} s"
    return ended.output.strip()[-_MOST_SAID:] or f"exit code {ended.exit_code}"
