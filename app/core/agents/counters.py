"""Counters: the fold of an agent's event log.

`fold(log)` is all that a restart needs; the counters kept live are the same fold, one event at a
time. The words are those of `docs/design.md`; `docs/explanation/iterations.md` has the test-fix
cycle.
"""

from collections.abc import Iterable, Mapping
from datetime import datetime, timedelta
from functools import reduce
from types import MappingProxyType
from typing import Final, NamedTuple, assert_never

from app.core.agents.events import (
    AgentEvent,
    Braked,
    BrakeLifted,
    ClockSet,
    Created,
    Decided,
    Failed,
    FilesMoved,
    Finished,
    HandedOver,
    Held,
    HeldUp,
    HostRefused,
    Kept,
    LetOn,
    LostAccess,
    Lowered,
    ModelAsked,
    ModelCalled,
    Noticed,
    Passed,
    Phase,
    Proposed,
    Raised,
    Reported,
    Returned,
    SegmentEnded,
    SegmentStarted,
    SentBack,
    SetUp,
    Slept,
    Spawned,
    SpawnRefused,
    Spoke,
    SpokenTo,
    SuiteAsked,
    Summarised,
    TakenAway,
    Ticked,
    ToolAsked,
    ToolDenied,
    ToolEnded,
    Tripped,
    TurnAsked,
    Verified,
    VerifyBegun,
    Waits,
    Warned,
    Woken,
)
from app.core.agents.loops import Loops
from app.core.agents.signs import Signs
from app.core.agents.stops import Hold, StopReason, Trip
from app.core.limits import CATALOGUE, MEASURES, Action, LimitName, Limits
from app.core.money import added_usd, usd
from app.testruns import Outcome, Suite, covers

_MILLISECOND: Final = timedelta(milliseconds=1)
_OUT_OF_ORDER: Final = timedelta(seconds=5)
"""Events of one agent that are told in another order than they happened in are closer together."""
_NOTHING: Final[Mapping[LimitName, float]] = MappingProxyType({})


class RunningSuite(NamedTuple):
    """A test run that was asked for and has not ended."""

    call: str
    asked: SuiteAsked
    is_cycle: bool
    """Whether it was counted as a fix cycle, to be given back if it passes."""
    is_suspect: bool
    """Counted only because its own command line may have changed something."""


class SuiteState(NamedTuple):
    """What is known of the tests: which selections are red, and on which content."""

    red: frozenset[Suite] = frozenset()
    """Selections whose last run did not pass, unless a run as wide has passed since."""
    red_fingerprint: str | None = None
    """The workspace of the last run that did not pass."""
    running: tuple[RunningSuite, ...] = ()
    unrunnable: int = 0
    """Test runs in a row that could not run at all, each with the same error."""
    error: str = ""
    """What they all said."""
    unrunnable_asked: int = 0
    """As many of them as the last asked call would go on with."""


class Child(NamedTuple):
    """A sub-agent that works, and what of this agent is set aside for it; or one that is paused."""

    agent: str
    reserved: Mapping[LimitName, float] = _NOTHING
    asks: str = ""
    """Why it is paused; empty: it works."""


class OpenCall(NamedTuple):
    """A request to the model that was asked for and not answered."""

    phase: Phase
    estimate_nanousd: int


class UnansweredAsks(NamedTuple):
    """What was asked for since the model has answered last: nothing of it counts if the provider
    turns out to be away."""

    calls: int = 0
    turns: int = 0
    active_before: timedelta | None = None
    """Active time before the first of it."""


