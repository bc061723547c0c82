"""What a process leaves behind that ends itself since it has lost the database.

It can tell nobody then: its data directory keeps its name, and the next process that starts there
tells the database.
"""

from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import Path


class CutOffNotes:
    """One empty file a process, in a directory of their own."""

    def __init__(self, data_directory: Path) -> None:
        self._directory = data_directory / "cut-off"

    def leave(self, worker: str) -> None:
        """Called by the process itself, at its end. May raise `OSError`."""
        self._directory.mkdir(mode=0o700, exist_ok=True)
        (self._directory / worker).touch()

    def left(self) -> Mapping[str, datetime]:
        """When each ended, by name."""
        if not self._directory.is_dir():
            return {}
        return {
            path.name: datetime.fromtimestamp(path.stat().st_mtime, UTC)
            for path in self._directory.iterdir()
        }

    def forget(self, worker: str) -> None:
        """It was told."""
        (self._directory / worker).unlink(missing_ok=True)
