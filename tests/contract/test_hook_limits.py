"""Every limit through the real hook: the gate of a segment, on SQLite and on PostgreSQL.

Issue, "How it is judged": examples at the maximum and one more, many asks at once, and counters
that no death of the process makes smaller. docs/design.md, promises 2 and 3.
"""

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import pytest

from app.core.agents.counters import Counters, fold
from app.core.agents.events import (
    ModelAsked,
    Passed,
    Phase,
    Raised,
    Slept,
    ToolAsked,
    ToolDenied,
    ToolKind,
    Tripped,
    TurnAsked,
    Waits,
    Woken,
)
from app.core.agents.lifecycle import Signal
from app.core.agents.stops import Layer
from app.core.breaker.clocks import overdue
from app.core.breaker.verdict import Answer, Verdict, usage
from app.core.limits import CATALOGUE, Action, LimitName, Limits, Trips
from app.ports import ToolCall, ToolResult
from tests.contract.store_support import World, later
from tests.core.strategies import only
from tests.support.hook import (
    GREEN,
    WENT_WELL,
    Hook,
    Start,
    count,
)
from tests.support.moves import Changes, move

MISSING = ToolResult(ok=False, exit_code=1, output="cat: notes: No such file or directory")


# --- one table for all limits that a hook can see ----------------------------------------------


async def nothing(hook: Hook) -> None:
    """No preparation."""


async def first_red(hook: Hook) -> None:
    """The run before any fix: what is counted comes after it."""
    assert (await hook.tries()).allowed


async def first_prompt(hook: Hook) -> None:
    """A turn is under way."""
    assert (await hook.turn()).allowed


@dataclass(frozen=True)
class Case:
    """A limit with its maximum, and what uses it up in so many equal steps."""

    name: LimitName
    maximum: float
    steps: int
    use: Callable[[Hook], Awaitable[Verdict]]
    prepare: Callable[[Hook], Awaitable[None]] = nothing
    more: Mapping[str, Any] = field(default_factory=dict)
    trips_without: bool = False
    """Whether the limit, once reached, is seen at whatever comes next: an amount."""

    @property
    def limits(self) -> Limits:
        """This limit alone."""
        return only(**{self.name.value: self.maximum}, **self.more)

    def __str__(self) -> str:
        return self.name.value


async def planning(hook: Hook) -> Verdict:
    return await hook.calls_model(phase=Phase.PLANNING)


async def waits_silently(hook: Hook) -> Verdict:
    """Only the timer of the agent is awake. Its verdict is about the time before."""
    verdict = await hook.ticks()
    hook.waits(90)
    return verdict


CASES = (
    Case(LimitName.MAX_ITERATIONS, 3, 3, Hook.changes_and_tries, first_red),
    Case(
        LimitName.MAX_ITERATIONS,
        3,
        3,
        lambda hook: hook.tries(GREEN),
        more={"iteration_mode": "test_runs"},
    ),
    Case(LimitName.MAX_TOOL_CALLS, 7, 7, Hook.uses),
    Case(LimitName.MAX_TURNS, 5, 5, Hook.turn),
    Case(
        LimitName.MAX_ACTIVE_DURATION,
        600,
        6,
        lambda hook: hook.uses(takes_seconds=100),
        trips_without=True,
    ),
    Case(LimitName.MAX_MODEL_CALLS, 6, 6, Hook.calls_model),
    Case(
        LimitName.MAX_TOKENS,
        1_000,
        10,
        lambda hook: hook.calls_model(70, 30),
        trips_without=True,
    ),
    Case(LimitName.MAX_COST_USD, 0.02, 10, Hook.calls_model, trips_without=True),
    Case(LimitName.MAX_PLANNING_COST_USD, 0.02, 10, planning, trips_without=True),
    Case(LimitName.MAX_EXECUTION_COST_USD, 0.02, 10, Hook.calls_model, trips_without=True),
    Case(LimitName.MAX_CONSECUTIVE_TOOLS, 4, 4, Hook.uses),
    Case(LimitName.MAX_TOOL_CALLS_PER_TURN, 4, 4, Hook.uses, first_prompt),
    Case(
        LimitName.MAX_REPEATED_ERRORS,
        3,
        3,
        lambda hook: hook.uses("bash", MISSING, command="cat notes"),
    ),
    Case(
        LimitName.MAX_REPEATED_CALLS,
        5,
        5,
        lambda hook: hook.uses("bash", WENT_WELL, command="ls"),
    ),
    Case(
        LimitName.MAX_UNRUNNABLE_TESTS,
        3,
        3,
        Hook.tries_in_vain,
        more={"actions": {LimitName.MAX_UNRUNNABLE_TESTS: Action.ESCALATE}},
    ),
    Case(LimitName.MAX_SPAWNS, 3, 3, Hook.delegates),
    Case(LimitName.MAX_REVIEW_ROUNDS, 5, 5, Hook.is_reviewed),
    Case(LimitName.MAX_IDLE_DURATION, 900, 10, waits_silently, first_prompt, trips_without=True),
)
REFUSES = {LimitName.MAX_DEPTH}
"""Whoever asks for one level more is told so, and is not stopped."""
BY_ITS_OWN_LAYER = {LimitName.MAX_SLEEP_DURATION}
"""No hook is asked while an agent sleeps: reconciliation looks at the log."""


