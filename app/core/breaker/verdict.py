"""The breaker: judges an ask against every limit, before it is allowed to happen.

`decide(counters, ask, limits)` is pure. All limits are judged at every check, trips before holds
before warnings (seed 002's sketch returned at the first warning and never saw the later limits).
"""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from operator import ge
from typing import Final, NamedTuple, assert_never

from app.core.agents.counters import (
    PLACES,
    Child,
    Counters,
    after,
    amounts,
    ceiling_of,
    maximum_of,
    stops_at,
    used_of,
)
from app.core.agents.events import (
    AgentEvent,
    Ask,
    Held,
    ModelAsked,
    Noticed,
    Passed,
    SentBack,
    Ticked,
    ToolAsked,
    ToolDenied,
    TurnAsked,
    Warned,
    stopped_for_good,
)
from app.core.agents.signs import sign_words
from app.core.agents.stops import Failure, Hold, Layer, StopReason, Trip
from app.core.breaker.answers import COUNTED_PHASES
from app.core.breaker.no_level import SPAWN_LIMITS, forbidding, no_level_words
from app.core.limits import (
    CATALOGUE,
    HOLDS,
    Action,
    Armed,
    LimitInfo,
    LimitName,
    Limits,
    Trips,
)
from app.core.money import added_usd, usd, whole_nanousd

_MONEY_PLACES: Final = tuple(
    PLACES[name.value] for name, info in CATALOGUE.items() if info.is_money
)
_SET_ASIDE_WORDS: Final = (
    "What is left of max_tool_calls is set aside for sub-agents that still work: wait for them."
)
_RUNS_WORDS: Final = (
    "The same call runs already, as often as it may be repeated: wait for what comes of it."
)


class Answer(StrEnum):
    """What the breaker says to an ask."""

    ALLOW = "allow"
    WARN = "warn"
    """Allowed, and the agent is told that it comes close to a limit."""
    DENY = "deny"
    """Not allowed; the agent was stopped before, or the gate is in doubt."""
    HALT = "halt"
    """Not allowed; this ask is the one that tripped, or at which a limit asks a human."""


@dataclass(frozen=True, slots=True)
class Verdict:
    """The breaker's answer, with the words and figures that explain it."""

    answer: Answer
    reason: str = ""
    limit: str | None = None
    observed: float | None = None
    maximum: float | None = None
    most_output_tokens: int | None = None
    """Of the answer, where a request to the model is allowed; None: whoever asks bounds it, or
    nobody."""

    @property
    def allowed(self) -> bool:
        """Whether the ask may happen."""
        return self.answer in (Answer.ALLOW, Answer.WARN)


class Decision(NamedTuple):
    """A verdict, the counters after it, and the events that must be stored before it counts."""

    counters: Counters
    verdict: Verdict
    events: tuple[AgentEvent, ...]


_ALLOWED: Final = Verdict(Answer.ALLOW)


@dataclass(frozen=True, slots=True)
class LimitUse:
    """How much of one limit is used."""

    info: LimitInfo
    observed: float
    maximum: float

    @property
    def name(self) -> LimitName:
        """Which limit."""
        return self.info.name

    @property
    def share(self) -> float:
        """How much of it, from 0 on; 1: all. Of a limit that allows nothing, all is used as soon
        as anything is asked for."""
        return self.observed / self.maximum if self.maximum else float(self.observed > 0)

    @property
    def words(self) -> str:
        """`150 of 200 tool calls`."""
        return amount_words(self.info, self.observed, self.maximum)


class _Reached(NamedTuple):
    """A limit that the ask would break."""

    limit: Armed
    observed: float
    maximum: float
    is_final: bool
    """Whether no raise can follow: it is the operator's ceiling."""


