"""Tables on a terminal whose rows have names that people copy."""

from collections.abc import Sequence
from typing import Final

from rich.console import Console
from rich.table import Column, Table

from app.cli.terminal import cell

LEAST_BESIDE: Final = 60
"""Characters of a table beside the names."""


class NamedRows:
    """A table whose first column is never cut, however narrow the terminal is."""

    def __init__(
        self, first: str, names: Sequence[str], *others: str, beside: int = LEAST_BESIDE
    ) -> None:
        """`names`: of all rows that will follow; `first` and `others`: what the columns are called;
        `beside`: characters that the others have at least."""
        self._beside = beside
        self._longest = max((len(line) for name in names for line in name.splitlines()), default=0)
        self._table = Table(Column(first, no_wrap=True, min_width=self._longest), *others)

    def add(self, *texts: str) -> None:
        """A row, its name first."""
        self._table.add_row(*map(cell, texts))

    def show(self) -> None:
        """Print it."""
        console = Console()
        console.width = max(console.width, self._longest + self._beside)
        console.print(self._table)
