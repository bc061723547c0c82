"""The real hook under a crowd, and when the database fails: exact, and closed on any doubt.

Issue, "How it is judged": 1,000 concurrent requests. docs/design.md, promise 3.
"""

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import AbstractContextManager
from dataclasses import dataclass

import pytest
import sqlalchemy as sa

from app.adapters.runtimes.gate import ClosedGate
from app.core.agents.counters import fold
from app.core.agents.events import (
    Held,
    ModelAsked,
    ModelCalled,
    Passed,
    Phase,
    SegmentStarted,
    ToolAsked,
    ToolDenied,
    ToolEnded,
    Tripped,
    TurnAsked,
)
from app.core.breaker.verdict import Answer, Verdict
from app.core.limits import Action, LimitName
from app.ports import ModelRequest, ModelUsage, ToolCall
from tests.contract.store_support import World, heard
from tests.core.strategies import only
from tests.support.hook import MODEL, WENT_WELL, Hook, Start, count

MANY = 1_000
ANSWER_SECONDS = 30.0
CALL = ToolCall("one-more", "view", {"path": "README.md"})
REQUEST = ModelRequest(MODEL, 1_000, 1_000, Phase.EXECUTION)


# --- many at once ------------------------------------------------------------------------------


async def nothing(hook: Hook) -> None:
    """No preparation."""


async def a_prompt(hook: Hook) -> None:
    """A turn is under way."""
    assert (await hook.turn()).allowed


async def a_fix_after_a_red_run(hook: Hook) -> None:
    """From now on each test run is a fix cycle."""
    assert (await hook.tries()).allowed
    hook.changes()


async def asks_to_plan(hook: Hook) -> Verdict:
    """A request to the planning model."""
    return await hook.asks_model(phase=Phase.PLANNING)


Ask = Callable[[Hook], Awaitable[Verdict]]


@dataclass(frozen=True)
class Crowd:
    """Many asks in the same instant against one maximum, of which so many may happen."""

    name: LimitName
    maximum: float
    allowed: int
    asks: int
    ask: Ask
    counted: type
    """The event that each allowed ask leaves in the log."""
    prepare: Callable[[Hook], Awaitable[None]] = nothing
    observed: float | None = None
    """When it halts; None: the maximum."""

    def __str__(self) -> str:
        return f"{self.asks} against {self.name}={self.maximum}"


CROWDS = (
    Crowd(LimitName.MAX_TOOL_CALLS, 200, 200, MANY, Hook.uses, ToolAsked),
    Crowd(LimitName.MAX_MODEL_CALLS, 60, 60, 300, Hook.calls_model, ModelAsked),
    Crowd(LimitName.MAX_TURNS, 60, 60, 300, Hook.turn, TurnAsked),
    Crowd(LimitName.MAX_CONSECUTIVE_TOOLS, 60, 60, 300, Hook.uses, ToolAsked),
    Crowd(LimitName.MAX_TOOL_CALLS_PER_TURN, 60, 60, 300, Hook.uses, ToolAsked, a_prompt),
    Crowd(LimitName.MAX_SPAWNS, 60, 60, 300, Hook.delegates, ToolAsked),
    Crowd(LimitName.MAX_ITERATIONS, 5, 5, 20, Hook.asks_tests, ToolAsked, a_fix_after_a_red_run),
    # $0.002 each: by the estimates alone while none has been answered, then by what was spent
    Crowd(LimitName.MAX_COST_USD, 0.12, 60, 300, Hook.asks_model, ModelAsked, observed=0),
    Crowd(LimitName.MAX_EXECUTION_COST_USD, 0.12, 60, 300, Hook.asks_model, ModelAsked, observed=0),
    Crowd(LimitName.MAX_PLANNING_COST_USD, 0.12, 60, 300, asks_to_plan, ModelAsked, observed=0),
)
"""What no crowd can use up by asking is in `test_hook_reached`."""


async def beside(hook: Hook, is_over: asyncio.Event) -> None:
    """What goes on beside the asks of a crowd: the timer, and tools that end late."""
    while not is_over.is_set():
        await hook.gate.tick()
        await hook.gate.after_tool(ToolCall("late", "view", {}), WENT_WELL)


