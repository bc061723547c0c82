"""Random lives of an agent: steps that can follow each other in any order, and small limits."""

from dataclasses import fields
from fractions import Fraction
from typing import Any

from hypothesis import strategies as st

from app.core.agents.events import Phase, Waits
from app.core.breaker.verdict import Verdict
from app.core.limits import CATALOGUE, Action, LimitName, Limits
from app.testruns import Outcome, Suite
from tests.core.life import Life, begun
from tests.core.onlooker import JUDGED
from tests.core.strategies import NO_LIMITS, SUITES

Step = tuple[str, Any]

contents = st.sampled_from(["v1", "v2", "v3"])
outcomes = st.sampled_from([*Outcome, None])
cents = st.sampled_from([None, 0, 1, 10**7, 3 * 10**7, 5 * 10**7 - 1])
phases = st.sampled_from(list(Phase))
keys = st.sampled_from(["a", "b", "c", "d", ""])
errors = st.sampled_from(["", "", "boom", "bang"])
results = st.sampled_from(["same", "same", "other"])
grants = st.tuples(st.sampled_from(JUDGED), st.sampled_from([1, 2, 5]))

suite_steps: st.SearchStrategy[Step] = st.one_of(
    st.tuples(st.just("run tests"), st.tuples(st.sampled_from(SUITES), contents, outcomes)),
    st.tuples(st.just("ask tests"), st.tuples(st.sampled_from(SUITES), contents, st.booleans())),
    st.tuples(st.just("end tests"), st.tuples(st.integers(0, 3), outcomes, contents)),
)

working_steps: st.SearchStrategy[Step] = st.one_of(
    st.tuples(st.just("turn"), st.none()),
    st.tuples(st.just("tool"), st.none()),
    st.tuples(st.just("tick"), st.none()),
    st.tuples(st.just("speak"), st.none()),
    st.tuples(st.just("wait"), st.sampled_from([0.0, 0.25, 1.0, 7.5])),
    st.tuples(st.just("ask model"), st.tuples(cents, phases)),
    st.tuples(st.just("model answers"), st.tuples(cents, phases)),
    st.tuples(st.just("call model"), st.tuples(cents, cents, phases)),
    st.tuples(st.just("do"), st.tuples(keys, results, errors)),
    st.tuples(st.just("look"), st.tuples(keys, results, errors)),
    st.tuples(st.just("book"), st.tuples(keys, results, errors)),
    st.tuples(st.just("edit"), st.tuples(keys, results, errors)),
    st.tuples(st.just("end tool"), st.tuples(st.integers(0, 3), results, errors)),
)

sub_agent_steps: st.SearchStrategy[Step] = st.one_of(
    st.tuples(st.just("spawn"), st.sampled_from([0, 1, 3, "refused", "starting"])),
    st.tuples(st.just("child returns"), st.tuples(st.integers(0, 3), cents, st.integers(0, 2))),
)

upheavals: st.SearchStrategy[Step] = st.one_of(
    st.tuples(st.just("raise"), grants),
    st.tuples(st.just("crash and start again"), st.sampled_from([0.0, 30.0])),
    st.tuples(st.just("end and start again"), st.sampled_from([0.0, 30.0])),
    st.tuples(st.just("sleep and wake"), st.sampled_from(list(Waits))),
    st.tuples(st.just("review"), st.none()),
    st.tuples(st.just("provider is away"), st.sampled_from([0.0, 75.0])),
)

steps = st.one_of(working_steps, working_steps, suite_steps, sub_agent_steps, upheavals)


def _lives(of_steps: st.SearchStrategy[Step]) -> st.SearchStrategy[list[Step]]:
    """Short lives, and as many long ones: on its own, a bound of 60 gives about five steps."""
    return st.lists(of_steps, max_size=60) | st.lists(of_steps, min_size=20, max_size=60)


