"""How a command says that it cannot go on."""

import os
from typing import Final, NoReturn

import typer

from app.cli.terminal import say

EXIT_CONFIGURATION: Final = os.EX_CONFIG
"""78, as sysexits.h has it: the next try ends alike, until a person has changed something."""


def fail(message: str, code: int = 1) -> NoReturn:
    """Say it on stderr and end with `code`."""
    say(message, err=True)
    raise typer.Exit(code)
