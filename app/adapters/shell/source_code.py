"""Source text of other languages in a command line, and what it gives to a shell.

`python - <<EOF` runs the text as `python -c` would; `subprocess.run(["pytest"])`, `os.system(…)`,
`execSync(…)` and their like start a program. Only literal words are looked at.
"""

from __future__ import annotations

import ast
import re
import shlex
from collections.abc import Mapping
from typing import Final

from app.testruns.judge import program_name
from app.testruns.literals import outside_of_literals
from app.testruns.shell_line import Words

MAX_SHELL_OUTS: Final = 8

CODE_OPTIONS: Final[Mapping[str, str]] = {
    "python": "-c",
    "pypy": "-c",
    "py": "-c",
    "node": "-e",
    "nodejs": "-e",
    "ruby": "-e",
    "perl": "-e",
    "php": "-r",
    "Rscript": "-e",
    "julia": "-e",
}
"""Languages whose interpreter reads a program from standard input, with the option for text."""

_STRING: Final = r"""(?:"(?:\\.|[^"\\])*"|'(?:\\.|[^'\\])*')"""
_SHELL_OUT: Final = re.compile(
    r"\b(?:subprocess\.\w+|s\w{0,3}\.(?:run|call|check_\w+|Popen)|os\.(?:system|popen|exec\w+)"
    r"|pexpect\.\w+|(?:exec|spawn)(?:File)?(?:Sync)?|system|exec|shell_exec|passthru)"
    rf"\s*\(?\s*(?P<words>\[?\s*{_STRING}(?:\s*,\s*\[?\s*{_STRING})*)"
)


def with_source_from_input(words: Words, fed: str | None) -> Words:
    """`python - ARGS <<EOF` as `python -c TEXT ARGS`."""
    option = CODE_OPTIONS.get(program_name(words[0])) if fed else None
    if option is None or fed is None:
        return words
    operand = next((i for i, w in enumerate(words) if i and (w == "-" or w[:1] != "-")), len(words))
    if words[operand : operand + 1] not in {(), ("-",)} or option in words:
        return words
    return (*words[:operand], option, fed, *words[operand + 1 :])


def shell_outs(words: Words) -> tuple[str, ...]:
    """Command lines in the source text that `words` gives to an interpreter."""
    option = CODE_OPTIONS.get(program_name(words[0]))
    if option is None or option not in words[1:-1]:
        return ()
    code = words[words.index(option, 1) + 1]
    found = outside_of_literals(_SHELL_OUT, code)
    return tuple(_line(match["words"]) for match in found[:MAX_SHELL_OUTS])


def _line(text: str) -> str:
    """A single string is read by a shell; several words are a program with its arguments."""
    strings = [_literal(piece) for piece in re.findall(_STRING, text)]
    is_line = len(strings) == 1 and not text.startswith("[")
    return strings[0] if is_line else shlex.join(strings)


def _literal(piece: str) -> str:
    try:
        value = ast.literal_eval(piece)
    except (SyntaxError, ValueError):
        return piece[1:-1]
    return value if isinstance(value, str) else piece[1:-1]
