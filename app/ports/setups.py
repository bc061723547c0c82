"""Results of setups, kept on this machine for the next agents of the same repository."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Protocol

from app.ports.blame import Blame, PortFailed


class KeptSetupFailed(PortFailed):
    """A kept result could not be taken, and is kept no more: the workspace is to be discarded, as
    parts of it may lie there."""

    blame = Blame.MACHINE


@dataclass(frozen=True, slots=True)
class SetupOrder:
    """What prepares a workspace, and which; equal ones have equal results."""

    repository_id: int
    commands: tuple[str, ...]
    script: str
    dependencies: str
    """As of `Checkout`; never empty."""
    workspace: Path
    """A fresh clone, its HEAD on its branch."""
    environment: Mapping[str, str]
    """Of the setup's processes; it names its `HOME`."""


class Setups(Protocol):
    """What setups have left in workspaces and homes. Agents never write there: only a setup does,
    and only where nobody but people with access decides what it is and what it works on."""

    async def take(self, order: SetupOrder, now: datetime) -> datetime | None:
        """Lay the result of an equal setup into workspace and home; when that setup ran. None:
        there is none, and nothing is changed. Raises `KeptSetupFailed`, `OSError`."""
        ...

    async def begin(self, order: SetupOrder) -> str:
        """Before a setup whose result could be kept: what `keep` compares with; empty where it
        cannot be kept. Raises `OSError`."""
        ...

    async def keep(self, order: SetupOrder, begun: str, now: datetime) -> str:
        """Keep what the setup has left, before anybody else works there; the reason in words if it
        is not kept. Raises `OSError`."""
        ...

    async def tidy(self, now: datetime) -> None:
        """Delete what is too old, too much, or was left by a process that died. Raises
        `OSError`."""
        ...
