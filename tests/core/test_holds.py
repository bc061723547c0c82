"""What happens at a limit: pause, request_increase, warn and shadow; ceilings and raises."""

from collections.abc import Callable
from dataclasses import replace

import pytest

from app.core.agents.counters import Counters, fold
from app.core.agents.events import (
    Held,
    ModelAsked,
    Passed,
    Raised,
    Ticked,
    ToolAsked,
    ToolDenied,
    Tripped,
    TurnAsked,
    Warned,
)
from app.core.agents.stops import Hold, Layer
from app.core.breaker.verdict import Answer, Verdict, decide
from app.core.limits import HOLDS, Action, LimitName, Limits
from tests.core.life import Life, begun, halted
from tests.core.strategies import START, after_seconds, only

CALLS, TURNS = LimitName.MAX_TOOL_CALLS, LimitName.MAX_TURNS
ASKS: list[Callable[[Life], Verdict]] = [
    Life.asks_turn,
    Life.asks_model,
    Life.asks_tool,
    Life.asks_tests,
    Life.ticks,
]


def acting(action: Action, **maxima: object) -> Limits:
    """Limits that all do the same when they are reached."""
    return only(default_action=action, **maxima)


def uses(life: Life, calls: int) -> list[Answer]:
    """So many tool calls are asked for."""
    return [life.asks_tool().answer for _ in range(calls)]


# --- pause and request_increase ---------------------------------------------------------------


@pytest.mark.parametrize(
    ("action", "asks"), [(Action.PAUSE, False), (Action.REQUEST_INCREASE, True)]
)
def test_a_limit_that_asks_a_human_holds_the_agent(action: Action, asks: bool) -> None:
    """Seed 000, "Timeout Action Behavior" 2, and its "Retry with Increased Limits"."""
    life = begun(acting(action, max_tool_calls=2))
    uses(life, 2)
    life.waits(5)
    verdict = life.asks_tool("bash")
    assert halted(verdict, CALLS, 2, 2)
    reason = "max_tool_calls reached: 2 of 2 tool calls."
    assert verdict.reason.startswith(f"PAUSED: {reason}")
    hold = Hold(
        limit=CALLS,
        observed=2,
        maximum=2,
        layer=Layer.HOOK,
        at=after_seconds(5),
        reason=reason,
        asks=asks,
    )
    assert life.log[-2:] == [
        ToolDenied(at=after_seconds(5), tool="bash", what="README.md", reason=reason),
        Held(at=after_seconds(5), hold=hold),
    ]
    assert (life.counters.hold, life.counters.trip) == (hold, None)
    assert {Action.PAUSE, Action.REQUEST_INCREASE} == HOLDS


@pytest.mark.parametrize("action", sorted(HOLDS))
@pytest.mark.parametrize("ask", ASKS)
def test_while_a_human_is_asked_everything_is_denied(
    action: Action, ask: Callable[[Life], Verdict]
) -> None:
    life = begun(acting(action, max_tool_calls=1, max_active_duration=100))
    uses(life, 2)
    life.waits(1_000)
    before = life.counters
    verdict = ask(life)
    assert (verdict.answer, verdict.limit) == (Answer.DENY, CALLS)
    assert (verdict.observed, verdict.maximum) == (1, 1)
    assert verdict.reason.startswith("PAUSED: max_tool_calls reached")
    after = life.counters
    assert after == before._replace(active=after.active, clock=after.clock, heard=after.heard)


@pytest.mark.parametrize("name", [CALLS, TURNS, LimitName.MAX_MODEL_CALLS])
def test_a_raise_frees_the_agent_and_the_next_maximum_is_exact_again(name: LimitName) -> None:
    use = {CALLS: Life.asks_tool, TURNS: Life.asks_turn}.get(name, Life.asks_model)
    life = begun(acting(Action.REQUEST_INCREASE, **{name.value: 2}))
    for _ in range(3):
        use(life)
    life.is_granted(name, 3)
    assert life.counters.hold is None
    life.goes_on()
    assert all(use(life).allowed for _ in range(3))
    assert halted(use(life), name, 5, 5)
    assert life.counters.hold is not None
    life.is_granted(name, 1)
    assert use(life).allowed
    assert halted(use(life), name, 6, 6)


