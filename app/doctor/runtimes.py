"""What this machine has and lacks for the runtimes that are extras."""

import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final

from app.adapters.processes import ProcessGroups
from app.adapters.runtimes import claude, copilot
from app.core.rules.plan import RuntimeName

VERSION_SECONDS: Final = 60.0
"""The Copilot CLI unpacks 235 MB first."""


def lacks(copilot_cli: Path | None) -> Mapping[RuntimeName, str]:
    """By runtime, what is not there and which command installs it; empty: all is there.

    `embedded` is not among them: it always is. `copilot_cli` is the operator's setting.
    """
    return {"copilot": copilot.missing(copilot_cli) or "", "claude": claude.missing()}


@dataclass(frozen=True, slots=True)
class Cli:
    """The program of a runtime that is installed."""

    program: Path
    version: str
    """Which one Squadron was tried with."""


def cli_of(runtime: RuntimeName, copilot_cli: Path | None) -> Cli:
    """That of `copilot` or `claude`. Raises `RuntimeMissing`."""
    if runtime == "copilot":
        return Cli(copilot.found(copilot_cli), copilot.CLI_VERSION)
    return Cli(*claude.bundled())


async def version_said(cli: Cli) -> str:
    """What the program answers to `--version`, in a home of its own; empty: nothing in time.
    Raises `OSError` if it cannot be started."""
    with TemporaryDirectory(prefix="squadron-version-") as home:
        ended = await ProcessGroups().run(
            [str(cli.program), "--version"],
            cwd=Path(home),
            environment={
                "PATH": os.environ.get("PATH", os.defpath),
                **copilot.unpacking(Path(home)),
            },
            timeout_seconds=VERSION_SECONDS,
        )
    return ended.output.strip() if ended.exit_code == 0 else ""
