"""How commands put words on a terminal. Whatever agents, tools and people wrote moves no cursor,
sets no colour, and is no markup."""

import typer
from rich.text import Text

_DOT = "·"


def clean(text: str) -> str:
    """The text, with a dot in place of each character that a terminal obeys or nobody sees; line
    feeds stay."""
    seen = text.replace("\t", " ")
    return "".join(each if each == "\n" or each.isprintable() else _DOT for each in seen)


def say(text: str = "", *, err: bool = False) -> None:
    """A line, or several."""
    typer.echo(clean(text), err=err)


def cell(text: str) -> Text:
    """A text for a table, in which no brackets are markup."""
    return Text(clean(text))
