"""Limits of a sub-agent: its own, its parent's overrides, and never more than the parent has left.

Seed 003, "Limit Resolution Order" and "Depth Decrement". Shared amounts (calls, tokens, money,
sub-agents, time) are capped by what is left, all other maxima by the parent's own. Seed 003's
depth N is `max_depth` N - 1: levels below the agent.

Sub-agents that are asked for together share what is left: each gets at most an equal part of it,
and what one does not want is left to those that start after it.

One that has paused gets more by its parent's word, out of what the parent has left by then.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any, Final, NamedTuple

from app.core.agents.counters import Counters, maximum_of, stops_at, used_of
from app.core.agents.events import Lowered
from app.core.breaker.raises import Grant, asked_amount, grant, worth
from app.core.breaker.verdict import left
from app.core.limits import CATALOGUE, LimitName, Limits
from app.core.money import added_usd, usd, whole_nanousd

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
    """The parent has too little left for the sub-agent, or gives it too little; the text is for
    the parent."""


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


def reservation(child: Limits, used: Counters, at: datetime) -> tuple[tuple[LimitName, float], ...]:
    """What is set aside of the parent's limits for what the sub-agent may still use."""
    rest = ((name, _rest(name, child, used, at)) for name in sorted(RESERVED))
    return tuple((name, amount) for name, amount in rest if amount is not None)


def _rest(name: LimitName, child: Limits, used: Counters, at: datetime) -> float | None:
    """What of it neither the sub-agent nor any below it have used."""
    bound = stops_at(name, child, used)
    if bound is None:
        return None
    taken = used_of(name, child, used, at)
    return max(_difference(name, bound, taken), 0)


class Standing(NamedTuple):
    """An agent's limits, and what it has used of them."""

    limits: Limits
    used: Counters


@dataclass(frozen=True, slots=True)
class Terms:
    """With what a paused sub-agent goes on."""

    grants: tuple[Grant, ...]
    lowered: tuple[Lowered, ...]
    """Where its parent has less left than the sub-agent was promised."""


def terms(child: Standing, parent: Standing, wanted: Mapping[str, object], at: datetime) -> Terms:
    """What a paused sub-agent gets out of what its parent has left. `wanted`: how much more of
    which limits, as the model wrote it; empty: as much as the sub-agent asks for.

    What is wanted is given in full or not at all. Of all else it keeps what it was promised, as far
    as the parent still has it: nothing is set aside for who is paused.
    Raises `NothingLeft`, `NotGranted`, and `ValueError` in words for the model.
    """
    hold = child.used.hold
    assert hold is not None, "only who is paused gets more"
    asked = {hold.limit.value: asked_amount(*child, hold)}
    grants = []
    for key, amount in (wanted or asked).items():
        name, more = _amount(key, amount)
        given = grant(*child, name, more, at)
        most = _room(name, child, parent, at)
        if most is not None and given.amount > most:
            info = CATALOGUE[name]
            raise NothingLeft(
                f"{name}: you can give {worth(info, most)}, not {worth(info, given.amount)}."
            )
        grants.append(given)
    given_of = {given.limit for given in grants}
    if hold.limit not in given_of:
        raise NothingLeft(f"It is paused at {hold.limit}: give it more of that.")
    kept = (_kept(name, child, parent, at) for name in sorted(SHARED - given_of))
    return Terms(tuple(grants), tuple(each for each in kept if each is not None))


def _kept(name: LimitName, child: Standing, parent: Standing, at: datetime) -> Lowered | None:
    """Of a limit that it gets no more of, what it was promised as far as the parent has it; None:
    that is what it may use already."""
    info, promised = CATALOGUE[name], child.used._replace(lowered={})
    bound = stops_at(name, child.limits, promised)
    rest = _rest(name, child.limits, promised, at)
    if bound is None or rest is None:
        return None
    most = _left(name, *parent, at)
    if most is not None and name in RESERVED:
        most = _shared_by(name, most, parent.used.spawning + 1)
    less = 0.0 if most is None or rest <= most else _difference(name, rest, most)
    if less and most is not None and most < info.least:
        raise NothingLeft(f"{name}: too little is left for it.")
    if less == child.used.lowered.get(name, 0):
        return None
    return Lowered(at=at, limit=name, amount=less, maximum=_difference(name, bound, less))


def _difference(name: LimitName, one: float, other: float) -> float:
    return added_usd(one, -other) if CATALOGUE[name].is_money else one - other


def _amount(key: str, amount: object) -> tuple[LimitName, float]:
    if key not in [name.value for name in LimitName]:
        raise ValueError(f"{key} is no limit; there are: {', '.join(LimitName)}")
    if isinstance(amount, bool) or not isinstance(amount, int | float):
        raise ValueError(f"{key}: how much more must be a number, not {amount!r}")
    return LimitName(key), float(amount)


def _room(name: LimitName, child: Standing, parent: Standing, at: datetime) -> float | None:
    """How much more of it the parent can give; None: as much as it wants."""
    if name not in SHARED:
        bound, own = _bound(name, *parent, at), maximum_of(name, *child)
        return None if bound is None or own is None else max(bound - own, 0)
    room = _left(name, *parent, at)
    if room is None:
        return None
    return max(_difference(name, room, _rest(name, *child, at) or 0), 0)


def equal_part(name: LimitName, amount: float, used: Counters) -> float:
    """Of what all sub-agents share that are being started; money in whole nano-USD."""
    return _shared_by(name, amount, max(used.spawning, 1))


def _shared_by(name: LimitName, amount: float, sharers: int) -> float:
    if CATALOGUE[name].is_money:
        return usd(whole_nanousd(amount) // sharers)
    return amount // sharers


def _left(name: LimitName, parent: Limits, used: Counters, at: datetime) -> float | None:
    """What the parent has left for it: all that a sub-agent spends is execution to its parent."""
    spent = _SPENT if name is LimitName.MAX_COST_USD else (name,)
    lefts = (left(used, parent, each, at) for each in spent)
    return min((each for each in lefts if each is not None), default=None)


def _bound(name: LimitName, parent: Limits, used: Counters, at: datetime) -> float | None:
    if name in SHARED:
        most = _left(name, parent, used, at)
        return equal_part(name, most, used) if most is not None and name in RESERVED else most
    bound = stops_at(name, parent, used)
    return bound - 1 if name is LimitName.MAX_DEPTH and bound is not None else bound
