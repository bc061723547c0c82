"""The real hook under a crowd that comes when a limit is just reached: nothing more happens.

Issue, "How it is judged": for every limit a parallel test through the real hook. In
`test_hook_crowds` are the limits that let exactly N of a crowd happen. Here are those that a
crowd cannot use up by asking: amounts that were spent before, outcomes that have come, levels, and
time in which nobody does anything. What "exactly" means for each is said where it is tested.
"""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from datetime import datetime

import pytest

from app.adapters.store.store import SqlStore
from app.core.agents.counters import fold
from app.core.agents.events import (
    AgentEvent,
    ModelAsked,
    ModelCalled,
    Phase,
    Slept,
    ToolAsked,
    ToolEnded,
    Tripped,
    TurnAsked,
    Waits,
)
from app.core.agents.lifecycle import Signal
from app.core.agents.stops import Layer
from app.core.breaker.clocks import overdue
from app.core.breaker.verdict import Answer, Verdict
from app.core.limits import CATALOGUE, Action, LimitName, Trips
from app.ports import ToolResult
from tests.contract.store_support import World, later
from tests.contract.test_hook_crowds import CROWDS, asks_to_plan
from tests.core.strategies import only
from tests.support.hook import WENT_WELL, Hook, Start, count
from tests.support.moves import Changes, move

CROWD = 300
WORKERS = 30
PASSES = 50
MISSING = ToolResult(ok=False, exit_code=1, output="cat: notes: No such file or directory")
ASKED = (ToolAsked, ModelAsked, TurnAsked)
"""Whatever an agent may want."""

Ask = Callable[[Hook], Awaitable[Verdict]]


async def plans(hook: Hook) -> Verdict:
    """A call of the planning model, at $0.002."""
    return await hook.calls_model(phase=Phase.PLANNING)


async def fails(hook: Hook) -> Verdict:
    """The same command fails in the same words."""
    return await hook.uses("bash", MISSING, command="cat notes")


async def repeats(hook: Hook) -> Verdict:
    """The same command says the same."""
    return await hook.uses("bash", WENT_WELL, command="ls")


async def works_long(hook: Hook) -> Verdict:
    """Two minutes go into one tool call."""
    return await hook.uses(takes_seconds=120)


ANYTHING: tuple[Ask, ...] = (Hook.uses, Hook.asks_model, Hook.turn, Hook.delegates, Hook.tries)


@dataclass(frozen=True)
class Reached:
    """A limit that is used up one after the other, and the crowd that comes then."""

    name: LimitName
    maximum: float
    steps: int
    use: Ask
    crowd: tuple[Ask, ...]

    def __str__(self) -> str:
        return self.name.value


REACHED = (
    # of an amount: whatever is asked once it has been spent, a tool or a prompt too
    Reached(LimitName.MAX_TOKENS, 20_000, 10, Hook.calls_model, ANYTHING),
    Reached(LimitName.MAX_COST_USD, 0.02, 10, Hook.calls_model, ANYTHING),
    Reached(LimitName.MAX_EXECUTION_COST_USD, 0.02, 10, Hook.calls_model, ANYTHING),
    Reached(LimitName.MAX_PLANNING_COST_USD, 0.02, 10, plans, (*ANYTHING, asks_to_plan)),
    Reached(LimitName.MAX_ACTIVE_DURATION, 600, 5, works_long, ANYTHING),
    # of an outcome: the same once more, when it has come N times
    Reached(LimitName.MAX_REPEATED_ERRORS, 3, 3, fails, (fails,)),
    Reached(LimitName.MAX_REPEATED_CALLS, 5, 5, repeats, (repeats,)),
    Reached(LimitName.MAX_UNRUNNABLE_TESTS, 3, 3, Hook.tries_in_vain, (Hook.tries_in_vain,)),
    # of rounds: the prompt that begins one more
    Reached(LimitName.MAX_REVIEW_ROUNDS, 5, 5, Hook.is_reviewed, (Hook.is_reviewed,)),
)
REFUSES = {LimitName.MAX_DEPTH}
"""Whoever asks for one level more is told so, and is not stopped."""
BY_THEMSELVES = {LimitName.MAX_IDLE_DURATION, LimitName.MAX_SLEEP_DURATION}
"""Limits on time in which nobody asks; each has a test of its own below."""