def test_no_limit_that_can_trip_is_left_out() -> None:
    able = {name for name, info in CATALOGUE.items() if info.trips is not Trips.SENT}
    assert {case.name for case in CASES} | REFUSES | BY_ITS_OWN_LAYER == able


def used(limits: Limits, counters: Counters, hook: Hook) -> dict[str, float]:
    """The amount of every limit that is on."""
    return {use.name: use.observed for use in usage(counters, limits, hook.clock.now())}


async def assert_stopped(hook: Hook, case: Case, verdict: Verdict) -> None:
    """It is this limit that halts, at its maximum; nothing else is counted, and nothing runs."""
    figures = (verdict.answer, verdict.limit, verdict.observed, verdict.maximum)
    assert figures == (Answer.HALT, case.name, case.maximum, case.maximum)
    halted_at = await hook.log()
    assert hook.gate.tripped.is_set()
    assert (await hook.uses()).answer is Answer.DENY
    assert (await hook.tries()).answer is Answer.DENY
    assert (await hook.turn()).answer is Answer.DENY
    log = await hook.log()
    assert count(log, Tripped) == 1
    asked = (ToolAsked, TurnAsked, ModelAsked)
    assert count(log, *asked) == count(halted_at, *asked)
    assert fold(log) == hook.gate.counters


@pytest.mark.parametrize("case", CASES, ids=str)
async def test_the_maximum_may_be_used_and_then_the_next_ask_halts(
    start: Start, case: Case
) -> None:
    """docs/design.md, Words, "limit / maximum"; what the log says is what the gate has counted."""
    hook = await start(case.limits)
    await case.prepare(hook)
    for step in range(case.steps):
        verdict = await case.use(hook)
        assert verdict.allowed, (step, verdict)
        assert await hook.stored() == hook.gate.counters
        assert hook.gate.counters.trip is None
    await assert_stopped(hook, case, await case.use(hook))


@pytest.mark.parametrize("case", [case for case in CASES if case.trips_without], ids=str)
async def test_an_amount_that_is_reached_stops_whatever_is_asked_next(
    start: Start, case: Case
) -> None:
    """Also a tool, a prompt or the timer where the amount is money or tokens."""
    for ask in (Hook.uses, Hook.turn, Hook.ticks):
        if ask is not Hook.ticks and case.name is LimitName.MAX_IDLE_DURATION:
            continue  # whoever asks is not silent
        hook = await start(case.limits)
        await case.prepare(hook)
        for _ in range(case.steps):
            assert (await case.use(hook)).allowed
        await assert_stopped(hook, case, await ask(hook))


@pytest.mark.parametrize("name", [LimitName.MAX_DEPTH, LimitName.MAX_SPAWNS], ids=str)
async def test_where_no_sub_agent_is_allowed_asking_for_one_stops_nobody(
    start: Start, name: LimitName
) -> None:
    """Seed 003, "Depth Decrement": such a call fails, and the agent does the part itself."""
    hook = await start(only(**{name.value: 0}))
    for _ in range(3):
        verdict = await hook.delegates()
        figures = (verdict.answer, verdict.limit, verdict.observed, verdict.maximum)
        assert figures == (Answer.DENY, name, 0, 0)
        assert (await hook.uses()).allowed
    log = await hook.log()
    assert (count(log, Passed), count(log, Tripped), count(log, ToolDenied)) == (1, 0, 3)
    assert hook.gate.counters == await hook.stored()
    assert (hook.gate.counters.spawns, hook.gate.counters.tool_calls) == (0, 3)


async def test_a_sleep_that_has_reached_its_maximum_is_seen_in_the_stored_log(
    world: World, start: Start
) -> None:
    """Seed 002, layer 3: no hook is asked while nobody works."""
    hook = await start(only(max_sleep_duration=3_600))
    asleep = Slept(at=later(10), waits_for=Waits.BLOCKER, blocked_by=(7,), reason="Needs #7.")
    changes = Changes(waits_for=Waits.BLOCKER, blocked_by=(7,))
    assert await move(world.store, hook.agent, Signal.WAITS, [asleep], changes)
    sleeper = await world.store.agent(hook.agent.id)
    assert sleeper is not None
    counters = await hook.stored()
    assert overdue(sleeper, counters, later(10 + 3_599.999)) is None
    trip = overdue(sleeper, counters, later(10 + 3_600))
    assert trip is not None
    assert (trip.limit, trip.observed, trip.maximum, trip.layer) == (
        LimitName.MAX_SLEEP_DURATION,
        3_600,
        3_600,
        Layer.RECONCILIATION,
    )


# --- the process dies --------------------------------------------------------------------------