def test_a_raise_of_another_limit_frees_nobody() -> None:
    life = begun(acting(Action.PAUSE, max_tool_calls=1, max_turns=1))
    uses(life, 2)
    life.is_granted(TURNS, 5)
    assert life.counters.hold is not None
    assert life.asks_tool().answer is Answer.DENY


def test_a_raise_without_an_amount_frees_until_the_next_ask() -> None:
    life = begun(acting(Action.PAUSE, max_tool_calls=1))
    uses(life, 2)
    life.is_granted(CALLS, 0)
    assert life.asks_turn().allowed
    assert halted(life.asks_tool(), CALLS, 1, 1)


def test_an_agent_that_was_woken_is_not_held_any_more() -> None:
    life = begun(acting(Action.PAUSE, max_tool_calls_per_turn=1))
    uses(life, 2)
    life.sleeps()
    life.wakes()
    life.begins_segment()
    assert life.asks_turn().allowed and life.asks_tool().allowed


def test_of_two_holds_the_first_counts() -> None:
    life = begun(acting(Action.PAUSE, max_tool_calls=1, max_turns=1))
    life.asks_turn()
    uses(life, 1)
    life.asks_turn()
    hold = life.counters.hold
    assert hold is not None and hold.limit == TURNS
    life.happens(Held(at=START, hold=replace(hold, limit=CALLS)))
    assert life.counters.hold is hold


def test_an_agent_may_ask_early() -> None:
    """The tool `request_increase`: nothing was reached yet, and the agent waits all the same."""
    life = begun(acting(Action.PAUSE, max_tool_calls=10))
    uses(life, 3)
    hold = Hold(
        limit=CALLS,
        observed=3,
        maximum=10,
        layer=Layer.HOOK,
        at=START,
        reason="The agent asks for more tool calls.",
        asks=True,
        amount=50,
        claim="two of three modules are done",
    )
    life.happens(Held(at=START, hold=hold))
    verdict = life.asks_tool()
    assert (verdict.answer, verdict.limit, verdict.observed) == (Answer.DENY, CALLS, 3)
    life.is_granted(CALLS, 50)
    answers = uses(life, 58)
    assert answers.count(Answer.HALT) == 1 and answers[-1] is Answer.HALT
    assert life.counters.tool_calls == 60


def test_the_layer_that_asked_is_the_holds_layer() -> None:
    life = begun(acting(Action.PAUSE, max_active_duration=10))
    life.waits(10)
    decision = decide(life.counters, Ticked(at=life.now), life.limits, Layer.TIMER)
    assert decision.counters.hold is not None
    assert decision.counters.hold.layer is Layer.TIMER


@pytest.mark.parametrize("is_first", [True, False])
def test_a_stop_beats_a_hold_whichever_comes_first_in_the_catalogue(is_first: bool) -> None:
    holding, stopping = (CALLS, TURNS) if is_first else (TURNS, CALLS)
    limits = only(max_tool_calls=1, max_turns=1, actions={holding: Action.PAUSE})
    counters = Counters(tool_calls=5, turns=5)
    decision = decide(counters, Ticked(at=START), limits)
    assert halted(decision.verdict, stopping, 5, 1)
    assert (decision.counters.hold, decision.counters.trip is None) == (None, False)


@pytest.mark.parametrize(
    ("ask", "recorded"),
    [
        (TurnAsked(at=START), Ticked),
        (ModelAsked(at=START), Ticked),
        (Ticked(at=START), Ticked),
        (ToolAsked(at=START, call="1", tool="bash", what="ls"), ToolDenied),
    ],
)
def test_an_ask_that_is_held_is_recorded_as_something_that_did_not_happen(
    ask: TurnAsked | ModelAsked | Ticked | ToolAsked, recorded: type
) -> None:
    limits = acting(Action.PAUSE, max_turns=1)
    decision = decide(Counters(turns=2), ask, limits)
    assert [type(event) for event in decision.events] == [recorded, Held]


