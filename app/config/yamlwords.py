"""What a YAML parser trips over, for who wrote the file: where it is wrong, and what to do.

The parser says what it expected; people know what they meant. The words are made from the lines
themselves wherever those tell what was meant.
"""

import re
from collections.abc import Sequence
from typing import Final

import yaml

from app.config.wording import quoted

Found = tuple[int, int, str]
"""Line and column, counted from 0, and the words."""


def people_words(error: yaml.MarkedYAMLError, lines: Sequence[str]) -> Found:
    """What is wrong in a text of these lines, and where."""
    problem = error.problem or ""
    line, column = _at(error.problem_mark)
    written = lines[line] if line < len(lines) else ""
    conflicts = (n for n, each in enumerate(lines) if each.startswith(_CONFLICT))
    if (conflict := next(conflicts, None)) is not None:
        return conflict, 0, "a merge conflict is left here"
    match problem:
        case "found character '\\t' that cannot start any token":
            return line, column, "a tab: use spaces, not tabs"
        case _ if problem.startswith("found character "):
            return line, column, _quote(written[column:])
        case "mapping values are not allowed here":
            return _colon(lines, line, column)
        case "found unexpected end of stream":
            return *_at(error.context_mark), "this quote is never closed"
        case _ if problem.startswith("found unknown escape character"):
            words = "this backslash means nothing in double quotes: use single quotes, or double it"
            return line, column - 1, words
        case _:
            return _in_context(error, lines)


def _in_context(error: yaml.MarkedYAMLError, lines: Sequence[str]) -> Found:
    """What tells by what the parser was about to read."""
    problem, context = error.problem or "", error.context or ""
    line, column = _at(error.problem_mark)
    opened = _at(error.context_mark)
    match context:
        case "while parsing a block mapping" | "while parsing a block collection":
            return _indented(lines, line, column, problem)
        case "while parsing a flow sequence" | "while parsing a flow mapping":
            bracket, closing = ("[", "]") if "sequence" in context else ("{", "}")
            where = "the end of the file" if "<stream end>" in problem else f"line {line + 1}"
            words = f"this {bracket} is not closed before {where}: a comma or {closing} is missing"
            return *opened, words
        case "while parsing a flow node" if "<stream end>" in problem:
            return _unclosed(lines)
        case "while parsing a flow node" | "while parsing a block node" if "but found '" in problem:
            found = problem.partition("but found '")[2].rstrip("'")
            if found in _CLOSERS:
                return line, column, f"this {found} ends nothing: quote a text that begins with it"
            return line, column, "a value is missing here"
        case _ if context in _MARKS:
            return *opened, _quote(lines[opened[0]][opened[1] :])
        case "while scanning a directive":
            return *opened, "a line cannot begin with %: quote the text"
        case _:
            said = ", ".join(part for part in (problem, context) if part)
            return line, column, f"not YAML: {said}"


def _unclosed(lines: Sequence[str]) -> Found:
    """The text ends within brackets."""
    places = [
        (number, column)
        for number, line in enumerate(lines)
        for column in (line.rfind("["), line.rfind("{"))
        if column >= 0
    ]
    line, column = max(places)
    return line, column, "this is not closed before the end of the file"


def _quote(rest: str) -> str:
    """A text that begins with a character that means something to YAML."""
    word = _WORD.match(rest)
    written = quoted(word[0] if word else rest[:1])[1:-1]
    return f"quote '{written}': a text cannot begin with {written[:1]}"


def _colon(lines: Sequence[str], line: int, column: int) -> Found:
    """A colon where none can be: after a value, or below one."""
    written = lines[line]
    if _KEYED.match(written[:column]):
        return line, column, "a text with a colon and a blank in it has to be in quotes"
    above = _above(lines, line)
    if above is not None and _depth(written) > _depth(lines[above]) and _KEYED.match(lines[above]):
        words = f"line {line + 1} is indented more than line {above + 1}, which has its value"
        return line, _depth(written), words
    if above is None:
        return line, column, "a colon is not allowed here"
    words = f"line {above + 1} is no `key: value`: it needs a colon, and a blank after that"
    return above, _depth(lines[above]), words


def _indented(lines: Sequence[str], line: int, column: int, problem: str) -> Found:
    """A line that belongs to nothing above it."""
    written, above = lines[line], _above(lines, line)
    if written[:column].strip() and "<scalar>" in problem:
        return line, column, "text after the end of a value: put all of it into one pair of quotes"
    if above is not None and 0 < column < _depth(lines[above]):
        words = f"line {line + 1} is indented less than line {above + 1}, and like no line above it"
        return line, column, words
    if "found '-'" in problem:
        return line, column, "an item of a list among keys: indent it below the key it belongs to"
    if "found '?'" in problem:
        return line, column, "a key among the items of a list: indent it as a part of one of them"
    if above is not None and column > _depth(lines[above]):
        words = f"line {line + 1} is indented more than line {above + 1}, which has its value"
        return line, column, words
    return line, column, f"this belongs to nothing above it: is line {line + 1} indented as meant?"


def _above(lines: Sequence[str], line: int) -> int | None:
    """The nearest line above that says anything."""
    said = (n for n in range(line - 1, -1, -1) if _SAYS.match(lines[n]))
    return next(said, None)


def _depth(line: str) -> int:
    return len(line) - len(line.lstrip(" "))


def _at(mark: object) -> tuple[int, int]:
    return getattr(mark, "line", 0), getattr(mark, "column", 0)


_CONFLICT: Final = ("<<<<<<< ", ">>>>>>> ")
_MARKS: Final = (
    "while scanning an alias",
    "while scanning an anchor",
    "while scanning a block scalar",
)
_CLOSERS: Final = ("]", "}", ",")
_WORD: Final = re.compile(r"[^\s,\]}']+")
_KEYED: Final = re.compile(r"\s*(- +)*[^\s#][^#]*:\s+\S")
"""A key that has its value on the same line."""
_SAYS: Final = re.compile(r"\s*[^\s#]")
