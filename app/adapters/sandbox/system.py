"""What agents' processes need of this machine: bubblewrap, the system's directories, Python."""

import os
import shutil
import sys
from collections.abc import Iterable
from errno import ENOENT
from pathlib import Path
from typing import Final

PROGRAM: Final = "bwrap"
SYSTEM_DIRECTORIES: Final = ("bin", "sbin", "lib", "lib32", "lib64", "libx32")
"""Of the root directory; links into /usr on most machines."""

PROGRAMS_IN: Final = ("/usr/local/sbin", "/usr/local/bin", "/usr/sbin", "/usr/bin", "/sbin", "/bin")


def search_path(mounts: Iterable[Path]) -> str:
    """The `PATH` of agents: first the programs of what the operator mounts, then the system's. It
    is built up, so that how the service was started decides nothing: its own `PATH` often begins
    with its virtual environment, in which agents have no business."""
    places = (mount if mount.name in ("bin", "sbin") else mount / "bin" for mount in mounts)
    return os.pathsep.join((*(str(place) for place in places if place.is_dir()), *PROGRAMS_IN))


def program() -> str:
    """Where bubblewrap is. Raises `FileNotFoundError`."""
    found = shutil.which(PROGRAM)
    if found is None:
        raise FileNotFoundError(ENOENT, "install bubblewrap, 0.8 or newer", PROGRAM)
    return str(Path(found).absolute())


def system() -> list[str]:
    """/usr to read, and /bin and its like as this machine has them: links into it, or
    directories."""
    arguments = ["--ro-bind", "/usr", "/usr"]
    for name in SYSTEM_DIRECTORIES:
        path = Path("/", name)
        if path.is_symlink():
            arguments += ("--symlink", str(path.readlink()), str(path))
        elif path.is_dir():
            arguments += ("--ro-bind", str(path), str(path))
    return arguments


def interpreter() -> Path:
    """This very Python, as it lies below `sys.base_prefix`: there is one wherever Squadron runs."""
    return Path(sys.executable).resolve()
