"""Limits from what agents really used: per role, with what each new value would have changed.

Finished agents (COMPLETED) say what the work takes. Those that were stopped say nothing about
that, because the limit cut them off; they are counted by themselves. Sub-agents are left out:
what they use counts for their parents. Pure: logs in, suggestions out.
"""

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any, Final

from app.core.agents.agent import Agent
from app.core.agents.counters import Counters, after, used_of
from app.core.agents.events import (
    AgentEvent,
    Held,
    ModelAsked,
    ModelCalled,
    Noticed,
    Passed,
    Raised,
    Returned,
    Ticked,
    ToolAsked,
    Tripped,
    TurnAsked,
    Warned,
)
from app.core.agents.lifecycle import State
from app.core.agents.stops import Layer
from app.core.history.agent_history import History
from app.core.history.onward import Mark, Onward
from app.core.history.precision import Precision, stops
from app.core.limits import CATALOGUE, Action, LimitName, Limits, Trips

LEAST_FINISHED: Final = 10
"""With fewer finished agents of a role nothing is suggested."""
MOST_AGENTS: Final = 200
"""Of each role, the newest: what a role needed long ago says little."""
_HEADROOM: Final = 1.25
"""Above what 95 of 100 finished agents used."""
_LEAST_HEADROOM: Final = 2
"""For counts, of which a quarter may be less than one."""
_WORTH_SAYING: Final = 0.1
"""A change by less than this part of the present value is none."""

SUGGESTED: Final = (
    LimitName.MAX_ITERATIONS,
    LimitName.MAX_TOOL_CALLS,
    LimitName.MAX_TURNS,
    LimitName.MAX_ACTIVE_DURATION,
    LimitName.MAX_MODEL_CALLS,
    LimitName.MAX_TOKENS,
    LimitName.MAX_COST_USD,
    LimitName.MAX_PLANNING_COST_USD,
    LimitName.MAX_EXECUTION_COST_USD,
    LimitName.MAX_CONSECUTIVE_TOOLS,
    LimitName.MAX_TOOL_CALLS_PER_TURN,
)
"""Limits on how much work takes. The others say what is a loop, a hang or a structure: that
healthy agents stay far below them is no reason to move them."""
_ON_TIME: Final = (
    LimitName.MAX_ACTIVE_DURATION,
    LimitName.MAX_SLEEP_DURATION,
    LimitName.MAX_IDLE_DURATION,
)


@dataclass(frozen=True, slots=True)
class Used:
    """What agents used of one limit, by nearest rank."""

    median: float
    p95: float
    most: float


@dataclass(frozen=True, slots=True)
class Changed:
    """What a new value would have changed. Ids of agents, oldest first."""

    stopped: tuple[str, ...]
    """Finished ones that it would have stopped."""
    gone_on: tuple[str, ...]
    """Stopped or paused by this limit, and would have gone on."""
    stopped_earlier: tuple[str, ...]
    """Stopped in the end, and would have been before."""


@dataclass(frozen=True, slots=True)
class Suggestion:
    """A new value for one limit."""

    value: float
    capped_by_ceiling: bool
    changed: Changed


@dataclass(frozen=True, slots=True)
class LimitHistory:
    """How the agents of a role came along with one limit."""

    name: LimitName
    present: float | None
    """The value that holds now; None: switched off."""
    finished: Used | None
    """None: no finished agent tells (its cost is unknown)."""
    stopped: Used | None
    """The same of the agents that some limit has stopped."""
    trips: int
    """Agents that it stopped, paused, warned, or let pass."""
    holds: int
    warnings: int
    passes: int
    precision: Precision
    """How often it was right to stop or pause."""
    suggestion: Suggestion | None
    """None: too little history, or the present value is right."""


@dataclass(frozen=True, slots=True)
class RoleHistory:
    """All that the registry says about one role."""

    role: str
    repositories: tuple[str, ...]
    finished: int
    stopped: int
    limits: tuple[LimitHistory, ...]

    @property
    def is_enough(self) -> bool:
        """Whether there is history enough to suggest anything."""
        return self.finished >= LEAST_FINISHED

    @property
    def suggestions(self) -> Mapping[LimitName, Suggestion]:
        """The limits that should have another value."""
        return {each.name: each.suggestion for each in self.limits if each.suggestion is not None}


_Measured = tuple[History, Mapping[LimitName, float | None]]
"""An agent, and the most that it had used of each limit; None: unknown."""