step_lists = _lives(steps)
suite_lists = st.lists(suite_steps, min_size=4, max_size=30)
loop_lists = _lives(
    st.one_of(
        st.tuples(st.just("do"), st.tuples(st.sampled_from("abc"), st.just("same"), errors)),
        st.tuples(st.just("look"), st.tuples(st.sampled_from("ab"), st.just("same"), errors)),
        st.tuples(st.just("book"), st.tuples(st.sampled_from("ab"), st.just("same"), errors)),
        st.tuples(st.just("edit"), st.tuples(st.just("a"), results, st.just(""))),
    )
)
"""Few calls with few results: the kind of life that goes round in circles."""
time_lists = _lives(
    st.one_of(
        st.tuples(st.just("wait"), st.sampled_from([0.25, 1.0, 7.5])),
        st.tuples(st.just("tick"), st.none()),
        st.tuples(st.just("tick"), st.none()),
        upheavals,
        working_steps,
    )
)
"""Time passes, and now and then something is done."""

actions = st.sampled_from(list(Action))

small_values: dict[LimitName, st.SearchStrategy[Any]] = {
    LimitName.MAX_ITERATIONS: st.sampled_from([1, 2, 3]),
    LimitName.MAX_TOOL_CALLS: st.sampled_from([1, 2, 5, 12]),
    LimitName.MAX_TURNS: st.sampled_from([1, 2, 5]),
    LimitName.MAX_ACTIVE_DURATION: st.sampled_from([1, 8, 20]),
    LimitName.MAX_SLEEP_DURATION: st.sampled_from([1, 120]),
    LimitName.MAX_MODEL_CALLS: st.sampled_from([1, 2, 5]),
    LimitName.MAX_TOKENS: st.sampled_from([1, 110, 111, 330]),
    LimitName.MAX_COST_USD: st.sampled_from([0.01, 0.04, 0.1, 0.3]),
    LimitName.MAX_PLANNING_COST_USD: st.sampled_from([0.01, 0.04, 0.1]),
    LimitName.MAX_EXECUTION_COST_USD: st.sampled_from([0.01, 0.04, 0.1]),
    LimitName.MAX_CONSECUTIVE_TOOLS: st.sampled_from([1, 2, 4]),
    LimitName.MAX_TOOL_CALLS_PER_TURN: st.sampled_from([1, 2, 4]),
    LimitName.MAX_REPEATED_ERRORS: st.sampled_from([1, 2, 3]),
    LimitName.MAX_REPEATED_CALLS: st.sampled_from([1, 2, 4]),
    LimitName.MAX_UNRUNNABLE_TESTS: st.sampled_from([1, 2, 3]),
    LimitName.MAX_SPAWNS: st.sampled_from([0, 1, 2]),
    LimitName.MAX_DEPTH: st.sampled_from([0, 1, 2]),
    LimitName.MAX_IDLE_DURATION: st.sampled_from([1, 8, 20]),
    LimitName.MAX_REVIEW_ROUNDS: st.sampled_from([1, 2]),
}
"""Values that a random life of some dozen steps comes close to."""

some_settings = st.fixed_dictionaries(
    {
        "warning_threshold": st.sampled_from([0.01, 0.5, 0.8, 1.0]),
        "iteration_mode": st.sampled_from(["fix_cycles", "test_runs"]),
    }
)


def limits_of(*names: LimitName) -> st.SearchStrategy[Limits]:
    """Limits under which at most these bind, escalating."""
    return st.builds(_limits, st.fixed_dictionaries(_optional(names)), some_settings)


def any_limits(*names: LimitName) -> st.SearchStrategy[Limits]:
    """Limits under which at most these bind, with any action, shadow and ceiling."""
    acting = [name for name in names if len(CATALOGUE[name].actions) > 1]
    if not acting:
        return limits_of(*names)
    more = st.fixed_dictionaries(
        {
            "actions": st.dictionaries(st.sampled_from(acting), actions),
            "shadow": st.frozensets(st.sampled_from(acting), max_size=3),
            "ceilings": st.fixed_dictionaries(
                {}, optional={name: small_values[name] for name in acting}
            ),
        }
    )
    return st.builds(_limits, st.fixed_dictionaries(_optional(names)), some_settings, more)


def _optional(names: tuple[LimitName, ...]) -> dict[str, st.SearchStrategy[Any]]:
    """Each of these limits, or what `NO_LIMITS` says of it."""
    return {
        name.value: st.one_of(small_values[name], st.just(NO_LIMITS.maximum(name)))
        for name in names
    }