@pytest.mark.parametrize("crowd", CROWDS, ids=str)
async def test_of_many_asks_at_once_exactly_the_maximum_is_allowed(
    start: Start, crowd: Crowd
) -> None:
    """One ask halts, all others are denied, and the log says the same."""
    hook = await start(only(**{crowd.name.value: crowd.maximum}))
    await crowd.prepare(hook)
    before = count(await hook.log(), crowd.counted)
    is_over = asyncio.Event()
    noise = [asyncio.create_task(beside(hook, is_over)) for _ in range(2)]
    verdicts = await asyncio.gather(*(crowd.ask(hook) for _ in range(crowd.asks)))
    is_over.set()
    await asyncio.gather(*noise)

    answers = [verdict.answer for verdict in verdicts]
    assert sum(verdict.allowed for verdict in verdicts) == crowd.allowed
    assert answers.count(Answer.HALT) == 1
    assert answers.count(Answer.DENY) == crowd.asks - crowd.allowed - 1
    [halt] = [verdict for verdict in verdicts if verdict.answer is Answer.HALT]
    observed = crowd.maximum if crowd.observed is None else crowd.observed
    assert (halt.limit, halt.observed, halt.maximum) == (crowd.name, observed, crowd.maximum)
    log = await hook.log()
    assert count(log, crowd.counted) - before == crowd.allowed
    assert count(log, Tripped) == 1
    assert fold(log) == hook.gate.counters


async def test_what_is_used_meanwhile_counts_at_once(start: Start) -> None:
    """Tools, prompts, requests, answers and the timer, all beside each other, under every count."""
    maxima = {"max_tool_calls": 90, "max_model_calls": 80, "max_turns": 200, "max_spawns": 40}
    hook = await start(only(**maxima, max_tokens=160_000, max_cost_usd=0.16))
    asks: list[Ask] = [Hook.uses, Hook.calls_model, Hook.delegates, Hook.turn, Hook.ticks] * 40
    await asyncio.gather(*(ask(hook) for ask in asks))
    counters = hook.gate.counters
    assert counters.trip is None
    assert counters.warned == {LimitName.MAX_TOOL_CALLS, LimitName.MAX_SPAWNS}
    assert (counters.tool_calls, counters.spawns, counters.turns) == (80, 40, 40)
    assert (counters.model_calls, counters.tokens) == (40, 80_000)
    assert await hook.stored() == counters


async def test_an_answer_counts_with_its_price_instead_of_its_estimate(start: Start) -> None:
    """`max_cost_usd`, "corrected after it": ten under way, each for $0.002 at most."""
    hook = await start(only(max_cost_usd=0.02))
    verdicts = await asyncio.gather(*(hook.asks_model() for _ in range(10)))
    assert all(verdict.allowed for verdict in verdicts)
    await hook.answered(500, 500)
    assert (await hook.asks_model(500, 500)).allowed, "half of it was not spent"
    halt = await hook.asks_model(1, 0)
    assert (halt.answer, halt.observed, halt.maximum) == (Answer.HALT, 0.001, 0.02)


async def test_requests_beside_each_other_share_what_is_left(start: Start) -> None:
    """$0.02 pay for 20,000 tokens: 1,000 and 8,000, 1,000 and 8,000, 1,000 and what is left."""
    hook = await start(only(max_cost_usd=0.02))
    asks = (hook.asks_model(1_000, 8_000) for _ in range(3))
    bounds = [verdict.most_output_tokens for verdict in await asyncio.gather(*asks)]
    assert bounds == [8_000, 8_000, 1_000]
    assert (await hook.asks_model(1_000, 8_000)).answer is Answer.HALT
    for bound in bounds:
        await hook.answered(1_000, bound or 0)
    assert hook.gate.counters.cost_nanousd == 20_000_000 == (await hook.stored()).cost_nanousd


async def test_calls_are_judged_in_the_order_in_which_they_were_asked_for(start: Start) -> None:
    """The first takes longest to read, and what it would run counts all the same before the
    others."""
    hook = await start(only(max_tool_calls=1))
    commands = ["@a" * 8_000, "true", "false"]
    verdicts = await asyncio.gather(*(hook.asks("bash", command=each) for each in commands))
    assert [verdict.allowed for verdict in verdicts] == [True, False, False]


async def test_calls_that_are_asked_for_at_once_are_judged_before_the_first_ends(
    start: Start,
) -> None:
    """What comes of the first, a sub-agent or a result, must not change how the others count."""
    hook = await start(only())
    await asyncio.gather(*(hook.uses("bash", command="true") for _ in range(8)))
    kinds = [type(each) for each in await hook.log() if isinstance(each, ToolAsked | ToolEnded)]
    assert kinds == [ToolAsked] * 8 + [ToolEnded] * 8


