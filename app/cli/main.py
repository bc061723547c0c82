"""`squadron`: every command."""

from collections.abc import Callable, Mapping
from importlib.metadata import version
from typing import Annotated, Any, Final

import typer
from typer.core import TyperGroup

from app.cli.commands import looking, operating, trying

COMMANDS: Final[Mapping[str, typer.Typer | Callable[..., None]]] = {
    "setup": operating.setup,
    "serve": operating.serve,
    "worker": operating.worker,
    "migrate": operating.migrate,
    "demo": trying.demo,
    "init": trying.init,
    "config": trying.config,
    "detect": trying.detect,
    "replay": trying.replay,
    "limits": looking.limits,
    "costs": looking.costs,
    "agents": looking.agents,
    "explain": looking.explain,
    "workers": looking.workers,
    "doctor": operating.doctor,
    "pause": looking.pause,
    "resume": looking.resume,
    "session": looking.session,
}
"""In the order of the help."""


class InOrder(TyperGroup):
    """Typer puts commands that have commands of their own first."""

    def list_commands(self, ctx: Any) -> list[str]:
        """Every command, as it is ordered above."""
        return [*COMMANDS]


app: Final = typer.Typer(cls=InOrder, no_args_is_help=True, pretty_exceptions_enable=False)

for _name, _command in COMMANDS.items():
    if isinstance(_command, typer.Typer):
        app.add_typer(_command, name=_name)
    else:
        app.command(_name)(_command)


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