def _limits(*parts: dict[str, Any]) -> Limits:
    values = {each.name: getattr(NO_LIMITS, each.name) for each in fields(NO_LIMITS)}
    for part in parts:
        values.update(part)
    return Limits(**values)


small_limits = limits_of(
    LimitName.MAX_ITERATIONS,
    LimitName.MAX_TOOL_CALLS,
    LimitName.MAX_TURNS,
    LimitName.MAX_ACTIVE_DURATION,
)
all_limits = any_limits(*JUDGED)


def lived(limits: Limits, steps: list[Step]) -> Life:
    """A life with all of these steps behind it."""
    life = begun(limits)
    for step in steps:
        take(life, step)
    return life


def take(life: Life, step: Step) -> Verdict | None:
    """One random step; the verdict if it was an ask."""
    name, what = step
    if name in _ASKS:
        return _ask(life, name, what)
    match step:
        case "wait", float(seconds):
            life.waits(seconds)
        case "speak", _:
            life.speaks()
        case "model answers", (cost, Phase() as phase):
            life.model_answers(cost, phase)
        case "end tool", (int(nth), str(result), str(error)):
            if life.open_calls:
                life.tool_ends(life.open_calls[nth % len(life.open_calls)], result, error)
        case "end tests", (int(nth), Outcome() | None as outcome, str(left)):
            if life.open_runs:
                life.tests_end(life.open_runs[nth % len(life.open_runs)], outcome, left, left)
        case "child returns", (int(calls), cost, int(levels)):
            if life.counters.children:
                child = life.counters.children[0].agent
                life.child_returns(child, tool_calls=calls, cost_nanousd=cost or 0, levels=levels)
        case "raise", (LimitName() as limit, amount):
            life.is_granted(limit, float(Fraction(amount, 100)) if "usd" in limit else amount)
        case "crash and start again", float(gap_seconds):
            life.crashes()
            life.waits(gap_seconds)
            life.begins_segment()
        case "end and start again", float(gap_seconds):
            life.ends_segment()
            life.waits(gap_seconds)
            life.begins_segment()
        case "provider is away", float(gap_seconds):
            life.asks_in_vain()
            life.waits(gap_seconds)
            life.begins_segment()
        case "review", None:
            life.sleeps(Waits.REVIEW)
            life.begins_segment()
            return life.is_reviewed()
        case "sleep and wake", Waits() as waits_for:
            life.sleeps(waits_for)
            life.waits(100)
            life.wakes()
            life.waits(50)
            life.begins_segment()
        case _:
            raise AssertionError(step)
    return None


_ASKS = {
    "turn",
    "tool",
    "tick",
    "ask model",
    "call model",
    "do",
    "look",
    "book",
    "edit",
    "spawn",
    "ask tests",
    "run tests",
}


def _ask(life: Life, name: str, what: Any) -> Verdict:
    match name, what:
        case "turn", _:
            return life.asks_turn()
        case "tool", _:
            return life.asks_tool()
        case "tick", _:
            return life.ticks()
        case "ask model", (estimate, Phase() as phase):
            return life.asks_model(estimate, phase)
        case "call model", (cost, estimate, Phase() as phase):
            return life.calls_model(cost, estimate, phase)
        case "do", (str(key), str(result), str(error)):
            return life.does(key, result, error)
        case "look", (str(key), str(result), str(error)):
            return life.does(key, result, error, tool="view")
        case "book", (str(key), str(result), str(error)):
            return life.does(key, result, error, tool="calendar")
        case "edit", (str(key), str(result), str(error)):
            return life.edits(key, result, error)
        case "spawn", (int() | str()) as then:
            verdict = life.asks_tool("task", spawns=True)
            if verdict.allowed and isinstance(then, int):
                child = f"child-{life.last_call}"
                life.spawned(child, {LimitName.MAX_TOOL_CALLS: then})
            elif verdict.allowed and then == "refused":
                life.refuses_to_spawn()
            return verdict
        case "ask tests", (Suite() as suite, str(content), bool(may_change)):
            return life.asks_tests(suite, content, may_change=may_change)
        case "run tests", (Suite() as suite, str(content), Outcome() | None as outcome):
            verdict = life.asks_tests(suite, content)
            if verdict.allowed:
                life.tests_end(life.last_call, outcome, result=content)
            return verdict
        case _:
            raise AssertionError(name, what)