def decide(counters: Counters, ask: Ask, limits: Limits, layer: Layer = Layer.HOOK) -> Decision:
    """Judge one ask. The returned counters are always the fold of the returned events.

    After a trip, or while a human is asked, every ask is denied; before it, the first limit in
    catalogue order that the ask would break halts the agent. A denied ask is not counted, but the
    time that has passed is.
    """
    if counters.stop is not None:
        return _refused(counters, ask, _stopped(Answer.DENY, counters.stop))
    if counters.hold is not None:
        return _refused(counters, ask, _held(Answer.DENY, counters.hold))
    would_be = after(counters, ask)
    reached, close = _judged(counters, would_be, ask, limits)
    none_allowed = forbidding(counters, ask, limits)
    if none_allowed is not None:  # is no reason to stop, however often it is asked for
        reached = [each for each in reached if each.limit.name not in SPAWN_LIMITS]
    stopping = [each for each in reached if not _lets_pass(each, limits)]
    if stopping:
        return _halted(counters, ask, limits, layer, stopping)
    if none_allowed is not None:
        return _no_level(counters, ask, none_allowed)
    if isinstance(ask, ToolAsked) and _is_set_aside(would_be, limits):
        return _refused(counters, ask, Verdict(Answer.DENY, _SET_ASIDE_WORDS))
    if isinstance(ask, ToolAsked) and _runs_often_enough(would_be, limits):
        return _refused(counters, ask, Verdict(Answer.DENY, _RUNS_WORDS))
    signs = would_be.signs.untold if isinstance(ask, ToolAsked) else ()
    if not reached and not close and not signs:
        return Decision(would_be, _ALLOWED, (ask,))
    passed = [_passed(each, ask.at, limits) for each in reached]
    verdict = _ALLOWED
    told = [warning for warning in close if warning.limit not in limits.shadow]
    words = " ".join(
        (*(warning_words(warning, limits) for warning in told), *map(sign_words, signs))
    )
    if told:
        first = told[0]
        verdict = Verdict(Answer.WARN, words, first.limit, first.observed, first.maximum)
    elif signs:
        verdict = Verdict(Answer.WARN, words)
    noticed = (Noticed(at=ask.at, sign=sign) for sign in signs)
    return _recorded(counters, (ask, *passed, *close, *noticed), verdict)


def is_affordable(counters: Counters, ask: ModelAsked, limits: Limits) -> bool:
    """Whether no limit on money that stops the agent would be passed: for the summary after a
    trip, which is granted whatever else has tripped (seed 002)."""
    reached, _ = _judged(counters, after(counters, ask), ask, limits)
    return not any(each.limit.info.is_money and not _lets_pass(each, limits) for each in reached)


def usage(counters: Counters, limits: Limits, at: datetime) -> tuple[LimitUse, ...]:
    """The use of every limit that is switched on, in catalogue order, as of `at`."""
    uses = []
    for limit in limits.armed:
        maximum = maximum_of(limit.name, limits, counters)
        bound = maximum if maximum is not None else ceiling_of(limit.name, limits, counters)
        assert bound is not None, "what is armed has a maximum or a ceiling"
        uses.append(LimitUse(limit.info, used_of(limit.name, limits, counters, at), bound))
    return tuple(uses)


def left(counters: Counters, limits: Limits, name: LimitName, at: datetime) -> float | None:
    """What of a limit neither this agent nor a sub-agent has used or set aside; None: no bound."""
    bound = stops_at(name, limits, counters)
    if bound is None:
        return None
    taken = used_of(name, limits, counters, at)
    reserved = [_promised(child, name) for child in counters.children]
    if CATALOGUE[name].is_money:
        return max(added_usd(bound, -taken, *(-each for each in reserved)), 0)
    return max(bound - taken - sum(reserved), 0)


def _promised(child: Child, name: LimitName) -> float:
    """All that a sub-agent spends is execution to its parent, its own planning too."""
    own = child.reserved.get(name, 0)
    is_execution = name is LimitName.MAX_EXECUTION_COST_USD
    return child.reserved.get(LimitName.MAX_COST_USD, own) if is_execution else own


def stopped_words(why: StopReason) -> str:
    """What the agent is told with every denial after it was stopped for good."""
    head = "CIRCUIT BREAKER" if isinstance(why, Trip) else "STOPPED"
    return (
        f"{head}: {why.reason} Nothing but report_complete and report_blocked works"
        " now. Summarise what you did and what remains."
    )


def held_words(hold: Hold) -> str:
    """What the agent is told with every denial while a human, or its parent, is asked."""
    return (
        f"PAUSED: {hold.reason} Whoever gave you this work was asked how to go on; nothing runs"
        " until then. Stop here; this session goes on later."
    )


def warning_words(warning: Warned, limits: Limits) -> str:
    """What the agent is told once when it comes close to a limit."""
    info = limits.info(warning.limit)
    figures = f"{warning.limit} at {amount_words(info, warning.observed, warning.maximum)}"
    if info.trips is Trips.REPEATED:
        return (
            f"You repeat yourself: {figures}. Nothing new comes of the same again: try another"
            " way, or call report_blocked."
        )
    return (
        f"Approaching a limit: {figures}. Wrap up: commit what works, then call report_complete"
        " or report_blocked."
    )


def figure(amount: float | None) -> str:
    """A count or an amount of seconds as people write it."""
    return "unknown" if amount is None else f"{amount:.1f}".removesuffix(".0")


def money(amount_usd: float) -> str:
    """An amount of USD as people write it: cents, and what is smaller when it matters."""
    text = f"{amount_usd:.6f}".rstrip("0")
    whole, _, fraction = text.partition(".")
    return f"${whole}.{fraction:0<2}"


