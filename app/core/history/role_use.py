"""What finished agents of a role used of their limits, from what lists show of them.

`suggest` reads whole logs, and so knows what another value would have changed. Who only looks at a
page gets by with what is kept beside the logs: of limits that add up, the last figure is the most.
Pure.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from app.core.history.suggest import LEAST_FINISHED, SUGGESTED, Used, another_value, used_by
from app.core.limits import CATALOGUE, LimitName, Limits
from app.core.words.glance import Glance

ADD_UP: Final = tuple(
    name
    for name in SUGGESTED
    if name not in (LimitName.MAX_CONSECUTIVE_TOOLS, LimitName.MAX_TOOL_CALLS_PER_TURN)
)
"""Limits of which an agent never uses less than it did."""


@dataclass(frozen=True, slots=True)
class LimitUsed:
    """One limit, as finished agents of a role used it."""

    name: LimitName
    present: float | None
    """What a new agent may use; None: the limit is off."""
    used: Used
    suggested: float | None
    """Another value that would fit; None: the present one does, or too few have finished."""


def role_use(limits: Limits, finished: Sequence[Glance]) -> Sequence[LimitUsed]:
    """Of those limits that were used at all, in the order of the catalogue. `limits`: what holds
    now, with the ceilings."""
    observed: dict[LimitName, list[float]] = {name: [] for name in ADD_UP}
    for seen in finished:
        for use in seen.uses:
            is_known = not (seen.has_unpriced and CATALOGUE[use.name].is_money)
            if use.name in observed and is_known:
                observed[use.name].append(use.observed)
    found = ((name, used_by(amounts)) for name, amounts in observed.items())
    return [
        LimitUsed(name, limits.maximum(name), used, _suggested(name, limits, used, len(finished)))
        for name, used in found
        if used is not None and used.most
    ]


def _suggested(name: LimitName, limits: Limits, used: Used, finished: int) -> float | None:
    present = limits.maximum(name)
    if present is None or finished < LEAST_FINISHED:
        return None
    return another_value(name, present, used.p95, limits.ceilings.get(name))
