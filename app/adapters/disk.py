"""The disk that holds the data directory."""

import shutil
from pathlib import Path
from typing import Final

_MIB: Final = 1024 * 1024


def free_mib(path: Path) -> int:
    """What a user who is not root may still write where `path` is. Raises `OSError`."""
    return shutil.disk_usage(path).free // _MIB