@pytest.mark.parametrize(
    "case", [case for case in CASES if case.name is not LimitName.MAX_IDLE_DURATION], ids=str
)
async def test_deaths_between_any_two_asks_neither_give_nor_take_any_of_a_limit(
    start: Start, case: Case
) -> None:
    """Promise 2: what a new process begins with is what the dead one had, and the trip comes at
    exactly the same step. The time in which nobody worked is nobody's."""
    hook = await start(case.limits)
    await case.prepare(hook)
    for step in range(case.steps):
        await dies(hook, case.limits)
        verdict = await case.use(hook)
        assert verdict.allowed, (step, verdict)
    await dies(hook, case.limits)
    await assert_stopped(hook, case, await case.use(hook))
    await dies(hook, case.limits)
    assert hook.gate.counters.trip is not None
    assert (await hook.uses()).answer is Answer.DENY


async def dies(hook: Hook, limits: Limits) -> None:
    """The second gate, built from the stored log, has counted what the first had."""
    had = hook.gate.counters
    assert await hook.stored() == had
    before = used(limits, had, hook)
    await hook.dies_and_starts_again()
    now = used(limits, hook.gate.counters, hook)
    assert {name: now[name] >= amount for name, amount in before.items()} == dict.fromkeys(
        before, True
    )
    assert (hook.gate.counters.trip, hook.gate.counters.hold) == (had.trip, had.hold)
    assert hook.gate.counters.warned == had.warned


async def test_before_its_first_prompt_an_agent_is_not_idle(start: Start) -> None:
    """`max_idle_duration`: a set-up may be silent for as long as it takes."""
    hook = await start(only(max_idle_duration=900))
    hook.waits(5_000)
    assert (await hook.ticks()).allowed
    await first_prompt(hook)
    hook.waits(899.999)
    assert (await hook.ticks()).allowed
    hook.waits(0.001)
    assert (await hook.ticks()).limit == LimitName.MAX_IDLE_DURATION


async def test_a_new_process_begins_with_no_silence(start: Start) -> None:
    """`max_idle_duration` finds a runtime that hangs: the one that died hangs no more."""
    hook = await start(only(max_idle_duration=900))
    await first_prompt(hook)
    hook.waits(899)
    await hook.dies_and_starts_again()
    hook.waits(5_000)
    assert (await hook.ticks()).allowed
    await first_prompt(hook)
    hook.waits(899)
    assert (await hook.ticks()).allowed
    hook.waits(1)
    assert (await hook.ticks()).limit == LimitName.MAX_IDLE_DURATION


async def test_what_was_under_way_when_the_process_died_is_counted_and_has_not_passed(
    start: Start,
) -> None:
    """A tool call, a model call and a test run that nobody will ever hear of again."""
    hook = await start(only(max_tool_calls=3, max_model_calls=2, max_iterations=1))
    await first_red(hook)
    assert (await hook.asks_model()).allowed
    assert (await hook.asks()).allowed
    assert (await hook.asks_tests()).allowed
    before = hook.gate.counters
    await hook.dies_and_starts_again()
    counters = hook.gate.counters
    assert (counters.tool_calls, counters.model_calls) == (3, 1)
    assert (counters.test_runs, counters.fix_cycles) == (before.test_runs, before.fix_cycles)
    assert counters.tests.red, "a run that was cut off is as good as red"
    assert (await hook.calls_model()).allowed
    assert (await hook.calls_model()).limit == LimitName.MAX_MODEL_CALLS


@pytest.mark.parametrize("pipefail", [True, False])
async def test_whose_status_that_of_a_pipe_is_depends_on_the_shell(
    start: Start, pipefail: bool
) -> None:
    """The shells of the CLIs end `tests | tail` as `tail` ends; ours as the tests do."""
    hook = await start(only(max_iterations=5))
    await first_red(hook)
    args = {"command": "pytest | tail -n 1"}
    call = ToolCall("pipe", "bash", args, ToolKind.SHELL, pipefail=pipefail)
    assert (await hook.gate.before_tool(call)).allowed
    await hook.gate.after_tool(call, ToolResult(ok=True, exit_code=0, output="done"))
    assert bool(hook.gate.counters.tests.red) is not pipefail


async def test_what_a_human_has_raised_survives_the_process(start: Start) -> None:
    limits = only(max_tool_calls=2, default_action=Action.PAUSE)
    hook = await start(limits)
    assert [(await hook.uses()).allowed for _ in range(3)] == [True, True, False]
    await dies(hook, limits)
    raised = Raised(
        at=hook.clock.now(), limit=LimitName.MAX_TOOL_CALLS, amount=2, maximum=4, by="maria"
    )
    await hook.gate.record([raised, Woken(at=hook.clock.now(), why="raised", by="maria")])
    await hook.dies_and_starts_again()
    assert [(await hook.uses()).allowed for _ in range(3)] == [True, True, False]
    assert hook.gate.counters.hold is not None
    assert hook.gate.counters.hold.maximum == 4
