"""A second opinion on every verdict: what the breaker must say to an ask after a log.

Judged by what the history would be with the ask in it (`onlooker`), by docs/design.md, Words: trips
before holds before warnings, all limits at every check, the first of the catalogue is told.
"""

from collections.abc import Sequence
from fractions import Fraction

from app.core.agents.events import (
    Ask,
    Failed,
    Held,
    ModelAsked,
    ModelCalled,
    Phase,
    Raised,
    Returned,
    SegmentStarted,
    Spawned,
    ToolAsked,
    Tripped,
    Warned,
    Woken,
)
from app.core.breaker.verdict import Answer
from app.core.limits import Action, LimitName, Limits
from tests.core.onlooker import (
    COUNTS,
    JUDGED,
    PHASES,
    Log,
    amount,
    exact,
    if_all_ends_the_same,
    untold_signs,
)

WARNS_AT = {LimitName.MAX_REPEATED_CALLS: 3, LimitName.MAX_UNRUNNABLE_TESTS: 2}
SPAWNING = (LimitName.MAX_DEPTH, LimitName.MAX_SPAWNS)
Prediction = tuple[Answer, str | None, Fraction | None, Fraction | None]
"""Answer, limit, observed, maximum. What an answer without a limit knows is None."""


def predicted(limits: Limits, log: Log, ask: Ask) -> Prediction:
    """What the breaker must say to an ask after this log."""
    first = next((each for each in log if isinstance(each, Tripped | Failed)), None)
    if isinstance(first, Failed):
        return Answer.DENY, None, None, None
    if first is not None:
        trip = first.trip
        return Answer.DENY, trip.limit, exact(trip.observed), exact(trip.maximum)
    hold = _open_hold(log)
    if hold is not None:
        held = hold.hold
        return Answer.DENY, held.limit, exact(held.observed), exact(held.maximum)
    none = _none_allowed(limits, log, ask)
    names = [name for name in JUDGED if none is None or name not in SPAWNING]
    broken = [each for name in names if (each := _broken(name, limits, log, ask)) is not None]
    final = [each for each in broken if each[3] == "stop"]
    if final:
        return Answer.HALT, *final[0][:3]
    held_at = [each for each in broken if each[3] == "hold"]
    if held_at:
        return Answer.HALT, *held_at[0][:3]
    if none is not None:
        return Answer.DENY, none, Fraction(0), Fraction(0)
    if isinstance(ask, ToolAsked) and _is_promised(limits, log, ask):
        return Answer.DENY, None, None, None
    if isinstance(ask, ToolAsked) and _runs_often_enough(limits, log, ask):
        return Answer.DENY, None, None, None
    told = [name for name in JUDGED if name not in limits.shadow]
    close = [found for name in told if (found := _close(name, limits, log, ask)) is not None]
    if close:
        return Answer.WARN, *close[0]
    is_told = isinstance(ask, ToolAsked) and untold_signs([*log, ask])
    return Answer.WARN if is_told else Answer.ALLOW, None, None, None


def _none_allowed(limits: Limits, log: Log, ask: Ask) -> LimitName | None:
    """The limit that allows no sub-agent at all, if one is asked for."""
    if not isinstance(ask, ToolAsked) or not ask.spawns:
        return None
    for name in SPAWNING:
        maximum = None if _goes_on(name, limits) else _maximum(name, limits, log)
        if 0 in (maximum, limits.ceilings.get(name)):
            return name
    return None


def _open_hold(log: Log) -> Held | None:
    held: Held | None = None
    for each in log:
        if isinstance(each, Held) and held is None:
            held = each
        elif isinstance(each, Woken) or (
            isinstance(each, Raised) and held is not None and held.hold.limit == each.limit
        ):
            held = None
    return held


def _maximum(name: LimitName, limits: Limits, log: Log) -> Fraction | None:
    maximum = limits.maximum(name)
    if maximum is None:
        return None
    raised = [each for each in log if isinstance(each, Raised) and each.limit == name]
    return exact(maximum) + sum((exact(each.amount) for each in raised), Fraction(0))


