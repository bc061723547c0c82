"""How a command says that it cannot go on."""

from typing import NoReturn

import typer


def fail(message: str, code: int = 1) -> NoReturn:
    """Say it on stderr and end with `code`."""
    typer.echo(message, err=True)
    raise typer.Exit(code)
