"""Limits of a sub-agent: its own, its parent's overrides, and never more than the parent has left.

Seed 003, "Limit Resolution Order" and "Depth Decrement". Shared amounts (calls, tokens, money,
sub-agents, time) are capped by what is left, all other maxima by the parent's own. Seed 003's
depth N is `max_depth` N - 1: levels below the agent.

Sub-agents that are asked for together share what is left: each gets at most an equal part of it,
and what one does not want is left to those that start after it.
"""

from collections.abc import Mapping
from dataclasses import replace
from datetime import datetime
from typing import Any, Final

from app.core.agents.counters import Counters, stops_at
from app.core.breaker.verdict import left
from app.core.limits import CATALOGUE, LimitName, Limits
from app.core.money import usd, whole_nanousd

SHARED: Final = frozenset(
    {
        LimitName.MAX_TOOL_CALLS,
        LimitName.MAX_MODEL_CALLS,
        LimitName.MAX_TOKENS,
        LimitName.MAX_COST_USD,
        LimitName.MAX_EXECUTION_COST_USD,
        LimitName.MAX_SPAWNS,
        LimitName.MAX_ACTIVE_DURATION,
    }
)
"""What a sub-agent uses is used by its parent too."""
RESERVED: Final = frozenset(
    {
        LimitName.MAX_TOOL_CALLS,
        LimitName.MAX_MODEL_CALLS,
        LimitName.MAX_TOKENS,
        LimitName.MAX_COST_USD,
        LimitName.MAX_EXECUTION_COST_USD,
    }
)
"""What is set aside for a sub-agent while it works; time passes for both at once."""

_SPENT: Final = (LimitName.MAX_COST_USD, LimitName.MAX_EXECUTION_COST_USD)
"""What of a parent's money the spending of a sub-agent counts against."""


class NothingLeft(Exception):
    """The parent has too little left for the sub-agent; the text is for the parent."""


def overridden(own: Limits, overrides: Mapping[str, object]) -> Limits:
    """The role's limits with the parent's overrides. Raises `ValueError` in words for the model."""
    known = [name.value for name in LimitName]
    for key, value in overrides.items():
        if key not in known:
            raise ValueError(f"{key} is no limit; there are: {', '.join(known)}")
        if value is not None and (isinstance(value, bool) or not isinstance(value, int | float)):
            raise ValueError(f"{key} must be a number or null, not {value!r}")
    values: dict[str, Any] = dict(
        overrides
    )  # of the kinds checked above; `Limits` refuses what is out of range
    return replace(own, **values)


def child_limits(wanted: Limits, parent: Limits, used: Counters, at: datetime) -> Limits:
    """`wanted` as far as the parent can give it, one of all that it is starting. Raises
    `NothingLeft`.

    What the parent can give stops the sub-agent even where its own limit would only warn.
    """
    capped: dict[str, Any] = {}
    bounds: dict[LimitName, float] = {}
    for name, info in CATALOGUE.items():
        own, bound = wanted.maximum(name), _bound(name, parent, used, at)
        if name is LimitName.MAX_DEPTH and bound is not None and bound < 0:
            raise NothingLeft("max_depth: no further level of sub-agents is allowed.")
        if bound is None:
            continue
        if bound < info.least:
            raise NothingLeft(f"{name}: too little is left for a sub-agent.")
        bounds[name] = most = bound if info.is_money else int(bound)
        if own is None or own > most:
            capped[name.value] = most
    child = replace(wanted, **capped)
    stops = {name: stops_at(name, child, Counters()) for name in bounds}
    needed = {name: most for name, most in bounds.items() if not _is_within(stops[name], most)}
    return replace(child, ceilings={**child.ceilings, **needed})


def _is_within(stop: float | None, most: float) -> bool:
    return stop is not None and stop <= most


def reservation(child: Limits) -> tuple[tuple[LimitName, float], ...]:
    """What is set aside of the parent's limits while the sub-agent works."""
    most = ((name, stops_at(name, child, Counters())) for name in sorted(RESERVED))
    return tuple((name, amount) for name, amount in most if amount is not None)


def equal_part(name: LimitName, amount: float, used: Counters) -> float:
    """Of what all sub-agents share that are being started; money in whole nano-USD."""
    sharers = max(used.spawning, 1)
    if CATALOGUE[name].is_money:
        return usd(whole_nanousd(amount) // sharers)
    return amount // sharers


def _bound(name: LimitName, parent: Limits, used: Counters, at: datetime) -> float | None:
    if name in SHARED:
        spent = _SPENT if name is LimitName.MAX_COST_USD else (name,)
        bounds = (left(used, parent, each, at) for each in spent)
        most = min((each for each in bounds if each is not None), default=None)
        return equal_part(name, most, used) if most is not None and name in RESERVED else most
    bound = stops_at(name, parent, used)
    return bound - 1 if name is LimitName.MAX_DEPTH and bound is not None else bound