class Counters(NamedTuple):
    """What an agent has used so far.

    A named tuple and no dataclass: a changed copy is made at every event, ten times as fast.
    """

    tool_calls: int = 0
    turns: int = 0
    fix_cycles: int = 0
    test_runs: int = 0
    model_calls: int = 0
    input_tokens: int = 0
    output_tokens: int = 0
    cost_nanousd: int = 0
    """Of all calls whose price is known."""
    planning_nanousd: int = 0
    """The part of it that the planning phase cost."""
    unpriced_calls: int = 0
    """Model calls whose price nobody knows: with them the cost is unknown."""
    estimated_calls: int = 0
    """Model calls of which nobody reported what they used: it is taken from what was sent."""
    open_calls: tuple[OpenCall, ...] = ()
    unanswered_asks: UnansweredAsks = UnansweredAsks()
    calls_since_text: int = 0
    calls_in_turn: int = 0
    spawns: int = 0
    """Sub-agents that were started, and those that are being started."""
    spawning: int = 0
    """Sub-agents that were asked for, and neither started nor refused."""
    levels: int = 0
    """Levels of sub-agents that have been below this agent."""
    children: tuple[Child, ...] = ()
    review_rounds: int = 0
    has_feedback: bool = False
    """Whether feedback on its pull request has woken it and it was not prompted since: the next
    prompt begins a round of review."""
    unheard: tuple[SpokenTo, ...] = ()
    """What people wrote to it and the model has not answered yet, oldest first."""
    unanswered: int = 0
    """The first so many of these were in what was sent last."""
    active: timedelta = timedelta()
    """Active time up to `clock`, over all segments."""
    active_at_start: timedelta = timedelta()
    """The same when the present segment began."""
    clock: datetime | None = None
    """The last instant seen while a segment is running; None while none runs."""
    clock_lead: float | None = None
    """By how many seconds the wall clock was ahead of the monotonic one when the segment began, or
    was set; None: nobody noted it."""
    heard: datetime | None = None
    """When the running session last did anything; None before its first
    turn."""
    asleep_since: datetime | None = None
    """Start of the present sleep for a blocker or an answer, or of the pause; else None."""
    tests: SuiteState = SuiteState()
    loops: Loops = Loops()
    signs: Signs = Signs()
    raised: Mapping[LimitName, float] = _NOTHING
    """What humans, or a sub-agent's parent, have added to the limits."""
    lowered: Mapping[LimitName, float] = _NOTHING
    """By how much less than its limits say a sub-agent may use, because its parent has less."""
    warned: frozenset[LimitName] = frozenset()
    passed: frozenset[LimitName] = frozenset()
    """Limits that were reached and did not stop the agent."""
    hold: Hold | None = None
    stop: StopReason | None = None
    """What stopped it for good."""

    @property
    def trip(self) -> Trip | None:
        """The limit that stopped it for good, if one did."""
        return self.stop if isinstance(self.stop, Trip) else None

    @property
    def tokens(self) -> int:
        """Input and output together."""
        return self.input_tokens + self.output_tokens

    @property
    def execution_nanousd(self) -> int:
        """What all but the planning phase cost."""
        return self.cost_nanousd - self.planning_nanousd


def fold(log: Iterable[AgentEvent], start: Counters | None = None) -> Counters:
    """Counters after all events of `log`, in order."""
    return reduce(after, log, start if start is not None else Counters())


PLACES: Final[Mapping[str, int]] = {measure: place for place, measure in enumerate(MEASURES)}


def amounts(counters: Counters, at: datetime) -> tuple[float, ...]:
    """What limits compare with their maximum, as of an instant, in the order of `MEASURES`.
    Durations are seconds, money is whole nano-USD, so that sums are exact.

    One row and no function for each: the breaker reads all of them at every ask.
    """
    loops, tests = counters.loops, counters.tests
    # Who waits for a sub-agent is not idle: the sub-agent has a clock of its own.
    delegates = bool(counters.children) and any(not child.asks for child in counters.children)
    return (
        counters.test_runs,
        counters.fix_cycles,
        counters.tool_calls,
        counters.turns,
        seconds(active_until(counters, at)),
        _since(counters.asleep_since, at),
        counters.model_calls,
        counters.input_tokens + counters.output_tokens,
        counters.cost_nanousd,
        counters.planning_nanousd,
        counters.cost_nanousd - counters.planning_nanousd,
        counters.calls_since_text,
        counters.calls_in_turn,
        loops.errors,
        loops.rounds,
        tests.unrunnable_asked,
        counters.spawns,
        counters.levels,
        _since(None if delegates else counters.heard, at),
        counters.review_rounds,
    )


