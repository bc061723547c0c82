"""The bounds of reading one command line."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

MAX_NODES: Final = 20_000
PIECE_BYTES: Final = 1_024
MAX_READS: Final = 1_000
"""So many pieces of a text are read before it counts as hostile. Ordinary text is read twice, so
64 kB take 130 reads; where the grammar looks ahead to the end of the text at each word, they would
take millions, and a minute."""
MAX_DEPTH: Final = 60
MAX_NESTED_SHELLS: Final = 4
MAX_WRAPPERS: Final = 12
MAX_LOOP_VALUES: Final = 8
MAX_SCRIPT_STARTS: Final = 8


@dataclass(slots=True)
class Budget:
    """What is left of the bounds, for a line and all shells nested in it."""

    nodes: int = MAX_NODES
    complete: bool = True
    scripts: int = MAX_SCRIPT_STARTS
    """Starts of scripts that the line has written: each is read again."""

    def take(self) -> bool:
        self.nodes -= 1
        if self.nodes < 0:
            self.complete = False
        return self.nodes >= 0
