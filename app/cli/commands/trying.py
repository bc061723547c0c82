"""Commands that need no service: configuration files, recorded runs, and the demo."""

from pathlib import Path
from typing import Annotated, Final, Literal

import typer

from app.cli.commands.options import AsJson, LinesOfJson

FORMATS: Final = ("squadron", "copilot", "claude", "gemini", "swe-agent", "mini-swe-agent")


def demo(
    once: Annotated[bool, typer.Option(help="End when all stories have come to rest.")] = False,
    as_json: AsJson = False,
    runtime: Annotated[
        Literal["embedded", "copilot", "claude"],
        typer.Option(help="What runs the agents; the model is the scripted one with each."),
    ] = "embedded",
) -> None:
    """The whole system on this machine: no account, no key, no network."""
    from app.cli.demo.command import play

    play(runtime, ends=once, as_json=as_json)


def init(
    directory: Annotated[Path, typer.Argument(metavar="DIR", help="A repository.")] = Path(),
) -> None:
    """Write a commented .squadron/config.yaml into DIR; nothing that is there is overwritten."""
    from app.cli.init import write_starter

    write_starter(directory)


config = typer.Typer(no_args_is_help=True, help="Check and describe configuration files.")


@config.command()
def check(
    directory: Annotated[
        Path, typer.Argument(metavar="DIR", help="A repository, or its .squadron directory.")
    ] = Path(),
    role: Annotated[str | None, typer.Option(help="Show this role only.")] = None,
    every: Annotated[
        bool, typer.Option("--all", help="Show every limit, not only those that somebody set.")
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Check .squadron/ and show the limits of each role that somebody set, and who.

    Mistakes go to stderr as file:line:column: message, with exit code 1; so do limits on money and
    tokens that are too small for one tool call and a return.
    The operator's file is honoured if SQUADRON_CONFIG names one.
    """
    from app.cli.config import check_files

    check_files(directory, role, every=every, as_json=as_json)


@config.command()
def schema(
    file: Annotated[
        Literal["config", "agent", "operator"],
        typer.Option(
            help="config: .squadron/config.yaml; agent: the frontmatter of .squadron/agents/*.md;"
            " operator: the file that SQUADRON_CONFIG names."
        ),
    ] = "config",
) -> None:
    """Print a JSON Schema with which editors complete and check one kind of file."""
    from app.cli.config import print_schema

    print_schema(file)


def detect() -> None:
    """Read tool calls (JSON lines with "tool" and "args"), say which of them run tests.

    One line out for each call, in the same order: {"test_run", "runner", "selectors"}.
    """
    from app.cli.detect import answer_stdin

    answer_stdin()


def replay(
    files: Annotated[list[Path], typer.Argument(metavar="FILE...", help="Transcripts.")],
    form: Annotated[
        str, typer.Option("--format", help=f"auto, or one of {', '.join(FORMATS)}.")
    ] = "auto",
    config: Annotated[
        Path | None,
        typer.Option(metavar="DIR", help="Holds .squadron/; default: the one here, if any."),
    ] = None,
    role: Annotated[
        str | None, typer.Option(help="Use this role's limits; else the defaults.")
    ] = None,
    compare: Annotated[
        Path | None, typer.Option(metavar="DIR2", help="A second folder with .squadron/.")
    ] = None,
    interactive: Annotated[
        bool,
        typer.Option(
            "--interactive", help="A person led them: limits hold for each prompt by itself."
        ),
    ] = False,
    as_json: LinesOfJson = False,
) -> None:
    """Say where each limit would have warned and stopped recorded runs, and what that saves.

    Exit code 1 if a file cannot be read; the others are replayed all the same.
    """
    from app.cli.replay import replay_files

    replay_files(files, form, config, role, compare, is_interactive=interactive, as_json=as_json)