# --- warn and shadow --------------------------------------------------------------------------

LETTING_PASS = [
    (acting(Action.WARN, max_tool_calls=10), False),
    (only(max_tool_calls=10, actions={CALLS: Action.WARN}), False),
    (only(max_tool_calls=10, shadow=frozenset({CALLS})), True),
    (acting(Action.PAUSE, max_tool_calls=10, shadow=frozenset({CALLS})), True),
]


@pytest.mark.parametrize(("limits", "shadow"), LETTING_PASS)
def test_a_limit_that_only_warns_says_so_once_and_the_agent_goes_on(
    limits: Limits, shadow: bool
) -> None:
    """Seed 000, "Timeout Action Behavior" 3."""
    life = begun(limits)
    answers = uses(life, 30)
    told = Answer.ALLOW if shadow else Answer.WARN  # a shadow is not even told of
    assert answers == [Answer.ALLOW] * 7 + [told] + [Answer.ALLOW] * 22
    assert [event.limit for event in life.log if isinstance(event, Warned)] == [CALLS]
    passed = [event for event in life.log if isinstance(event, Passed)]
    assert passed == [Passed(at=START, limit=CALLS, observed=10, maximum=10, shadow=shadow)]
    assert life.counters.tool_calls == 30
    assert life.counters.passed == {CALLS}
    assert not [event for event in life.log if isinstance(event, Held | Tripped | ToolDenied)]


def test_the_eleventh_call_is_recorded_before_it_is_said_that_it_passed() -> None:
    life = begun(acting(Action.WARN, max_tool_calls=1, warning_threshold=1.0))
    uses(life, 1)
    uses(life, 1)
    assert [type(event) for event in life.log[-2:]] == [ToolAsked, Passed]


def test_a_raise_makes_a_limit_speak_again() -> None:
    life = begun(acting(Action.WARN, max_tool_calls=5))
    uses(life, 8)
    life.is_granted(CALLS, 5)
    assert life.counters.passed == frozenset()
    assert uses(life, 5) == [Answer.WARN] + [Answer.ALLOW] * 4
    passed = [event for event in life.log if isinstance(event, Passed)]
    assert [(event.observed, event.maximum) for event in passed] == [(5, 5), (10, 10)]


def test_a_limit_that_passed_leaves_all_others_in_force() -> None:
    limits = only(max_tool_calls=2, max_turns=1, actions={CALLS: Action.WARN})
    life = begun(limits)
    uses(life, 5)
    life.asks_turn()
    assert halted(life.asks_turn(), TURNS, 1, 1)
    assert not [event for event in life.log if isinstance(event, Passed) and event.limit == TURNS]


def test_a_shadow_of_time_is_judged_and_never_acted_on() -> None:
    name = LimitName.MAX_ACTIVE_DURATION
    life = begun(only(max_active_duration=100, shadow=frozenset({name})))
    life.waits(150)
    assert life.ticks().answer is Answer.ALLOW
    assert [event.limit for event in life.log if isinstance(event, Passed)] == [name]
    life.waits(10_000)
    assert life.ticks().answer is Answer.ALLOW


def test_the_log_of_a_raise_folds_to_the_same_counters() -> None:
    life = begun(acting(Action.REQUEST_INCREASE, max_tool_calls=1))
    uses(life, 2)
    life.is_granted(CALLS, 1)
    uses(life, 3)
    assert fold(life.log) == life.counters
    kinds = (Held, Raised, Warned)
    assert [type(event) for event in life.log if isinstance(event, kinds)] == [
        Warned,
        Held,
        Raised,
        Warned,
        Held,
    ]
