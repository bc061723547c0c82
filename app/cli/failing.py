"""How a command says that it cannot go on."""

from typing import NoReturn

import typer

from app.cli.terminal import say


def fail(message: str, code: int = 1) -> NoReturn:
    """Say it on stderr and end with `code`."""
    say(message, err=True)
    raise typer.Exit(code)
