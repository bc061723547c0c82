"""What is known about one program that starts the command it is given.

A `Wrapper` says which of its options take a value, how many words of its own come first, and
whether what follows is an argument list or text for a shell.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import Enum
from types import MappingProxyType

from app.testruns.wordset import word_set


class Takes(Enum):
    WORDS = "words"
    """The rest is an argument list: `timeout 60 COMMAND`."""
    TEXT = "text"
    """The rest, joined by blanks, is read by a shell: `ssh host cd x ';' pytest`."""
    TEXTS = "texts"
    """Each further word is read by a shell of its own: `hyperfine 'a' 'b'`."""
    OPTION = "option"
    """Only an option gives the command: `script -c 'pytest' log`."""


@dataclass(frozen=True, slots=True)
class Wrapper:
    takes: Takes = Takes.WORDS
    valued: frozenset[str] = frozenset()
    """Options whose value is the next word."""
    paired: frozenset[str] = frozenset()
    """Options with two values: `--bind FROM TO`."""
    operands: int = 0
    """Words of its own before the command: `timeout 60`, `docker run IMAGE`."""
    separator: bool = False
    """The command begins after `--`: `kubectl exec POD -- pytest`."""
    verbs: Mapping[str, Wrapper] = field(default_factory=lambda: MappingProxyType({}))
    """Its own verbs that start a command; any other verb starts none."""
    text_options: frozenset[str] = frozenset()
    """Options whose value is text for a shell."""
    words_options: frozenset[str] = frozenset()
    """Options after which the rest is the command."""
    leading: frozenset[str] = frozenset()
    """Words of its own that may stand before the command: `dotenv run …`."""
    starts_installed: bool = False
    """Any other first operand may be a program that the project installed: `yarn cross-env …`."""
    program_option: str = ""
    """An option that names the program; the rest are its arguments: `--entrypoint`."""
    splits_program: bool = False
    """That name is split at blanks, and its further words are arguments too."""
    splices: frozenset[str] = frozenset()
    """Options whose value is split into words that take their place: `env -S`."""
    idle: frozenset[str] = frozenset()
    """Options with which it starts nothing: `command -v`."""
    assigns: bool = False
    """`NAME=value` words come before the command."""
    appends: bool = False
    """It adds arguments that only the run knows: `xargs`."""
    swallows: bool = False
    """Its exit status is not that of the command."""
    swallows_with: frozenset[str] = frozenset()
    """Options that make it swallow the status: `docker run -d`."""
    tells_with: frozenset[str] = frozenset()
    """Options that make it tell the status after all: `script -e`."""


def wrapper(
    takes: Takes = Takes.WORDS,
    *,
    valued: str = "",
    paired: str = "",
    operands: int = 0,
    separator: bool = False,
    verbs: Mapping[str, Wrapper] | None = None,
    text: str = "",
    words: str = "",
    leading: str = "",
    starts_installed: bool = False,
    program: str = "",
    splits_program: bool = False,
    splices: str = "",
    idle: str = "",
    assigns: bool = False,
    appends: bool = False,
    swallows: bool = False,
    swallows_with: str = "",
    tells_with: str = "",
) -> Wrapper:
    """A row of the table, its sets of words written as running text."""
    return Wrapper(
        takes,
        word_set(valued),
        word_set(paired),
        operands,
        separator,
        MappingProxyType(dict(verbs or {})),
        word_set(text),
        word_set(words),
        word_set(leading),
        starts_installed,
        program,
        splits_program,
        word_set(splices),
        word_set(idle),
        assigns,
        appends,
        swallows,
        word_set(swallows_with),
        word_set(tells_with),
    )


def each(names: str, row: Wrapper) -> dict[str, Wrapper]:
    """Several programs that read their arguments alike."""
    return dict.fromkeys(names.split(), row)