def _breaks(name: LimitName, limits: Limits, log: Log, ask: Ask, maximum: Fraction) -> bool:
    would_be = amount(name, limits, [*log, ask], ask.at)
    if name in COUNTS:
        return would_be > maximum
    ahead = Fraction(0)
    # A call without a price of its own adds nothing, and is no reason to look ahead.
    is_priced = isinstance(ask, ModelAsked) and bool(ask.estimate_nanousd)
    if isinstance(ask, ModelAsked) and is_priced and ask.phase in PHASES.get(name, ()):
        ahead = Fraction(sum(_unanswered([*log, ask], PHASES[name])), 10**9)
    return would_be >= maximum or would_be + ahead > maximum


def _unanswered(log: Log, phases: Sequence[Phase]) -> list[int]:
    """Estimates of the requests of these phases that no answer has come to in this attempt."""
    waiting: list[ModelAsked] = []
    for each in log:
        if isinstance(each, SegmentStarted):
            waiting = []
        elif isinstance(each, ModelAsked):
            waiting.append(each)
        elif isinstance(each, ModelCalled) and waiting:
            same = [one for one in waiting if one.phase is each.phase]
            waiting.remove((same or waiting)[0])
    return [each.estimate_nanousd or 0 for each in waiting if each.phase in phases]


def _goes_on(name: LimitName, limits: Limits) -> bool:
    return name in limits.shadow or limits.action(name) is Action.WARN


def _broken(
    name: LimitName, limits: Limits, log: Log, ask: Ask
) -> tuple[str, Fraction, Fraction, str] | None:
    """Limit, observed, maximum and consequence (stop, hold), if the ask breaks the limit."""
    ceiling, maximum = limits.ceilings.get(name), _maximum(name, limits, log)
    if ceiling is None and maximum is None:
        return None
    before = log if name in COUNTS else [*log, ask]
    observed = amount(name, limits, before, ask.at)
    if ceiling is not None and _breaks(name, limits, log, ask, exact(ceiling)):
        return name, observed, exact(ceiling), "stop"
    if maximum is None or not _breaks(name, limits, log, ask, maximum) or _goes_on(name, limits):
        return None
    is_hold = limits.action(name) in (Action.PAUSE, Action.REQUEST_INCREASE)
    return name, observed, maximum, "hold" if is_hold else "stop"


def _close(
    name: LimitName, limits: Limits, log: Log, ask: Ask
) -> tuple[str, Fraction, Fraction] | None:
    maximum = _maximum(name, limits, log)
    if maximum is None or _breaks(name, limits, log, ask, maximum):
        return None
    would_be = amount(name, limits, [*log, ask], ask.at)
    if not would_be:
        return None
    since = [n for n, each in enumerate(log) if isinstance(each, Raised) and each.limit == name]
    later = log[since[-1] if since else 0 :]
    if any(isinstance(each, Warned) and each.limit == name for each in later):
        return None
    if name in WARNS_AT:
        is_close = would_be >= WARNS_AT[name]
    else:
        is_close = would_be >= exact(limits.warning_threshold) * maximum
    return (name, would_be, maximum) if is_close else None


def _runs_often_enough(limits: Limits, log: Log, ask: ToolAsked) -> bool:
    """Whether the same call runs already, and once more would be once too often."""
    rounds, errors = if_all_ends_the_same(log, ask)
    reached = []
    for name, times in (
        (LimitName.MAX_REPEATED_CALLS, rounds),
        (LimitName.MAX_REPEATED_ERRORS, errors),
    ):
        maximum = None if _goes_on(name, limits) else _maximum(name, limits, log)
        bounds = [maximum] if maximum is not None else []
        bounds += [exact(limits.ceilings[name])] if name in limits.ceilings else []
        reached += [times >= bound for bound in bounds]
    return bool(rounds) and any(reached)


def _is_promised(limits: Limits, log: Log, ask: ToolAsked) -> bool:
    """Whether only what sub-agents were promised is left of the tool calls."""
    name = LimitName.MAX_TOOL_CALLS
    back = {each.child for each in log if isinstance(each, Returned)}
    out = [each for each in log if isinstance(each, Spawned) and each.child not in back]
    promised = sum((exact(dict(each.reserved).get(name, 0)) for each in out), Fraction(0))
    maximum = None if _goes_on(name, limits) else _maximum(name, limits, log)
    ceiling = limits.ceilings.get(name)
    bounds = [maximum] if maximum is not None else []
    bounds += [exact(ceiling)] if ceiling is not None else []
    would_be = amount(name, limits, [*log, ask], ask.at)
    return bool(promised and bounds) and would_be + promised > min(bounds)