def test_no_limit_that_can_trip_is_without_a_crowd() -> None:
    able = {name for name, info in CATALOGUE.items() if info.trips is not Trips.SENT}
    assert {each.name for each in (*CROWDS, *REACHED)} | REFUSES | BY_THEMSELVES == able


@pytest.mark.full
@pytest.mark.parametrize("reached", REACHED, ids=str)
async def test_of_a_crowd_at_a_limit_that_is_reached_one_halts_and_none_is_allowed(
    start: Start, reached: Reached
) -> None:
    """Exactly: the maximum was used to the last bit, and of all that is asked then, in the same
    instant, nothing happens; one ask is the one that trips, and the log says so once."""
    stops = {reached.name: Action.ESCALATE}
    hook = await start(only(**{reached.name.value: reached.maximum}, actions=stops))
    for _ in range(reached.steps):
        assert (await reached.use(hook)).allowed
    before = await hook.log()
    each = CROWD // len(reached.crowd)
    verdicts = await asyncio.gather(*(ask(hook) for ask in reached.crowd * each))

    answers = [verdict.answer for verdict in verdicts]
    assert (answers.count(Answer.HALT), answers.count(Answer.DENY)) == (1, len(answers) - 1)
    [halt] = [verdict for verdict in verdicts if verdict.answer is Answer.HALT]
    figures = (halt.limit, halt.observed, halt.maximum)
    assert figures == (reached.name, reached.maximum, reached.maximum)
    log = await hook.log()
    assert count(log, *ASKED) == count(before, *ASKED)
    assert count(log, Tripped) == 1
    assert fold(log) == hook.gate.counters


def tokens_of(log: Sequence[AgentEvent]) -> int:
    """What the model's answers were billed for, added up by hand."""
    return sum(one.input_tokens + one.output_tokens for one in log if isinstance(one, ModelCalled))


def ends_of(log: Sequence[AgentEvent]) -> int:
    """Tool calls that have ended, of an agent whose calls are all the same."""
    return count(log, ToolEnded)


@dataclass(frozen=True)
class Raced:
    """A limit that a crowd reaches by what it does itself."""

    name: LimitName
    maximum: float
    use: Ask
    happened: Callable[[Sequence[AgentEvent]], int]
    """What counts, told from the log."""

    def __str__(self) -> str:
        return self.name.value


RACED = (
    Raced(LimitName.MAX_TOKENS, 120_000, Hook.calls_model, tokens_of),
    Raced(LimitName.MAX_REPEATED_ERRORS, 40, fails, ends_of),
    Raced(LimitName.MAX_REPEATED_CALLS, 40, repeats, ends_of),
)