def role_history(
    role: str,
    histories: Sequence[History],
    ceilings: Mapping[LimitName, float],
    present: Limits | None = None,
) -> RoleHistory:
    """What `histories`, all of one role and oldest first, come to. `ceilings`: the operator's.

    `present`: the limits that a new agent would get; None: those of the newest.
    """
    own = [each for each in histories if each.agent.parent is None]
    measured = [(each, _peaks(each)) for each in own]
    finished = [each for each in measured if each[0].agent.state is State.COMPLETED]
    stopped = [each for each in measured if _stopped_by_limit(each[0].agent)]
    if present is None:
        present = own[-1].agent.assignment.limits if own else Limits()
    found = stops(own)
    limits = []
    for name, info in CATALOGUE.items():
        if info.trips is Trips.SENT:
            continue
        used = used_by(peaks[name] for _, peaks in finished)
        said = _Said.of(name, own)
        history = LimitHistory(
            name=name,
            present=present.maximum(name),
            finished=used,
            stopped=used_by(peaks[name] for _, peaks in stopped),
            trips=said.trips,
            holds=said.holds,
            warnings=said.warnings,
            passes=said.passes,
            precision=Precision.of(stop for stop in found if stop.why.limit == name),
            suggestion=None,
        )
        if len(finished) >= LEAST_FINISHED and name in SUGGESTED:
            suggestion = _suggestion(history, measured, ceilings.get(name))
            history = replace(history, suggestion=suggestion)
        limits.append(history)
    return RoleHistory(
        role=role,
        repositories=tuple(sorted({each.agent.repository for each in own})),
        finished=len(finished),
        stopped=len(stopped),
        limits=tuple(limits),
    )


def new_value(name: LimitName, p95: float, ceiling: float | None) -> float:
    """The value for a limit of which 95 of 100 finished agents used at most `p95`: some headroom,
    a round number, in the catalogue's range, and never above the ceiling."""
    info = CATALOGUE[name]
    wanted = p95 * _HEADROOM
    if info.trips is Trips.BEYOND:
        wanted = max(wanted, p95 + _LEAST_HEADROOM)
    value = min(max(_round(name, wanted), info.least), info.most)
    return value if ceiling is None else min(value, ceiling)


def another_value(
    name: LimitName, present: float, p95: float, ceiling: float | None
) -> float | None:
    """As `new_value`; None if the present value is as good."""
    value = new_value(name, p95, ceiling)
    return None if abs(value - present) < _WORTH_SAYING * present else value


def used_by(amounts: Iterable[float | None]) -> Used | None:
    """What agents used of a limit, those left out of whom nobody knows (None); None: nobody is
    known of."""
    known = sorted(amount for amount in amounts if amount is not None)
    if not known:
        return None
    return Used(median=_rank(known, 0.5), p95=_rank(known, 0.95), most=known[-1])


def stop_under(history: History, name: LimitName, value: float) -> Mark | None:
    """Where this limit, with this value and by itself, would have stopped the agent."""
    before = history.agent.assignment.limits
    bound: dict[str, Any] = {name.value: value}
    limits = replace(_BOUNDLESS, iteration_mode=before.iteration_mode, **bound)
    breaker = Onward(limits)
    for event in history.log:
        match event:
            case ToolAsked() | ModelAsked() | TurnAsked():
                breaker.ask(event)
            case Ticked():
                breaker.ask(event, Layer.TIMER)
            case Warned() | Passed() | Noticed() | Held() | Raised() | Tripped():
                continue  # what the limits of that time said, and what came of it
            case _:
                breaker.note(event)
    return next((mark for mark in breaker.stops if mark.limit == name), None)


def _suggestion(
    history: LimitHistory, measured: Sequence[_Measured], ceiling: float | None
) -> Suggestion | None:
    if history.present is None or history.finished is None:
        return None
    value = another_value(history.name, history.present, history.finished.p95, ceiling)
    if value is None:
        return None
    return Suggestion(
        value=value,
        capped_by_ceiling=value == ceiling,
        changed=_changed(history.name, value, measured),
    )