def amount_words(info: LimitInfo, observed: float, maximum: float) -> str:
    """`200 of 200 tool calls`, `$0.95 of $1.00`."""
    if info.is_money:
        return f"{money(observed)} of {money(maximum)}"
    return f"{figure(observed)} of {figure(maximum)} {info.unit}"


def trip_of(
    info: LimitInfo,
    observed: float,
    maximum: float,
    layer: Layer,
    at: datetime,
    more: str = "",
) -> Trip:
    """The trip of one limit, in words; `more` is said behind the figures."""
    figures = amount_words(info, observed, maximum)
    reason = f"{info.name} reached: {figures}{more}."
    return Trip(
        limit=info.name, observed=observed, maximum=maximum, layer=layer, at=at, reason=reason
    )


def _judged(
    counters: Counters, would_be: Counters, ask: Ask, limits: Limits
) -> tuple[list[_Reached], list[Warned]]:
    """The limits that the ask would break, and those that it comes close to for the first time."""
    asks_model = isinstance(ask, ModelAsked) and bool(ask.estimate_nanousd)
    row = amounts(would_be, ask.at)
    if not counters.lowered and _is_quiet(row, would_be if asks_model else None, limits):
        return [], []
    happened_row = amounts(counters, ask.at)
    reached, close = [], []
    for limit in limits.armed:
        place = PLACES[limit.measure]
        observed = row[place]
        name, info, maximum, ceiling = limit.name, limit.info, limit.maximum, limit.ceiling
        lowered = counters.lowered.get(name, 0) if counters.lowered else 0
        may_reach = lowered or (asks_model and info.is_money)
        if observed < limit.quiet_below and not may_reach:
            continue
        if lowered and ceiling is not None:
            ceiling -= whole_nanousd(lowered) if info.is_money else lowered
        ahead = _ahead(name, ask, would_be) if asks_model and info.is_money else 0
        if ceiling is not None and _breaks(info.trips, observed, ahead, ceiling):
            happened = happened_row[place] if info.trips is Trips.BEYOND else observed
            reached.append(_reached(limit, happened, ceiling, is_final=True))
            continue
        if maximum is None:
            continue
        more = counters.raised.get(name, 0) - lowered
        maximum += whole_nanousd(more) if info.is_money else more
        if _breaks(info.trips, observed, ahead, maximum):
            if name not in counters.passed:
                happened = happened_row[place] if info.trips is Trips.BEYOND else observed
                reached.append(_reached(limit, happened, maximum, is_final=False))
        elif name not in counters.warned and is_close(info, observed, maximum, limits):
            near = _reached(limit, observed, maximum, is_final=False)
            close.append(
                Warned(at=ask.at, limit=name, observed=near.observed, maximum=near.maximum)
            )
    return reached, close


def _is_quiet(row: tuple[float, ...], asks_model: Counters | None, limits: Limits) -> bool:
    """Whether no limit has anything to say about these amounts. `asks_model`: the counters of an
    agent that asks its model: what the answers may cost that are still open counts as spent."""
    quiet = limits.quiet_below
    if any(map(ge, row, quiet)):
        return False
    if asks_model is None:
        return True
    ahead = sum(call.estimate_nanousd for call in asks_model.open_calls)
    return all(row[place] + ahead < quiet[place] for place in _MONEY_PLACES)


def _reached(limit: Armed, observed: float, maximum: float, *, is_final: bool) -> _Reached:
    """With the figures as people read them."""
    if limit.info.is_money:
        observed, maximum = usd(int(observed)), usd(int(maximum))
    return _Reached(limit, observed, maximum, is_final)


def _breaks(trips: Trips, observed: float, ahead: float, maximum: float) -> bool:
    """`observed` holds what would have happened, `ahead` what the next model call may cost."""
    if trips is Trips.BEYOND:
        return observed > maximum
    return observed >= maximum or observed + ahead > maximum


def is_close(info: LimitInfo, observed: float, maximum: float, limits: Limits) -> bool:
    """Whether so much of a limit is used that the agent is warned."""
    if not observed or maximum <= 0:
        return False
    if info.warns_at is not None:
        return observed >= info.warns_at
    return observed / maximum >= limits.warning_threshold


def _ahead(name: LimitName, ask: Ask, counters: Counters) -> int:
    """What the calls that have not been answered yet may cost, where the one asked for counts."""
    phases = COUNTED_PHASES[name]
    if not isinstance(ask, ModelAsked) or ask.phase not in phases:
        return 0
    return sum(call.estimate_nanousd for call in counters.open_calls if call.phase in phases)


def _lets_pass(reached: _Reached, limits: Limits) -> bool:
    """Whether the agent goes on; never above a ceiling."""
    name = reached.limit.name
    return not reached.is_final and (name in limits.shadow or limits.action(name) is Action.WARN)


