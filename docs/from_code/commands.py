"""The commands: those of a terminal, and those that people write in comments."""

from collections.abc import Iterator
from html import unescape
from typing import Final

import typer
from typer.cli import get_docs_for_click
from typer.core import TyperCommand, TyperGroup

from app.cli.main import app
from app.core.commands.grammar import USAGE
from docs.from_code.markdown import sentence, table

_NAME: Final = "squadron"
_OPTION_OF_ALL: Final = "* `--help`: Show this message and exit.\n"
_NO_OPTIONS: Final = "**Options**:\n\n\n"


def overview() -> Iterator[str]:
    """Every command with its first sentence, linked to its own part."""
    rows = (
        (f"[`{name}`](#{name.replace(' ', '-')})", sentence((command.help or "").split("\n\n")[0]))
        for name, command in _commands()
    )
    return table(("command", "what it does"), rows)


def command_lines() -> Iterator[str]:
    """Every command with its arguments and options."""
    for name, command in _commands():
        context = typer.Context(command, info_name=name)
        said = unescape(get_docs_for_click(obj=command, ctx=context, indent=2, name=name))
        yield from said.replace(_OPTION_OF_ALL, "").replace(_NO_OPTIONS, "").splitlines()


def in_comments() -> Iterator[str]:
    """Every line that people can write in a comment."""
    rows = ((f"`{usage}`", sentence(what)) for usage, what in USAGE.items())
    return table(("command", "what it does"), rows)


def _commands() -> Iterator[tuple[str, TyperCommand]]:
    """Every command that does something, in the order of `squadron --help`."""
    group = typer.main.get_group(app)
    context = typer.Context(group)
    for name in group.list_commands(context):
        command = group.get_command(context, name)
        if isinstance(command, TyperGroup):
            if command.invoke_without_command:
                alone = TyperCommand(name, params=command.params, help=command.help)
                yield f"{_NAME} {name}", alone
            for inner in command.list_commands(context):
                yield f"{_NAME} {name} {inner}", _known(command.get_command(context, inner))
        else:
            yield f"{_NAME} {name}", _known(command)


def _known(command: object) -> TyperCommand:
    assert isinstance(command, TyperCommand)
    return command
