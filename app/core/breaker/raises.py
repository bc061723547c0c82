"""How much a human's word adds to a limit: the arithmetic of a raise, never above a ceiling."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from app.core.agents.counters import Counters, ceiling_of, maximum_of, used_of
from app.core.agents.stops import Hold
from app.core.breaker.verdict import figure, money
from app.core.limits import HOLDS, STARTS_ANEW, LimitInfo, LimitName, Limits, Trips
from app.core.money import nanousd, usd


@dataclass(frozen=True, slots=True)
class Grant:
    """What a raise comes to."""

    info: LimitInfo
    amount: float
    """What is added; 0 for a limit that counts from nothing when the agent goes on."""
    maximum: float
    """What the agent may use then."""
    wanted: float
    """More than `amount` where the ceiling, or the limit's own range, left less."""

    @property
    def limit(self) -> LimitName:
        """Of which limit."""
        return self.info.name

    @property
    def is_capped(self) -> bool:
        """Whether less was granted than was wanted."""
        return self.amount < self.wanted


class NotGranted(Exception):
    """Nothing is added; the text says why, and what would work, for people."""


class BadAmount(NotGranted):
    """No such amount can ever be added to this limit."""


def grant(
    limits: Limits, counters: Counters, name: LimitName, wanted: float | None, at: datetime
) -> Grant:
    """How much `name` is raised when `wanted` more is asked for; None: its own amount once more.

    Raises `NotGranted`.
    """
    info, own = limits.info(name), limits.maximum(name)
    present = maximum_of(name, limits, counters)
    if not info.actions & HOLDS:
        raise BadAmount(f"`{name}` cannot be raised: no agent ever waits at it.")
    if own is None:
        raise NotGranted(f"`{name}` is switched off for this agent: there is nothing to raise.")
    assert present is not None, "a limit that is switched on has a maximum"
    if wanted is None and name in STARTS_ANEW:
        return Grant(info, 0, present, 0)
    asked = own if wanted is None else wanted
    if not 0 < asked < math.inf or not (info.is_money or float(asked).is_integer()):
        kind = "an amount" if info.is_money else "a whole number"
        raise BadAmount(f"Name {kind} above 0 of {info.unit}: `/squadron raise {name} +1`.")
    room = left_to_grant(limits, counters, name)
    assert room is not None, "a limit that is switched on has a range"
    added = min(asked, room)
    used, maximum = used_of(name, limits, counters, at), _sum(info, present, added)
    if added <= 0 or (info.trips is Trips.REACHED and used >= _sum(info, present, room)):
        bound = f"the ceiling of {worth(info, _sum(info, present, max(room, 0)))}"
        raise NotGranted(f"`{name}` cannot be raised far enough: {bound} leaves nothing to use.")
    if info.trips is Trips.REACHED and used >= maximum:
        raise NotGranted(
            f"`{name}` would stop the agent again at once: {worth(info, used)} are used, so more"
            f" than {worth(info, _sum(info, used, -present))} has to be added."
        )
    return Grant(info, added, maximum, asked)


def at_start(
    limits: Limits, raises: Sequence[tuple[LimitName, float]], at: datetime
) -> tuple[Limits, tuple[Grant, ...]]:
    """The limits of an agent that starts with more than its role has, and what was granted.

    Raises `NotGranted`.
    """
    grants = []
    for name, wanted in raises:
        given = grant(limits, Counters(), name, wanted, at)
        limits = limits.with_maximum(name, given.maximum)
        grants.append(given)
    return limits, tuple(grants)


def asked_amount(limits: Limits, counters: Counters, hold: Hold) -> float:
    """How much more a hold asks for, as far as it can be granted: its own wish, or the limit's
    own amount once more."""
    room = left_to_grant(limits, counters, hold.limit)
    own = limits.maximum(hold.limit) or 0
    most = own if room is None else min(own, room)
    return most if hold.amount is None or room is None else min(hold.amount, room)


def left_to_grant(limits: Limits, counters: Counters, name: LimitName) -> float | None:
    """How much may be added at most, by the operator's ceiling and the limit's own range; None:
    the limit is switched off."""
    info, present = limits.info(name), maximum_of(name, limits, counters)
    if present is None:
        return None
    ceiling = ceiling_of(name, limits, counters)
    return _sum(info, info.most if ceiling is None else min(info.most, ceiling), -present)


def worth(info: LimitInfo, amount: float) -> str:
    """`100 tool calls`, `1 tool call`, `$2.50`."""
    if info.is_money:
        return money(amount)
    unit = info.unit.removesuffix("s") if amount == 1 else info.unit
    return f"{figure(amount)} {unit}"


def typed(info: LimitInfo, amount: float) -> str:
    """The amount as it is typed behind `/squadron raise`."""
    return f"+{money(amount).removeprefix('$') if info.is_money else figure(amount)}"


def _sum(info: LimitInfo, one: float, other: float) -> float:
    """Money is added in whole nano-USD, so that no sum is off by the width of a float."""
    return usd(nanousd(one) + nanousd(other)) if info.is_money else one + other