async def test_a_call_that_died_with_its_process_is_no_longer_under_way(start: Start) -> None:
    hook = await start(only(max_cost_usd=0.02))
    assert (await hook.asks_model(10_000, 10_000)).allowed
    await hook.dies_and_starts_again()
    assert (await hook.asks_model(10_000, 10_000)).allowed
    assert (await hook.asks_model(1, 0)).answer is Answer.HALT


async def test_each_phase_has_only_its_own_calls_ahead(start: Start) -> None:
    hook = await start(only(max_planning_cost_usd=0.02, max_execution_cost_usd=0.04))
    assert (await hook.asks_model(10_000, 10_000, Phase.PLANNING)).allowed
    assert (await hook.asks_model(20_000, 20_000)).allowed
    halt = await hook.asks_model(1, 0)
    assert (halt.limit, halt.observed) == (LimitName.MAX_EXECUTION_COST_USD, 0)


async def test_after_a_trip_only_the_requests_for_the_summary_are_sent(start: Start) -> None:
    """Seed 002, escalation flow: so that the agent can say what it did."""
    hook = await start(only(max_model_calls=5))
    await asyncio.gather(*(hook.calls_model() for _ in range(20)))
    hook.gate.grant_last_words(3)
    verdicts = await asyncio.gather(*(hook.calls_model() for _ in range(20)))
    answers = [verdict.answer for verdict in verdicts]
    assert (answers.count(Answer.ALLOW), answers.count(Answer.DENY)) == (3, 17)
    assert (await hook.uses()).answer is Answer.DENY
    assert hook.gate.counters.model_calls == count(await hook.log(), ModelAsked) == 8
    assert fold(await hook.log()) == hook.gate.counters


async def test_the_summary_after_a_trip_is_paid_for_within_the_money(start: Start) -> None:
    """Seed 000: no call is made that would exceed `max_cost_usd`, whatever it is for."""
    hook = await start(only(max_model_calls=1, max_cost_usd=0.1))
    assert (await hook.calls_model(30_000, 30_000)).allowed
    assert (await hook.calls_model()).answer is Answer.HALT
    hook.gate.grant_last_words(2)
    assert (await hook.asks_model(49_000, 1_000)).answer is Answer.DENY, "$0.06 and $0.05 of $0.10"
    assert (await hook.asks_model(39_000, 1_000)).allowed
    assert fold(await hook.log()) == hook.gate.counters


async def test_requests_for_the_summary_beside_each_other_share_what_is_left(start: Start) -> None:
    """$0.04 are left for 40,000 tokens: 10,000 and 20,000 of them, then 9,000 and 1,000."""
    hook = await start(only(max_model_calls=1, max_cost_usd=0.1))
    assert (await hook.calls_model(30_000, 30_000)).allowed
    assert (await hook.calls_model()).answer is Answer.HALT
    hook.gate.grant_last_words(3)
    asks = (hook.asks_model(10_000, 20_000), hook.asks_model(9_000, 20_000), hook.asks_model())
    verdicts = await asyncio.gather(*asks)
    assert [one.most_output_tokens for one in verdicts] == [20_000, 1_000, None]
    assert verdicts[2].answer is Answer.DENY


async def test_an_answer_without_a_word_on_its_usage_costs_what_was_sent(start: Start) -> None:
    """An endpoint that does not count is no endpoint that costs nothing."""
    hook = await start(only(max_cost_usd=0.1))
    calls = 0
    while (await hook.asks_model(9_000, 1_000)).allowed:
        await hook.gate.used(ModelUsage(MODEL, 0, 0))
        calls += 1
        assert calls <= 11, "it never ends"
    assert calls == 11
    counters = hook.gate.counters
    assert (counters.input_tokens, counters.estimated_calls, counters.unpriced_calls) == (
        99_000,
        11,
        0,
    )
    assert counters.trip is not None and counters.trip.limit == "max_cost_usd"
    called = [event for event in await hook.log() if isinstance(event, ModelCalled)]
    assert {(event.cost_nanousd, event.is_estimate) for event in called} == {(9_000_000, True)}


async def test_what_was_sent_is_not_taken_from_a_request_that_was_denied(start: Start) -> None:
    hook = await start(only(max_tokens=5_000))
    assert (await hook.asks_model(1_000, 1_000)).allowed
    await hook.gate.used(ModelUsage(MODEL, 1_000, 1))
    assert (await hook.asks_model(2_000, 1_000)).allowed
    await hook.gate.used(ModelUsage(MODEL, 0, 1))
    assert hook.gate.counters.input_tokens == 3_000