def _passed(reached: _Reached, at: datetime, limits: Limits) -> Passed:
    name = reached.limit.name
    return Passed(
        at=at,
        limit=name,
        observed=reached.observed,
        maximum=reached.maximum,
        shadow=name in limits.shadow,
    )


def _is_set_aside(would_be: Counters, limits: Limits) -> bool:
    """Whether only what sub-agents were promised is left of the tool calls."""
    name = LimitName.MAX_TOOL_CALLS
    reserved = sum(child.reserved.get(name, 0) for child in would_be.children)
    if not reserved:
        return False
    bound = stops_at(name, limits, would_be)
    return bound is not None and would_be.tool_calls + reserved > bound


def _runs_often_enough(would_be: Counters, limits: Limits) -> bool:
    """Whether the call would come once too often if the same ones that still run end as it did
    before: nobody knows yet, so it is no reason to stop."""
    loops = would_be.loops
    if not loops.rounds_ahead:
        return False
    ahead = (
        (LimitName.MAX_REPEATED_ERRORS, loops.errors_ahead),
        (LimitName.MAX_REPEATED_CALLS, loops.rounds_ahead),
    )
    bounds = ((stops_at(name, limits, would_be), times) for name, times in ahead)
    return any(bound is not None and times >= bound for bound, times in bounds)


def _halted(
    counters: Counters, ask: Ask, limits: Limits, layer: Layer, stopping: Sequence[_Reached]
) -> Decision:
    """Stop for good if any limit wants that, else ask a human."""
    final = [
        each for each in stopping if each.is_final or limits.action(each.limit.name) not in HOLDS
    ]
    if not final:
        hold = _hold_of(stopping[0], ask, counters, limits, layer)
        events = (_denied(ask, hold.reason), Held(at=ask.at, hold=hold))
        return _recorded(counters, events, _held(Answer.HALT, hold))
    first = final[0]
    more = _ahead_words(first, ask, counters)
    why = trip_of(first.limit.info, first.observed, first.maximum, layer, ask.at, more)
    stopped = (_denied(ask, why.reason), stopped_for_good(why, ask.at))
    return _recorded(counters, stopped, _stopped(Answer.HALT, why))


def _hold_of(reached: _Reached, ask: Ask, counters: Counters, limits: Limits, layer: Layer) -> Hold:
    name = reached.limit.name
    figures = amount_words(reached.limit.info, reached.observed, reached.maximum)
    return Hold(
        limit=name,
        observed=reached.observed,
        maximum=reached.maximum,
        layer=layer,
        at=ask.at,
        reason=f"{name} reached: {figures}{_ahead_words(reached, ask, counters)}.",
        asks=limits.action(name) is Action.REQUEST_INCREASE,
    )


def _ahead_words(reached: _Reached, ask: Ask, counters: Counters) -> str:
    """Why a limit on money stops an agent that has not spent it all."""
    is_money = reached.limit.info.is_money
    if not (is_money and isinstance(ask, ModelAsked) and ask.estimate_nanousd):
        return ""
    under_way = _ahead(reached.limit.name, ask, counters)
    more = f", calls under way may cost {money(usd(under_way))}" if under_way else ""
    return f" spent{more}, and the next model call may cost {money(usd(ask.estimate_nanousd))}"


def _denied(ask: Ask, reason: str) -> AgentEvent:
    match ask:
        case ToolAsked(at=at, tool=tool, what=what):
            return ToolDenied(at=at, tool=tool, what=what, reason=reason)
        case TurnAsked(at=at) | ModelAsked(at=at) | SentBack(at=at) | Ticked(at=at):
            return Ticked(at=at)
        case _:
            assert_never(ask)


def _no_level(counters: Counters, ask: Ask, name: LimitName) -> Decision:
    words = no_level_words(name)
    passed = Passed(at=ask.at, limit=name, observed=0, maximum=0, shadow=False, refused=True)
    events = (_denied(ask, words), *([] if name in counters.passed else [passed]))
    return _recorded(counters, events, Verdict(Answer.DENY, words, name, 0, 0))


def _refused(counters: Counters, ask: Ask, verdict: Verdict) -> Decision:
    return _recorded(counters, (_denied(ask, verdict.reason),), verdict)


def _stopped(answer: Answer, why: StopReason) -> Verdict:
    if isinstance(why, Failure):
        return Verdict(answer, stopped_words(why))
    return Verdict(answer, stopped_words(why), why.limit, why.observed, why.maximum)


def _held(answer: Answer, hold: Hold) -> Verdict:
    return Verdict(answer, held_words(hold), hold.limit, hold.observed, hold.maximum)


def _recorded(counters: Counters, events: Sequence[AgentEvent], verdict: Verdict) -> Decision:
    for event in events:
        counters = after(counters, event)
    return Decision(counters, verdict, tuple(events))