def _changed(name: LimitName, value: float, measured: Sequence[_Measured]) -> Changed:
    stopped: list[str] = []
    gone_on: list[str] = []
    earlier: list[str] = []
    for each, peaks in measured:
        halts = [event for event in each.log if isinstance(event, Tripped | Held)]
        peak = peaks[name]
        stays_below = peak is not None and peak < value
        mark = None if stays_below else stop_under(each, name, value)
        if mark is None:
            if any(_would_pass(event, name, value) for event in halts):
                gone_on.append(str(each.agent.id))
        elif each.agent.state is State.COMPLETED:
            stopped.append(str(each.agent.id))
        elif each.agent.state is State.ESCALATED:  # by a step that had been allowed to it
            earlier.append(str(each.agent.id))
    return Changed(tuple(stopped), tuple(gone_on), tuple(earlier))


def _would_pass(event: Tripped | Held, name: LimitName, value: float) -> bool:
    """Whether what this limit refused then would be allowed now."""
    refused = event.trip if isinstance(event, Tripped) else event.hold
    figures = (refused.observed, refused.maximum)
    return refused.limit == name and all(each is not None and value > each for each in figures)


def _stopped_by_limit(agent: Agent) -> bool:
    return agent.state is State.ESCALATED and agent.trip is not None


def _peaks(history: History) -> Mapping[LimitName, float | None]:
    """The most that the agent had used of each limit at any instant; None: unknown."""
    limits = history.agent.assignment.limits
    peaks = dict.fromkeys(_MEASURED, 0.0)
    counters = Counters()
    for event in history.log:
        for name in _ON_TIME:  # a stretch of time is longest just before what ends it
            peaks[name] = max(peaks[name], _at(name, limits, counters, event.at))
        counters = after(counters, event)
        for name in _MEASURED if isinstance(event, _COUNTED) else ():
            peaks[name] = max(peaks[name], _at(name, limits, counters, event.at))
    unknown = _MONEY if counters.unpriced_calls else frozenset[LimitName]()
    return {name: None if name in unknown else peak for name, peak in peaks.items()}


def _at(name: LimitName, limits: Limits, counters: Counters, at: datetime) -> float:
    return used_of(name, limits, counters, at)


def _rank(ordered: Sequence[float], part: float) -> float:
    return ordered[max(math.ceil(part * len(ordered)) - 1, 0)]


def _round(name: LimitName, wanted: float) -> float:
    """Up to a number that people remember: two digits, of minutes where it is time."""
    if CATALOGUE[name].is_money:
        return math.ceil(_two_digits(wanted * 100)) / 100
    if name is LimitName.MAX_ACTIVE_DURATION:
        return _two_digits(math.ceil(wanted / 60)) * 60
    return _two_digits(math.ceil(wanted))


def _two_digits(wanted: float) -> int:
    if wanted < 20:
        return math.ceil(wanted)
    step = max(int(10 ** (len(str(math.ceil(wanted))) - 2)), 5)
    return math.ceil(wanted / step) * step


@dataclass(frozen=True, slots=True)
class _Said:
    """How many agents one limit stopped, paused, warned, or let pass."""

    trips: int
    holds: int
    warnings: int
    passes: int

    @classmethod
    def of(cls, name: LimitName, own: Sequence[History]) -> "_Said":
        def count(*kinds: type[AgentEvent]) -> int:
            return sum(
                any(isinstance(event, kinds) and _limit_of(event) == name for event in each.log)
                for each in own
            )

        return cls(count(Tripped), count(Held), count(Warned), count(Passed))


def _limit_of(event: AgentEvent) -> str | None:
    match event:
        case Tripped(trip=trip):
            return trip.limit
        case Held(hold=hold):
            return hold.limit
        case Warned(limit=limit) | Passed(limit=limit):
            return limit
        case _:
            return None


_COUNTED: Final = (TurnAsked, ModelAsked, ModelCalled, ToolAsked, Returned)
_MEASURED: Final = tuple(name for name, info in CATALOGUE.items() if info.trips is not Trips.SENT)
_MONEY: Final = frozenset(name for name, info in CATALOGUE.items() if info.is_money)
_OFF: Final[dict[str, Any]] = {
    name.value: None for name, info in CATALOGUE.items() if info.optional
}
_BOUNDLESS: Final = Limits(
    **_OFF,
    max_active_duration=int(CATALOGUE[LimitName.MAX_ACTIVE_DURATION].most),
    max_sleep_duration=int(CATALOGUE[LimitName.MAX_SLEEP_DURATION].most),
    warning_threshold=1.0,
    default_action=Action.ESCALATE,
)