def used_of(name: LimitName, limits: Limits, counters: Counters, at: datetime) -> float:
    """How much of a limit is used, as people read it: money is USD. Raises `KeyError` for a limit
    that never trips."""
    amount = amounts(counters, at)[PLACES[limits.measure(name)]]
    return usd(int(amount)) if CATALOGUE[name].is_money else amount


def _since(start: datetime | None, at: datetime) -> float:
    return 0.0 if start is None else seconds(at - start)


def maximum_of(name: LimitName, limits: Limits, counters: Counters) -> float | None:
    """The maximum as it was raised, or lowered to what a parent has left; None when the limit is
    switched off."""
    maximum = limits.maximum(name)
    if maximum is None:
        return None
    return _moved(name, maximum, counters.raised.get(name, 0) - counters.lowered.get(name, 0))


def ceiling_of(name: LimitName, limits: Limits, counters: Counters) -> float | None:
    """The bound that nobody raises; None: there is none."""
    ceiling = limits.ceilings.get(name)
    return None if ceiling is None else _moved(name, ceiling, -counters.lowered.get(name, 0))


def _moved(name: LimitName, bound: float, by: float) -> float:
    return added_usd(bound, by) if CATALOGUE[name].is_money else bound + by


def stops_at(name: LimitName, limits: Limits, counters: Counters) -> float | None:
    """The amount at which the agent stops, if only for a human's word; None: nothing stops it."""
    ceiling = ceiling_of(name, limits, counters)
    if name in limits.shadow or limits.action(name) is Action.WARN:
        return ceiling
    maximum = maximum_of(name, limits, counters)
    return min((each for each in (maximum, ceiling) if each is not None), default=None)