async def test_a_summary_that_may_be_asked_for_gives_no_more_before_the_trip(start: Start) -> None:
    hook = await start(only(max_model_calls=5))
    hook.gate.grant_last_words(3)
    assert [(await hook.calls_model()).allowed for _ in range(6)] == [True] * 5 + [False]


@pytest.mark.parametrize("action", [Action.PAUSE, Action.REQUEST_INCREASE])
async def test_a_hold_lets_exactly_the_maximum_happen_and_asks_once(
    start: Start, action: Action
) -> None:
    """After it every ask is denied, whatever it is, also by the next process."""
    hook = await start(only(max_tool_calls=20, default_action=action))
    verdicts = await asyncio.gather(*(hook.uses() for _ in range(100)))
    answers = [verdict.answer for verdict in verdicts]
    assert (answers.count(Answer.HALT), answers.count(Answer.DENY)) == (1, 79)
    assert hook.gate.held.is_set() and not hook.gate.tripped.is_set()
    for again in range(2):
        for ask in (Hook.uses, Hook.turn, Hook.calls_model, Hook.delegates, Hook.tries):
            assert (await ask(hook)).answer is Answer.DENY
        await hook.gate.tick()
        log = await hook.log()
        assert (count(log, ToolAsked), count(log, Held), count(log, Tripped)) == (20, 1, 0)
        assert count(log, ModelAsked, TurnAsked) == 0
        assert fold(log) == hook.gate.counters
        if not again:
            await hook.dies_and_starts_again()
    hold = hook.gate.counters.hold
    assert hold is not None
    assert (hold.observed, hold.maximum) == (20, 20)
    assert hold.asks is (action is Action.REQUEST_INCREASE)


@pytest.mark.parametrize("mode", ["warn", "shadow"])
async def test_a_limit_that_only_warns_is_recorded_once_and_stops_nobody(
    start: Start, mode: str
) -> None:
    name = LimitName.MAX_TOOL_CALLS
    how = {"actions": {name: Action.WARN}} if mode == "warn" else {"shadow": frozenset({name})}
    hook = await start(only(max_tool_calls=20, **how))
    verdicts = await asyncio.gather(*(hook.uses() for _ in range(100)))
    assert all(verdict.allowed for verdict in verdicts)
    [passed] = [event for event in await hook.log() if isinstance(event, Passed)]
    assert (passed.limit, passed.observed, passed.maximum) == (name, 20, 20)
    assert passed.shadow is (mode == "shadow")


@pytest.mark.parametrize("mode", ["off", "warn", "shadow"])
async def test_under_a_ceiling_exactly_so_many_are_allowed_whatever_the_role_says(
    start: Start, mode: str
) -> None:
    """EXAMPLES: there `null`, `warn` and `shadow` do not count, and the ceiling escalates."""
    name = LimitName.MAX_TOOL_CALLS
    limits = {
        "off": only(ceilings={name: 20}),
        "warn": only(max_tool_calls=10, actions={name: Action.WARN}, ceilings={name: 20}),
        "shadow": only(max_tool_calls=10, shadow=frozenset({name}), ceilings={name: 20}),
    }[mode]
    hook = await start(limits)
    verdicts = await asyncio.gather(*(hook.uses() for _ in range(100)))
    assert sum(verdict.allowed for verdict in verdicts) == 20
    [halt] = [verdict for verdict in verdicts if verdict.answer is Answer.HALT]
    assert (halt.limit, halt.observed, halt.maximum) == (name, 20, 20)
    assert count(await hook.log(), ToolAsked) == 20


# --- two processes at the same segment ---------------------------------------------------------


async def test_two_processes_with_the_same_segment_never_allow_more_together(
    start: Start,
) -> None:
    """Whoever comes second finds the sequence taken, and denies everything from then on."""
    first = await start(only(max_tool_calls=50))
    second = first.twin()
    await second.starts()
    verdicts = await asyncio.gather(*(hook.uses() for _ in range(60) for hook in (first, second)))
    log = await first.log()
    allowed = sum(verdict.allowed for verdict in verdicts)
    assert allowed == count(log, ToolAsked) <= 50
    assert first.gate.superseded.is_set() or second.gate.superseded.is_set()
    loser = first if first.gate.superseded.is_set() else second
    assert {(await ask(loser)).answer for ask in (Hook.uses, Hook.turn, Hook.calls_model)} == {
        Answer.DENY
    }


