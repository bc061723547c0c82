"""`squadron`: every command, each in a file of its own."""

from collections.abc import Mapping
from importlib import import_module
from importlib.metadata import version
from typing import Annotated, Any, Final

import typer
from typer.core import TyperGroup
from typer.main import get_command, get_group

MODULES: Final[Mapping[str, str]] = {
    "setup": "setup",
    "serve": "serve",
    "worker": "serve",
    "migrate": "migrate",
    "demo": "demo",
    "init": "init",
    "config": "config",
    "detect": "detect",
    "replay": "replay",
    "limits": "limits",
    "costs": "costs",
    "agents": "agents",
    "explain": "agents",
    "workers": "workers",
    "doctor": "doctor",
    "pause": "brakes",
    "resume": "brakes",
    "session": "session",
}
"""Of each command, in the order of the help."""


class Commands(TyperGroup):
    """Imports the module of a command when it is asked for: what the service needs takes seconds,
    and most commands need little of it."""

    def __init__(self, **given: Any) -> None:
        super().__init__(**given)
        self.commands: dict[str, Any] = dict.fromkeys(MODULES)

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        """The command of that name, or None."""
        if cmd_name not in MODULES:
            return None
        found = getattr(import_module(f"app.cli.{MODULES[cmd_name]}"), cmd_name)
        if isinstance(found, typer.Typer):
            group = get_group(found)
            group.name = cmd_name
            return group
        alone = typer.Typer(add_completion=False)
        alone.command(cmd_name)(found)
        return get_command(alone)


app = typer.Typer(
    cls=Commands, no_args_is_help=True, add_completion=False, pretty_exceptions_enable=False
)


def _tell_version(is_asked: bool) -> None:
    if is_asked:
        typer.echo(f"squadron {version('squadron')}")
        raise typer.Exit


@app.callback()
def squadron(
    _version: Annotated[
        bool,
        typer.Option(
            "--version", callback=_tell_version, is_eager=True, help="Print the version and end."
        ),
    ] = False,
) -> None:
    """Coding agents on labelled issues, under limits that they cannot argue with."""


def main() -> None:
    """Entry point of the `squadron` script."""
    app()


if __name__ == "__main__":
    main()