def seconds(duration: timedelta) -> float:
    """A duration as limits compare it: to the millisecond, and never more than it was."""
    return max(duration // _MILLISECOND, 0) / 1000


def active_until(counters: Counters, at: datetime) -> timedelta:
    """Active time as of `at`, if the segment that is running still runs then."""
    if counters.clock is None:
        return counters.active
    return counters.active + max(at - counters.clock, timedelta())


def after(counters: Counters, event: AgentEvent) -> Counters:
    """Counters after one more event. Total: every event is accepted in every state."""
    if isinstance(event, ClockSet):
        counters = _set_by(counters, event.by_seconds)
    counters = _passed_time(counters, event)
    match event:
        case ToolAsked():
            return _tool_asked(counters, event)
        case ToolEnded():
            return _tool_ended(counters, event)
        case ModelAsked():
            return counters._replace(
                model_calls=counters.model_calls + 1,
                unanswered=len(counters.unheard),
                open_calls=(
                    *counters.open_calls,
                    OpenCall(event.phase, event.estimate_nanousd or 0),
                ),
                unanswered_asks=_asked_once_more(counters, calls=1),
            )
        case ModelCalled():
            return _model_called(counters, event)
        case Spoke():
            return counters._replace(calls_since_text=0)
        case TurnAsked():
            return counters._replace(
                turns=counters.turns + 1,
                calls_in_turn=0,
                review_rounds=counters.review_rounds + counters.has_feedback,
                has_feedback=False,
                unanswered=len(counters.unheard),
                unanswered_asks=_asked_once_more(counters, turns=1),
            )
        case SegmentStarted(at=at, clock_lead=clock_lead):
            return counters._replace(
                active_at_start=counters.active,
                clock=at,
                clock_lead=clock_lead,
                heard=None,
                asleep_since=None,
                open_calls=(),
                spawns=counters.spawns - counters.spawning,
                spawning=0,
                unanswered_asks=UnansweredAsks(),
                tests=_cut_off(counters.tests),
                loops=counters.loops.cut_off(),
            )
        case SegmentEnded() | TakenAway() | Finished() | VerifyBegun():
            return counters._replace(clock=None, heard=None)
        case SentBack():  # Squadron has run the tests, and they were red
            return _heard_news(counters)._replace(
                test_runs=counters.test_runs + 1, fix_cycles=counters.fix_cycles + 1
            )
        case Slept(at=at, waits_for=waits_for):
            asleep_since = None if waits_for is Waits.REVIEW else at
            return counters._replace(clock=None, heard=None, asleep_since=asleep_since)
        case Woken(feedback=feedback):
            return _heard_news(counters)._replace(
                asleep_since=None,
                hold=None,
                has_feedback=counters.has_feedback or bool(feedback),
            )
        case Noticed(sign=sign):
            return counters._replace(signs=counters.signs.tell(sign))
        case Warned(limit=limit):
            return counters._replace(warned=counters.warned | {limit})
        case Passed(limit=limit):
            return counters._replace(passed=counters.passed | {limit})
        case Held(hold=hold):
            return counters if counters.hold is not None else counters._replace(hold=hold)
        case Raised(limit=limit, amount=amount):
            return _raised(counters, limit, amount)
        case Lowered(limit=limit, amount=amount):
            return counters._replace(lowered={**counters.lowered, limit: amount})
        case Spawned(child=child, reserved=reserved, goes_on=goes_on):
            return counters._replace(
                children=_with(counters.children, Child(child, dict(reserved))),
                spawning=counters.spawning if goes_on else max(counters.spawning - 1, 0),
            )
        case SpawnRefused():
            return counters._replace(
                spawns=max(counters.spawns - 1, 0), spawning=max(counters.spawning - 1, 0)
            )
        case Returned():
            return _returned(counters, event)
        case Tripped(trip=why) | Failed(failure=why):
            return counters if counters.stop is not None else counters._replace(stop=why)
        case SpokenTo():
            return counters._replace(unheard=(*counters.unheard, event))
        case Created() | ToolDenied() | Ticked() | Summarised() | Kept() | HandedOver():
            return counters
        case Verified():
            return counters
        case Proposed() | Reported() | HostRefused() | SetUp() | FilesMoved():
            return counters
        case HeldUp(waits_for=Waits.PROVIDER):
            return _asked_in_vain(counters)
        case HeldUp(waits_for=Waits.GIT):  # it asked GitHub in vain, and that was no work
            return counters._replace(active=counters.active_at_start)
        case Braked() | BrakeLifted() | HeldUp() | LetOn() | LostAccess() | Decided() | ClockSet():
            return counters
        case _:
            assert_never(event)


_NOT_OF_THE_SESSION: Final = (
    Ticked,
    Warned,
    Passed,
    Noticed,
    Held,
    Raised,
    HostRefused,
    SetUp,
    FilesMoved,
    SpokenTo,
    Decided,
    ClockSet,
)
"""What the timer, Squadron, a human or a setup adds: a session that hangs is still silent."""


def _set_by(counters: Counters, seconds: float) -> Counters:
    """Instants before the clock was set, as it would have shown them after that. No clock shows
    what the calendar does not hold: then they stay."""
    if counters.clock is None or counters.clock_lead is None:
        return counters
    heard = counters.heard
    try:
        by = timedelta(seconds=seconds)
        return counters._replace(
            clock=counters.clock + by,
            clock_lead=counters.clock_lead + seconds,
            heard=None if heard is None else heard + by,
        )
    except OverflowError:
        return counters


def _passed_time(counters: Counters, event: AgentEvent) -> Counters:
    """Time counts from event to event while a segment runs.

    A segment that starts again after a crash counts nothing for the time in which no process
    was running. Where a clock was set back, time counts from there on.
    """
    if counters.clock is None or isinstance(event, SegmentStarted):
        return counters
    at, clock, active = event.at, counters.clock, counters.active
    if at >= clock:
        active, clock = active + (at - clock), at
    elif clock - at > _OUT_OF_ORDER:
        clock = at
    heard = counters.heard if isinstance(event, _NOT_OF_THE_SESSION) else at
    return counters._replace(active=active, clock=clock, heard=heard)


def _tool_asked(counters: Counters, asked: ToolAsked) -> Counters:
    counted = counters._replace(
        tool_calls=counters.tool_calls + 1,
        calls_since_text=counters.calls_since_text + 1,
        calls_in_turn=counters.calls_in_turn + 1,
        loops=counters.loops.asked(asked.call, _key(asked), asked.tool, asked.kind),
        signs=counters.signs.asked(asked.key),
    )
    if asked.spawns:
        counted = counted._replace(
            spawns=counters.spawns + 1,
            spawning=counters.spawning + 1,
            levels=max(counters.levels, 1),
        )
    if asked.suite is not None:
        return _suite_asked(counted, asked.call, asked.suite)
    if counters.tests.unrunnable_asked:
        return counted._replace(tests=counters.tests._replace(unrunnable_asked=0))
    return counted


def _key(asked: ToolAsked) -> str:
    """A test run of another workspace is another call."""
    if asked.suite is None or not asked.key:
        return asked.key
    return f"{asked.key}@{asked.suite.fingerprint}"


def _tool_ended(counters: Counters, ended: ToolEnded) -> Counters:
    if ended.cut_off:
        return counters._replace(
            loops=counters.loops.cut_off(ended.call), tests=_cut_off(counters.tests, ended.call)
        )
    loops = counters.loops.ended(ended.call, ended.result, ended.error, changed=ended.changed)
    signs = counters.signs.ended(ended.ok)
    return _suite_ended(counters._replace(loops=loops, signs=signs), ended)


def _model_called(counters: Counters, called: ModelCalled) -> Counters:
    was_asked = bool(counters.open_calls)  # some runtimes tell of a call only after it
    cost = called.cost_nanousd or 0
    is_planning = called.phase is Phase.PLANNING
    return counters._replace(
        model_calls=counters.model_calls + (not was_asked),
        open_calls=_without_one(counters.open_calls, called.phase),
        input_tokens=counters.input_tokens + called.input_tokens,
        output_tokens=counters.output_tokens + called.output_tokens,
        cost_nanousd=counters.cost_nanousd + cost,
        planning_nanousd=counters.planning_nanousd + (cost if is_planning else 0),
        unpriced_calls=counters.unpriced_calls + (called.cost_nanousd is None),
        estimated_calls=counters.estimated_calls + called.is_estimate,
        unheard=counters.unheard[counters.unanswered :],
        unanswered=0,
        unanswered_asks=UnansweredAsks(),
    )


def _asked_once_more(counters: Counters, *, calls: int = 0, turns: int = 0) -> UnansweredAsks:
    before = counters.unanswered_asks
    is_first = before.active_before is None
    active_before = counters.active if is_first else before.active_before
    return UnansweredAsks(before.calls + calls, before.turns + turns, active_before)


def _asked_in_vain(counters: Counters) -> Counters:
    """The model's provider is away: what was asked of it, and the time that this took, was no
    work of the agent."""
    asks = counters.unanswered_asks
    return counters._replace(
        model_calls=counters.model_calls - asks.calls,
        turns=counters.turns - asks.turns,
        active=counters.active if asks.active_before is None else asks.active_before,
        unanswered_asks=UnansweredAsks(),
    )


def _without_one(open_calls: tuple[OpenCall, ...], phase: Phase) -> tuple[OpenCall, ...]:
    """The oldest request of that phase was answered, if there is one; else the oldest."""
    place = next((at for at, call in enumerate(open_calls) if call.phase is phase), 0)
    return open_calls[:place] + open_calls[place + 1 :]


def _raised(counters: Counters, limit: LimitName, amount: float) -> Counters:
    hold = counters.hold
    may_go_on = limit is LimitName.MAX_CONSECUTIVE_TOOLS
    return _heard_news(counters)._replace(
        calls_since_text=0 if may_go_on else counters.calls_since_text,
        raised={**counters.raised, limit: counters.raised.get(limit, 0) + amount},
        warned=counters.warned - {limit},
        passed=counters.passed - {limit},
        hold=None if hold is not None and hold.limit == limit else hold,
    )


def _heard_news(counters: Counters) -> Counters:
    """A human's word and a closed blocker are news: what went round in circles starts anew."""
    return counters._replace(
        loops=Loops(open=counters.loops.open),
        signs=counters.signs.heard(),
        tests=counters.tests._replace(unrunnable=0, error="", unrunnable_asked=0),
    )


def _with(children: tuple[Child, ...], child: Child) -> tuple[Child, ...]:
    return (*(one for one in children if one.agent != child.agent), child)


def _returned(counters: Counters, returned: Returned) -> Counters:
    paused = Child(returned.child, asks=returned.asks)
    others = tuple(one for one in counters.children if one.agent != returned.child)
    return counters._replace(
        children=(*others, paused) if returned.asks else others,
        tool_calls=counters.tool_calls + returned.tool_calls,
        model_calls=counters.model_calls + returned.model_calls,
        input_tokens=counters.input_tokens + returned.input_tokens,
        output_tokens=counters.output_tokens + returned.output_tokens,
        cost_nanousd=counters.cost_nanousd + returned.cost_nanousd,
        unpriced_calls=counters.unpriced_calls + returned.unpriced_calls,
        estimated_calls=counters.estimated_calls + returned.estimated_calls,
        levels=max(counters.levels, 1 + returned.levels),
    )


def _suite_asked(counters: Counters, call: str, asked: SuiteAsked) -> Counters:
    tests = counters.tests
    was_changed = asked.fingerprint != tests.red_fingerprint
    is_cycle = bool(tests.red) and (was_changed or asked.may_change)
    run = RunningSuite(call, asked, is_cycle, is_suspect=is_cycle and not was_changed)
    return counters._replace(
        test_runs=counters.test_runs + 1,
        fix_cycles=counters.fix_cycles + is_cycle,
        tests=tests._replace(running=(*tests.running, run), unrunnable_asked=tests.unrunnable),
    )


def _suite_ended(counters: Counters, ended: ToolEnded) -> Counters:
    tests = counters.tests
    run = next((run for run in tests.running if run.call == ended.call), None)
    if run is None:
        return counters
    suite = run.asked.suite
    others = tuple(other for other in tests.running if other is not run)
    if ended.outcome is Outcome.PASSED:
        still_red = frozenset(red for red in tests.red if not covers(suite, red))
        return counters._replace(
            fix_cycles=counters.fix_cycles - run.is_cycle,
            tests=tests._replace(
                red=still_red,
                red_fingerprint=tests.red_fingerprint if still_red else None,
                running=others,
                unrunnable=0,
                error="",
            ),
        )
    fingerprint = ended.fingerprint if ended.fingerprint is not None else run.asked.fingerprint
    changed_nothing = run.is_suspect and fingerprint == run.asked.fingerprint
    unrunnable, error = 0, ""
    if ended.outcome is Outcome.DID_NOT_RUN:
        error = ended.result
        unrunnable = tests.unrunnable + 1 if error == tests.error else 1
    return counters._replace(
        fix_cycles=counters.fix_cycles - changed_nothing,
        tests=tests._replace(
            red=tests.red | {suite},
            red_fingerprint=fingerprint,
            running=others,
            unrunnable=unrunnable,
            error=error,
        ),
    )


def _cut_off(tests: SuiteState, call: str | None = None) -> SuiteState:
    """A test run that was cut off has not passed; None: none that was running has."""
    asked = [run.asked for run in tests.running if call in (None, run.call)]
    if not asked:
        return tests
    left = tuple(run for run in tests.running if call not in (None, run.call))
    red = tests.red | {one.suite for one in asked}
    return tests._replace(red=red, red_fingerprint=asked[-1].fingerprint, running=left)