async def test_a_gate_whose_segment_was_taken_over_denies_and_writes_nothing(
    start: Start,
) -> None:
    old = await start(only(max_tool_calls=50))
    assert (await old.uses()).allowed
    new = old.twin()
    await new.dies_and_starts_again()
    before = await new.log()
    for ask in (Hook.uses, Hook.turn, Hook.calls_model, Hook.tries):
        assert (await ask(old)).answer is Answer.DENY
    await old.gate.tick()
    await old.answered()
    assert await new.log() == before
    assert (await new.uses()).allowed
    assert count(await new.log(), ToolAsked) == 2


# --- the database fails ------------------------------------------------------------------------


def writes_nothing(engine: sa.Engine) -> AbstractContextManager[None]:
    """The database can be read, and refuses every statement that writes to a log."""

    def refuse(_connection: object, _cursor: object, statement: str, *_: object) -> None:
        if statement.startswith("INSERT"):
            raise sa.exc.OperationalError(statement, {}, OSError("the disk is full"))

    return heard(engine, "before_cursor_execute", refuse)


def loses_its_answer(engine: sa.Engine) -> AbstractContextManager[None]:
    """The database commits, and the connection breaks before it has said so."""

    def commit(connection: sa.Connection) -> None:
        driver = connection.connection.dbapi_connection
        assert driver is not None
        driver.commit()
        raise sa.exc.OperationalError("COMMIT", {}, OSError("connection reset"))

    return heard(engine, "commit", commit)


async def test_what_cannot_be_stored_is_denied_and_not_counted(start: Start, world: World) -> None:
    """For turns, which have nobody to be told why, a runtime takes no answer for a denial.
    Afterwards all of the rest is left."""
    hook = await start(only(max_tool_calls=10, max_turns=10, max_model_calls=10))
    runtime = ClosedGate(hook.gate, ANSWER_SECONDS)
    for _ in range(4):
        assert (await hook.uses()).allowed
    before = hook.gate.counters
    with writes_nothing(world.engine):
        verdicts = await asyncio.gather(
            *(hook.gate.before_tool(CALL) for _ in range(20)),
            *(hook.gate.before_model(REQUEST) for _ in range(20)),
            *(runtime.before_turn() for _ in range(20)),
        )
    assert {verdict.answer for verdict in verdicts} == {Answer.DENY}
    told, untold = verdicts[:40], verdicts[40:]
    assert all("The registry cannot be written now" in verdict.reason for verdict in told)
    assert all("gave no verdict (StoreUnavailable)" in verdict.reason for verdict in untold)
    assert hook.gate.counters == before == await hook.stored()
    assert [(await hook.uses()).allowed for _ in range(7)] == [True] * 6 + [False]
    assert count(await hook.log(), ToolAsked) == 10


async def test_an_answer_that_was_lost_is_a_denial_though_the_ask_was_stored(
    start: Start, world: World
) -> None:
    """It is counted, though it never ran: never in the agent's favour. The gate cannot know, so it
    denies all until a new process has read the log."""
    hook = await start(only(max_tool_calls=3))
    assert (await hook.uses()).allowed
    with loses_its_answer(world.engine):
        assert (await ClosedGate(hook.gate, ANSWER_SECONDS).before_tool(CALL)).answer is Answer.DENY
    assert (await ClosedGate(hook.gate, ANSWER_SECONDS).before_tool(CALL)).answer is Answer.DENY
    assert hook.gate.superseded.is_set()
    await hook.dies_and_starts_again()
    assert hook.gate.counters.tool_calls == 2
    assert [(await hook.uses()).allowed for _ in range(2)] == [True, False]
    log = await hook.log()
    assert (count(log, ToolAsked), count(log, ToolDenied), count(log, Tripped)) == (3, 1, 1)
    assert count(log, SegmentStarted) == 2


async def test_a_trip_that_cannot_be_stored_still_runs_nothing(start: Start, world: World) -> None:
    """And it comes again as soon as the database does."""
    hook = await start(only(max_tool_calls=1))
    assert (await hook.uses()).allowed
    with writes_nothing(world.engine):
        assert (await ClosedGate(hook.gate, ANSWER_SECONDS).before_tool(CALL)).answer is Answer.DENY
    assert not hook.gate.tripped.is_set()
    halt = await hook.uses()
    assert (halt.answer, halt.observed, halt.maximum) == (Answer.HALT, 1, 1)
    assert count(await hook.log(), ToolAsked, Tripped) == 2
