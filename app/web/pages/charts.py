"""Charts as points of SVG, drawn here: pages need no scripts for them."""

from collections.abc import Sequence
from typing import Final

from app.ports import SpentUntil

WIDTH: Final = 600
HEIGHT: Final = 96
"""Of a chart, in its own units."""


def spent_line(spent: Sequence[SpentUntil]) -> str:
    """How money was spent over time, as the `points` of a polyline: level between two calls, and
    upright at each. Of less than two calls: empty."""
    if len(spent) < 2 or not spent[-1].nanousd:
        return ""
    begin, total = spent[0].at, spent[-1].nanousd
    seconds = (spent[-1].at - begin).total_seconds() or 1.0
    corners, height = [(0.0, float(HEIGHT))], float(HEIGHT)
    for at, nanousd in spent:
        along = WIDTH * (at - begin).total_seconds() / seconds
        corners.append((along, height))
        height = HEIGHT * (1 - nanousd / total)
        corners.append((along, height))
    return " ".join(f"{x:.1f},{y:.1f}" for x, y in corners)
