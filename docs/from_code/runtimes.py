"""What was seen of each runtime. `python -m tests.contract.record` plays and records it."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from docs.from_code.markdown import table

CONTRACT: Final = Path(__file__).parents[1] / "reference/contract.json"
"""Story → runtime → how it ended."""
HELD: Final = "held"


def contract() -> Iterator[str]:
    """Every story of the contract."""
    stories = json.loads(CONTRACT.read_text(encoding="utf-8"))
    names = [*next(iter(stories.values()))]
    rows = (
        (story.replace("_", " "), *("yes" if ends[each] == HELD else ends[each] for each in names))
        for story, ends in stories.items()
    )
    return table(("what is seen", *(f"`{each}`" for each in names)), rows)
