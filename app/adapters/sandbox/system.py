"""What a sandbox needs of this machine: bubblewrap, and the system's directories as they are."""

import shutil
from errno import ENOENT
from pathlib import Path
from typing import Final

PROGRAM: Final = "bwrap"
SYSTEM_DIRECTORIES: Final = ("bin", "sbin", "lib", "lib32", "lib64", "libx32")
"""Of the root directory; links into /usr on most machines."""


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
