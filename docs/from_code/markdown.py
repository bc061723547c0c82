"""Small pieces of Markdown, and what the code says about itself in attribute docstrings."""

import ast
import inspect
import textwrap
from collections.abc import Iterable, Iterator, Mapping


def table(heads: Iterable[str], rows: Iterable[Iterable[str]]) -> Iterator[str]:
    """A table, line by line; what would end a cell is escaped."""
    heads = tuple(heads)
    yield _row(heads)
    yield _row("---" for _ in heads)
    for row in rows:
        yield _row(row)


def _row(cells: Iterable[str]) -> str:
    flat = (" ".join(cell.split()).replace("|", "\\|") for cell in cells)
    return f"| {' | '.join(flat)} |"


def sentence(words: str) -> str:
    """With a large letter in front, unless it begins with a name, and no period at the end."""
    flat = " ".join(words.split()).removesuffix(".")
    return flat[:1].upper() + flat[1:]


def attribute_docstrings(cls: type) -> Mapping[str, str]:
    """Attribute → the docstring below it, as it stands in the source of the class."""
    [defined] = ast.parse(textwrap.dedent(inspect.getsource(cls))).body
    assert isinstance(defined, ast.ClassDef)
    found = {}
    for before, after in zip(defined.body, defined.body[1:], strict=False):
        if (
            isinstance(before, ast.Assign)
            and isinstance(before.targets[0], ast.Name)
            and isinstance(after, ast.Expr)
            and isinstance(after.value, ast.Constant)
        ):
            found[before.targets[0].id] = inspect.cleandoc(str(after.value.value))
    return found
