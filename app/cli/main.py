"""`squadron`: every command, each in a file of its own."""

import typer

from app.cli.agents import agents, explain
from app.cli.config import config
from app.cli.demo import demo
from app.cli.detect import detect
from app.cli.serve import serve, worker

app = typer.Typer(no_args_is_help=True, add_completion=False, pretty_exceptions_enable=False)
app.command()(serve)
app.command()(worker)
app.command()(demo)
app.add_typer(config, name="config")
app.command()(detect)
app.command()(agents)
app.command()(explain)


def main() -> None:
    """Entry point of the `squadron` script."""
    app()


if __name__ == "__main__":
    main()
