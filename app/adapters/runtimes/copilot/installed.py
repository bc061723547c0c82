"""Whether this machine has what the Copilot runtime needs, and which command brings it."""

import os
import shutil
from importlib.util import find_spec
from pathlib import Path
from typing import Final

from app.ports import RuntimeMissing

SDK_VERSION: Final = "1.0.27"
CLI_VERSION: Final = "1.0.102"
CLI_VARIABLE: Final = "SQUADRON_COPILOT_CLI"
PROGRAM: Final = "copilot"
_PACKAGES: Final = "node_modules"


def missing(cli: Path | None) -> str | None:
    """What is not there and how to install it, for people; None: everything is there.

    `cli` is the operator's setting; without one the CLI is looked for in PATH.
    """
    if find_spec("copilot") is None:
        return "GitHub's Copilot SDK is not installed: pip install 'squadron[copilot]'"
    if cli is None:
        if shutil.which(PROGRAM) is None:
            return (
                f"the Copilot CLI is not installed: npm install -g @github/copilot@{CLI_VERSION}"
                f" (or set {CLI_VARIABLE} to its path)"
            )
        return None
    if not cli.is_file():
        return (
            f"{CLI_VARIABLE}: there is no Copilot CLI at {cli}: npm install"
            f" @github/copilot@{CLI_VERSION}"
        )
    if not os.access(cli, os.X_OK):
        return f"{CLI_VARIABLE}: {cli} is not executable: chmod +x {cli}"
    return None


def unpacking(cache: Path) -> dict[str, str]:
    """The variables that make the CLI unpack itself into `cache`, and start from there."""
    return {
        "HOME": str(cache),
        "COPILOT_PKG_CACHE_HOME": str(cache),
        "COPILOT_AUTO_UPDATE": "false",
    }


def with_node(path: str) -> str:
    """A `PATH` that has what runs the CLI's scripts, wherever the service's own `PATH` has it."""
    node = None if shutil.which("node", path=path) else shutil.which("node")
    return path if node is None else f"{path}{os.pathsep}{Path(node).parent}"


def files(program: Path, path: str) -> tuple[Path, ...]:
    """What the CLI is made of besides what it unpacks, outside of /usr: npm's packages, where
    `program` is one of them, and what runs its scripts, by the `PATH`."""
    packages = [each for each in program.parents if each.name == _PACKAGES]
    node = shutil.which("node", path=path)
    parts = [packages[-1] if packages else program, *([] if node is None else [Path(node)])]
    return tuple(each for each in parts if not each.is_relative_to("/usr"))


def found(cli: Path | None) -> Path:
    """The CLI. Raises `RuntimeMissing` with the words of `missing`."""
    words = missing(cli)
    if words is not None:
        raise RuntimeMissing(words)
    return cli or Path(shutil.which(PROGRAM) or PROGRAM).absolute()