@pytest.mark.parametrize("raced", RACED, ids=str)
async def test_what_a_crowd_reaches_itself_stops_all_that_is_asked_after_it(
    start: Start, raced: Raced
) -> None:
    """Tokens are known by the answer, an outcome when a tool has ended: what was asked before
    that may happen, as many as there are at work. Exactly: not one ask is allowed after it."""
    hook = await start(only(**{raced.name.value: raced.maximum}))

    async def worker() -> list[Verdict]:
        return [await raced.use(hook) for _ in range(CROWD // WORKERS)]

    verdicts = [
        each
        for found in await asyncio.gather(*(worker() for _ in range(WORKERS)))
        for each in found
    ]
    log = await hook.log()
    reached_at = next(n for n in range(len(log)) if raced.happened(log[:n]) >= raced.maximum)
    assert count(log[reached_at:], *ASKED) == 0
    assert sum(verdict.allowed for verdict in verdicts) == count(log, *ASKED) < CROWD
    answers = [verdict.answer for verdict in verdicts]
    assert (answers.count(Answer.HALT), count(log, Tripped)) == (1, 1)
    [halt] = [verdict for verdict in verdicts if verdict.answer is Answer.HALT]
    assert (halt.limit, halt.maximum) == (raced.name, raced.maximum)
    assert fold(log) == hook.gate.counters


@pytest.mark.full
async def test_a_crowd_of_sub_agents_is_one_level_however_many_there_are(start: Start) -> None:
    """`max_depth` counts levels, not sub-agents: beside each other any number may start."""
    hook = await start(only(max_depth=1))
    verdicts = await asyncio.gather(*(hook.delegates() for _ in range(CROWD)))
    assert all(verdict.allowed for verdict in verdicts)
    assert (hook.gate.counters.spawns, hook.gate.counters.levels) == (CROWD, 1)


@pytest.mark.full
async def test_a_silence_is_ended_once_however_many_look(start: Start) -> None:
    """`max_idle_duration`, exactly: a millisecond before it nobody of a crowd of timers stops the
    session, at it one does; and a crowd that asks for anything meanwhile is no silence."""
    hook = await start(only(max_idle_duration=900))
    assert (await hook.turn()).allowed
    for _ in range(2):
        hook.waits(899.999)
        await asyncio.gather(*(hook.gate.tick() for _ in range(CROWD)))
        assert hook.gate.counters.trip is None
        asked = await asyncio.gather(*(ask(hook) for ask in ANYTHING * 10))
        assert all(verdict.allowed for verdict in asked)
    hook.waits(900)
    before = await hook.log()
    await asyncio.gather(*(hook.gate.tick() for _ in range(CROWD)))
    asked = await asyncio.gather(*(ask(hook) for ask in ANYTHING * 10))
    assert {verdict.answer for verdict in asked} == {Answer.DENY}
    log = await hook.log()
    [trip] = [event.trip for event in log if isinstance(event, Tripped)]
    assert (trip.limit, trip.observed, trip.layer) == ("max_idle_duration", 900, Layer.TIMER)
    assert count(log, *ASKED) == count(before, *ASKED)
    assert fold(log) == hook.gate.counters


async def test_a_sleep_that_many_passes_find_too_long_is_ended_by_one(
    world: World, start: Start
) -> None:
    """`max_sleep_duration`, exactly: no hook is asked while an agent sleeps, but passes of several
    processes may look in the same instant; one of them moves the agent, the others find it
    moved."""
    hook = await start(only(max_sleep_duration=3_600))
    asleep = Slept(at=later(10), waits_for=Waits.ANSWER, blocked_by=(), reason="Which way?")
    changes = Changes(waits_for=Waits.ANSWER)
    assert await move(world.store, hook.agent, Signal.WAITS, [asleep], changes)

    async def looks(store: SqlStore, at: datetime) -> bool:
        """One pass; whether it has ended the agent."""
        sleeper = await store.agent(hook.agent.id)
        assert sleeper is not None
        trip = overdue(sleeper, fold(await store.log(sleeper.id)), at)
        if trip is None:
            return False
        ended = [Tripped(at=at, trip=trip)]
        return await move(store, sleeper, Signal.TRIPPED, ended, Changes(stop=trip)) is not None

    for seconds, ended in ((3_599.999, 0), (3_600, 1), (7_200, 0)):
        at = later(10 + seconds)
        passes = (looks(store, at) for store in world.stores for _ in range(PASSES))
        assert sum(await asyncio.gather(*passes)) == ended
    [trip] = [event.trip for event in await hook.log() if isinstance(event, Tripped)]
    assert (trip.limit, trip.observed, trip.maximum) == ("max_sleep_duration", 3_600, 3_600)
