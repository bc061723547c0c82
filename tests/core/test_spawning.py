"""Limits of sub-agents: never more than their parent has left, one level fewer each time."""

from dataclasses import replace
from datetime import timedelta
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.core.agents.counters import Counters, fold, stops_at
from app.core.agents.events import Lowered, Raised, Returned, Spawned
from app.core.agents.stops import Hold, Layer
from app.core.breaker.clocks import seconds_left
from app.core.breaker.sub_agent_limits import (
    NothingLeft,
    Standing,
    child_limits,
    overridden,
    reservation,
    terms,
)
from app.core.breaker.verdict import Answer, left
from app.core.limits import CATALOGUE, LEAST_USD, Action, LimitName, Limits
from app.core.money import usd, whole_nanousd
from tests.core.life import Life, begun, halted
from tests.core.onlooker import JUDGED
from tests.core.random_lives import limits_of
from tests.core.strategies import EXAMPLES, NO_LIMITS, START, only

CALLS, COST, DEPTH = LimitName.MAX_TOOL_CALLS, LimitName.MAX_COST_USD, LimitName.MAX_DEPTH
SPAWNS, TOKENS = LimitName.MAX_SPAWNS, LimitName.MAX_TOKENS

NOTHING_USED = Counters()


# --- what the parent has left -----------------------------------------------------------------


def test_a_sub_agent_gets_what_it_wants_where_the_parent_has_more() -> None:
    wanted = only(max_tool_calls=10, max_cost_usd=0.5, max_tokens=1_000)
    parent = only(max_tool_calls=100, max_cost_usd=5.0, max_tokens=10_000)
    assert child_limits(wanted, parent, NOTHING_USED, START) == replace(
        wanted, max_active_duration=NO_LIMITS.max_active_duration
    )


@pytest.mark.parametrize("wanted", [None, 500])
def test_a_sub_agent_gets_no_more_than_is_left(wanted: int | None) -> None:
    used = Counters(tool_calls=30, input_tokens=300, output_tokens=100, cost_nanousd=2 * 10**9)
    parent = only(max_tool_calls=100, max_cost_usd=5.0, max_tokens=1_000)
    child = child_limits(
        only(max_tool_calls=wanted, max_cost_usd=wanted, max_tokens=None),
        parent,
        used,
        START,
    )
    assert (child.max_tool_calls, child.max_cost_usd, child.max_tokens) == (70, 3.0, 600)


def test_what_another_sub_agent_was_promised_is_not_left() -> None:
    parent = only(max_tool_calls=100)
    used = fold(
        [Spawned(at=START, child="first", reserved=((CALLS, 60),))], Counters(tool_calls=10)
    )
    assert child_limits(NO_LIMITS, parent, used, START).max_tool_calls == 30
    back = Returned(
        at=START,
        child="first",
        tool_calls=5,
        model_calls=0,
        input_tokens=0,
        output_tokens=0,
        cost_nanousd=0,
        unpriced_calls=0,
        levels=0,
    )
    assert child_limits(NO_LIMITS, parent, fold([back], used), START).max_tool_calls == 85


def test_time_that_the_parent_has_used_is_not_left() -> None:
    life = begun(only(max_active_duration=600))
    life.waits(100.5)
    child = child_limits(Limits(), life.limits, life.counters, life.now)
    assert child.max_active_duration == 499, "whole seconds, and never more than are left"


@pytest.mark.parametrize(
    "name", [LimitName.MAX_ITERATIONS, LimitName.MAX_TURNS, LimitName.MAX_REPEATED_CALLS]
)
def test_what_is_not_shared_is_bounded_by_the_parents_own_maximum(name: LimitName) -> None:
    parent = only(**{name.value: 4})
    used = Counters(turns=3, fix_cycles=3)
    assert child_limits(NO_LIMITS, parent, used, START).maximum(name) == 4
    lower = only(**{name.value: 2})
    assert child_limits(lower, parent, used, START).maximum(name) == 2


@pytest.mark.parametrize(
    ("parent", "used", "name"),
    [
        (only(max_tool_calls=5), Counters(tool_calls=5), CALLS),
        (only(max_tokens=5), Counters(input_tokens=5), TOKENS),
        (only(max_cost_usd=0.02), Counters(cost_nanousd=10_000_001), COST),
    ],
)
def test_with_nothing_left_no_sub_agent_starts(
    parent: Limits, used: Counters, name: LimitName
) -> None:
    with pytest.raises(NothingLeft, match=f"^{name}: too little is left for a sub-agent.$"):
        child_limits(NO_LIMITS, parent, used, START)


def test_the_least_that_can_be_left_is_enough() -> None:
    parent = only(max_cost_usd=0.02, max_tool_calls=6)
    used = Counters(cost_nanousd=10_000_000, tool_calls=5)
    child = child_limits(NO_LIMITS, parent, used, START)
    assert (child.max_cost_usd, child.max_tool_calls) == (0.01, 1)


def test_a_ceiling_of_the_operator_bounds_what_is_left() -> None:
    parent = only(ceilings={COST: 2.0})
    child = child_limits(NO_LIMITS, parent, Counters(cost_nanousd=10**9), START)
    assert child.max_cost_usd == 1.0


def test_what_a_human_granted_is_left_too() -> None:
    parent = only(max_tool_calls=10)
    grant = Raised(at=START, limit=CALLS, amount=5, maximum=15, by="mona")
    used = fold([grant], Counters(tool_calls=10))
    assert child_limits(NO_LIMITS, parent, used, START).max_tool_calls == 5


def test_everything_but_the_maxima_stays_the_roles_own() -> None:
    wanted = replace(
        NO_LIMITS,
        default_action=Action.PAUSE,
        shadow=frozenset({CALLS}),
        warning_threshold=0.5,
        summary_wait=7,
    )
    parent = replace(Limits(), max_tool_calls=10)
    child = child_limits(wanted, parent, NOTHING_USED, START)
    assert (child.default_action, child.shadow) == (Action.PAUSE, frozenset({CALLS}))
    assert (child.warning_threshold, child.summary_wait) == (0.5, 7)


@EXAMPLES
@given(limits_of(*JUDGED), limits_of(*JUDGED), st.integers(0, 12), st.integers(0, 400))
def test_a_sub_agent_can_never_exceed_its_parent(
    wanted: Limits, parent: Limits, calls: int, tokens: int
) -> None:
    """Seed 003, "Layer 4": a child can never exceed its parent."""
    used = Counters(tool_calls=calls, input_tokens=tokens)
    try:
        child = child_limits(wanted, parent, used, START)
    except NothingLeft:
        return
    for name in CATALOGUE:
        is_told = parent.action(name) is Action.WARN  # which stops the parent no more than a child
        bound = None if is_told else parent.maximum(name)
        own = wanted.maximum(name)
        got = child.maximum(name)
        assert bound is None or (got is not None and got <= bound), name
        assert own is None or (got is not None and got <= own), name
        assert got in (own, bound) or got is not None, name
    if parent.max_tool_calls is not None and child.max_tool_calls is not None:
        assert calls + child.max_tool_calls <= parent.max_tool_calls
    if parent.max_tokens is not None and child.max_tokens is not None:
        assert tokens + child.max_tokens <= parent.max_tokens


# --- what is set aside ------------------------------------------------------------------------


def test_what_a_sub_agent_may_use_is_set_aside_and_time_is_not() -> None:
    child = replace(
        Limits(), max_tool_calls=7, max_model_calls=5, max_tokens=900, max_cost_usd=0.25
    )
    assert dict(reservation(child, NOTHING_USED, START)) == {
        CALLS: 7,
        LimitName.MAX_MODEL_CALLS: 5,
        TOKENS: 900,
        COST: 0.25,
    }
    assert dict(reservation(replace(child, max_execution_cost_usd=0.2), NOTHING_USED, START)) == {
        CALLS: 7,
        LimitName.MAX_MODEL_CALLS: 5,
        TOKENS: 900,
        COST: 0.25,
        LimitName.MAX_EXECUTION_COST_USD: 0.2,
    }
    assert reservation(NO_LIMITS, NOTHING_USED, START) == ()


def test_two_sub_agents_together_get_no_more_than_the_parent_has() -> None:
    parent = only(max_tool_calls=50, max_cost_usd=1.0)
    used = NOTHING_USED
    granted_calls = granted_cents = 0
    for name in ("a", "b", "c"):
        wanted = only(max_tool_calls=20, max_cost_usd=0.4)
        child = child_limits(wanted, parent, used, START)
        assert child.max_tool_calls is not None and child.max_cost_usd is not None
        granted_calls += child.max_tool_calls
        granted_cents += round(child.max_cost_usd * 100)
        used = fold(
            [Spawned(at=START, child=name, reserved=reservation(child, NOTHING_USED, START))], used
        )
    assert (granted_calls, granted_cents) == (50, 100)
    with pytest.raises(NothingLeft):
        child_limits(NO_LIMITS, parent, used, START)


def test_sub_agents_that_are_asked_for_together_share_what_is_left() -> None:
    life = begun(only(max_tool_calls=50, max_cost_usd=0.1, max_tokens=None))
    assert all(life.asks_tool("task", spawns=True).allowed for _ in range(3))
    parts = []
    for name in ("a", "b", "c"):
        child = child_limits(NO_LIMITS, life.limits, life.counters, life.now)
        parts.append((child.max_tool_calls, child.max_cost_usd, child.max_tokens))
        life.spawned(name, dict(reservation(child, NOTHING_USED, START)))
    assert parts == [(15, 0.033333333, None), (16, 0.033333333, None), (16, 0.033333334, None)]


def test_what_one_of_them_does_not_want_is_left_to_those_after_it() -> None:
    life = begun(only(max_tool_calls=33))
    assert all(life.asks_tool("task", spawns=True).allowed for _ in range(3))
    first = child_limits(only(max_tool_calls=2), life.limits, life.counters, life.now)
    life.spawned("a", dict(reservation(first, NOTHING_USED, START)))
    life.refuses_to_spawn()
    last = child_limits(NO_LIMITS, life.limits, life.counters, life.now)
    assert (first.max_tool_calls, last.max_tool_calls) == (2, 28)


def test_a_part_that_is_too_small_is_refused_and_the_others_have_more() -> None:
    life = begun(only(max_tool_calls=5))
    assert all(life.asks_tool("task", spawns=True).allowed for _ in range(3))
    with pytest.raises(NothingLeft):
        child_limits(NO_LIMITS, life.limits, life.counters, life.now)
    life.refuses_to_spawn()
    parts = []
    for name in ("b", "c"):
        child = child_limits(NO_LIMITS, life.limits, life.counters, life.now)
        parts.append(child.max_tool_calls)
        life.spawned(name, dict(reservation(child, NOTHING_USED, START)))
    assert parts == [1, 1]


@given(st.integers(1, 12), st.integers(1, 200), st.integers(10_000_000, 10**10), st.randoms())
@EXAMPLES
def test_parts_together_are_never_more_than_there_is(
    asked: int, calls: int, nanousd: int, chance: Random
) -> None:
    life = begun(only(max_tool_calls=asked + calls, max_cost_usd=usd(nanousd)))
    assert all(life.asks_tool("task", spawns=True).allowed for _ in range(asked))
    granted_calls = granted_nanousd = 0
    for number in range(asked):
        wanted = only(max_tool_calls=chance.choice([None, 1, 7, 500]))
        try:
            child = child_limits(wanted, life.limits, life.counters, life.now)
        except NothingLeft:
            life.refuses_to_spawn()
            continue
        granted_calls += child.max_tool_calls or 0
        granted_nanousd += whole_nanousd(child.max_cost_usd or 0)
        life.spawned(str(number), dict(reservation(child, NOTHING_USED, START)))
    assert granted_calls <= calls and granted_nanousd <= nanousd
    assert life.counters.spawning == 0


# --- more for one that is paused --------------------------------------------------------------


def paused(used: Counters, name: LimitName, amount: float | None = None) -> Counters:
    hold = Hold(
        limit=name,
        observed=0,
        maximum=0,
        layer=Layer.HOOK,
        at=START,
        reason=f"{name} reached.",
        amount=amount,
    )
    return used._replace(hold=hold)


@pytest.mark.parametrize(("asked", "given"), [({}, 4), ({"max_tool_calls": 7}, 7)])
def test_a_paused_one_gets_what_it_asks_for_or_what_its_parent_says(
    asked: dict[str, object], given: float
) -> None:
    child = only(max_tool_calls=3)
    used = paused(Counters(tool_calls=3), CALLS, amount=4)
    agreed = terms(
        Standing(child, used), Standing(only(max_tool_calls=10), NOTHING_USED), asked, START
    )
    [grant] = agreed.grants
    assert (grant.limit, grant.amount, grant.maximum) == (CALLS, given, 3 + given)
    assert agreed.lowered == ()


def test_more_than_is_left_is_not_given() -> None:
    child = only(max_tool_calls=3, max_cost_usd=1.0)
    parent = only(max_tool_calls=10, max_cost_usd=2)
    used = paused(Counters(tool_calls=3, cost_nanousd=4 * 10**8), CALLS)
    of_parent = Counters(tool_calls=4, cost_nanousd=4 * 10**8)

    def agreed(**wanted: object) -> list[float]:
        found = terms(Standing(child, used), Standing(parent, of_parent), wanted, START)
        assert found.lowered == ()
        return [grant.maximum for grant in found.grants]

    assert agreed(max_tool_calls=6) == [9]
    with pytest.raises(NothingLeft, match="max_tool_calls: you can give 6 tool calls, not 7"):
        agreed(max_tool_calls=7)
    assert agreed(max_tool_calls=1, max_cost_usd=1) == [4, 2]
    with pytest.raises(NothingLeft, match=r"max_cost_usd: you can give \$1.00, not \$1.01"):
        agreed(max_tool_calls=1, max_cost_usd=1.01)


def test_what_is_not_shared_is_given_up_to_the_parents_own() -> None:
    child, parent = only(max_turns=3, max_depth=1), only(max_turns=5, max_depth=3)
    turns = LimitName.MAX_TURNS
    used = paused(Counters(turns=3), turns)

    def agreed(**wanted: object) -> list[float]:
        found = terms(Standing(child, used), Standing(parent, NOTHING_USED), wanted, START)
        return [grant.maximum for grant in found.grants]

    assert agreed(max_turns=2) == [5]
    with pytest.raises(NothingLeft, match="max_turns: you can give 2 turns, not 3"):
        agreed(max_turns=3)
    assert agreed(max_turns=1, max_depth=1)[1] == 2, "one level fewer than the parent"
    with pytest.raises(NothingLeft):
        agreed(max_turns=1, max_depth=2)


def test_time_is_given_as_far_as_the_parent_has_some() -> None:
    active = LimitName.MAX_ACTIVE_DURATION
    child, parent = only(max_active_duration=100), only(max_active_duration=1_000)
    used = paused(Counters(active=timedelta(seconds=40)), active)
    both = Standing(child, used), Standing(parent, Counters(active=timedelta(seconds=500)))
    [grant] = terms(*both, {active: 440}, START).grants
    assert grant.maximum == 540
    with pytest.raises(NothingLeft):
        terms(*both, {active: 441}, START)


def test_what_its_parent_has_used_meanwhile_it_does_not_get_until_there_is_more() -> None:
    child, parent = only(max_tool_calls=10, max_turns=2), only(max_tool_calls=20, max_turns=9)
    used = paused(Counters(tool_calls=4, turns=2), LimitName.MAX_TURNS)
    more: dict[str, object] = {LimitName.MAX_TURNS: 1}

    def after(of_parent: Counters, used: Counters) -> Counters:
        agreed = terms(Standing(child, used), Standing(parent, of_parent), more, START)
        return fold(agreed.lowered, used)

    assert stops_at(CALLS, child, after(Counters(tool_calls=14), used)) == 10
    short = after(Counters(tool_calls=17), used)
    assert stops_at(CALLS, child, short) == 4 + 3
    assert stops_at(CALLS, child, after(Counters(tool_calls=5), short)) == 10, "as it was promised"
    assert stops_at(CALLS, child, after(Counters(tool_calls=17, spawning=2), used)) == 4 + 1
    with pytest.raises(NothingLeft, match="max_tool_calls: too little is left for it"):
        after(Counters(tool_calls=20), used)


def test_who_goes_on_takes_no_part_of_one_that_is_being_started() -> None:
    starting = Counters(spawning=1)
    goes_on = Spawned(at=START, child="a", goes_on=True)
    assert fold([goes_on], starting).spawning == 1
    assert fold([Spawned(at=START, child="b")], starting).spawning == 0


@pytest.mark.parametrize("kind", ["its own limit", "one that only warns", "one in shadow"])
def test_a_limit_that_was_lowered_stops_at_exactly_what_is_left(kind: str) -> None:
    own = only(max_tool_calls=9, max_turns=50)
    if kind == "one that only warns":
        own = replace(own, actions={CALLS: Action.WARN}, ceilings={CALLS: 9})
    elif kind == "one in shadow":
        own = replace(own, shadow=frozenset({CALLS}), ceilings={CALLS: 9})
    life = begun(own)
    assert life.asks_tool("bash").allowed
    life.happens(Lowered(at=life.now, limit=CALLS, amount=6, maximum=3))
    assert [life.asks_tool("bash").allowed for _ in range(3)] == [True, True, False]
    assert life.counters.trip is not None
    assert (life.counters.trip.observed, life.counters.trip.maximum) == (3, 3)


def test_money_and_time_that_were_lowered_stop_at_exactly_what_is_left() -> None:
    life = begun(only(max_cost_usd=1.0, max_active_duration=100))
    active = LimitName.MAX_ACTIVE_DURATION
    assert seconds_left(life.counters, life.limits, life.now) == 100
    life.happens(Lowered(at=life.now, limit=active, amount=70.5, maximum=29.5))
    assert seconds_left(life.counters, life.limits, life.now) == 29.5
    life.happens(Lowered(at=life.now, limit=COST, amount=0.7, maximum=0.3))
    life.model_answers(cost_nanousd=299_999_999)
    assert life.asks_tool("bash").allowed
    life.model_answers(cost_nanousd=1)
    assert not life.asks_tool("bash").allowed
    assert life.counters.trip is not None and life.counters.trip.maximum == 0.3


@given(
    st.integers(1, 20),
    st.integers(0, 20),
    st.integers(0, 60),
    st.integers(1, 60),
    st.integers(0, 10**9),
    st.integers(0, 10**9),
)
@EXAMPLES
def test_parent_and_sub_agent_together_never_get_more_than_there_is(
    own: int, did: int, spare: int, more: int, of_child: int, of_parent: int
) -> None:
    """Whatever of its own the parent gives, and whatever it has used itself while the other was
    paused."""
    did = min(did, own)
    child, parent = only(max_tool_calls=own, max_cost_usd=1.0), only(max_cost_usd=2.0)
    used = paused(Counters(tool_calls=did, cost_nanousd=of_child), CALLS)
    parents = Counters(tool_calls=did + 7, cost_nanousd=of_child + of_parent)
    parent = replace(parent, max_tool_calls=did + 7 + spare)
    rest = own - did
    try:
        agreed = terms(Standing(child, used), Standing(parent, parents), {CALLS: more}, START)
    except NothingLeft:
        money_left = 2 * 10**9 - of_child - of_parent
        assert more > spare - rest or money_left < min(10**9 - of_child, whole_nanousd(LEAST_USD))
        return
    assert more + rest <= spare
    raises = [
        Raised(at=START, limit=one.limit, amount=one.amount, maximum=one.maximum, by="parent")
        for one in agreed.grants
    ]
    goes_on = fold([*raises, *agreed.lowered], used)
    reserved = reservation(child, goes_on, START)
    spawned = Spawned(at=START, child="child", reserved=reserved, goes_on=True)
    of_both = fold([spawned], parents)
    assert dict(reserved)[CALLS] == rest + more
    assert left(of_both, parent, CALLS, START) == spare - rest - more
    kept = min(10**9 - of_child, 2 * 10**9 - of_child - of_parent)
    assert whole_nanousd(dict(reserved)[COST]) == kept
    assert whole_nanousd(left(of_both, parent, COST, START) or 0) == (
        2 * 10**9 - of_child - of_parent - kept
    )
    assert of_both.spawning == 0 and len(of_both.children) == 1


# --- the parent's overrides -------------------------------------------------------------------


def test_a_parent_overrides_what_the_role_says() -> None:
    own = Limits(max_tool_calls=10, max_turns=3)
    changed = overridden(own, {"max_tool_calls": 99, "max_cost_usd": 0.25, "max_turns": None})
    assert changed == replace(own, max_tool_calls=99, max_cost_usd=0.25, max_turns=None)
    assert overridden(own, {}) == own


@pytest.mark.parametrize(
    ("overrides", "words"),
    [
        ({"max_tool_cals": 5}, "max_tool_cals is no limit; there are: max_iterations, "),
        ({"warning_threshold": 1}, "warning_threshold is no limit"),
        ({"max_tool_calls": "5"}, "max_tool_calls must be a number or null, not '5'"),
        ({"max_tool_calls": True}, "max_tool_calls must be a number or null, not True"),
        ({"max_tool_calls": [5]}, "max_tool_calls must be a number or null"),
        ({"max_tool_calls": -1}, "max_tool_calls must be 1 to 1000000, not -1"),
        ({"max_tool_calls": 2.5}, "max_tool_calls must be a whole number, not 2.5"),
        ({"max_cost_usd": float("nan")}, "max_cost_usd must be 0.01 to 1000000, not nan"),
        ({"max_active_duration": None}, "max_active_duration cannot be switched off"),
    ],
)
def test_an_override_that_makes_no_sense_is_refused_in_words(
    overrides: dict[str, object], words: str
) -> None:
    with pytest.raises(ValueError) as refused:
        overridden(Limits(), overrides)
    assert words in str(refused.value)


# --- levels -----------------------------------------------------------------------------------


def test_each_level_has_one_level_fewer_below_it() -> None:
    parent = only(max_depth=2)
    child = child_limits(NO_LIMITS, parent, NOTHING_USED, START)
    assert child.max_depth == 1
    assert child_limits(NO_LIMITS, child, NOTHING_USED, START).max_depth == 0


def test_a_role_may_want_fewer_levels_than_its_parent_leaves() -> None:
    parent = only(max_depth=5)
    shallow = only(max_depth=1)
    assert child_limits(shallow, parent, NOTHING_USED, START).max_depth == 1


def test_below_the_last_level_nothing_starts() -> None:
    last = only(max_depth=0)
    with pytest.raises(NothingLeft) as refused:
        child_limits(NO_LIMITS, last, NOTHING_USED, START)
    assert str(refused.value) == "max_depth: no further level of sub-agents is allowed."


def test_a_human_may_grant_a_level() -> None:
    last = only(max_depth=0)
    grant = Raised(at=START, limit=DEPTH, amount=1, maximum=1, by="mona")
    assert child_limits(NO_LIMITS, last, fold([grant]), START).max_depth == 0


def test_a_ceiling_on_depth_holds_for_the_whole_chain() -> None:
    """`max_depth: null` under an operator's ceiling of 2: two levels below the first agent."""
    limits = only(ceilings={DEPTH: 2})
    child = child_limits(limits, limits, NOTHING_USED, START)
    grandchild = child_limits(limits, child, NOTHING_USED, START)
    assert (child.max_depth, grandchild.max_depth) == (1, 0)
    with pytest.raises(NothingLeft):
        child_limits(limits, grandchild, NOTHING_USED, START)


def test_no_bound_on_depth_is_none_for_the_next_level_either() -> None:
    assert child_limits(NO_LIMITS, NO_LIMITS, NOTHING_USED, START).max_depth is None


def test_a_sub_agent_may_start_only_what_its_parent_still_may() -> None:
    parent = only(max_spawns=3)
    child = child_limits(only(max_spawns=9), parent, Counters(spawns=1), START)
    assert child.max_spawns == 2
    none = child_limits(NO_LIMITS, parent, Counters(spawns=3), START)
    assert none.max_spawns == 0, "its own work it may still do"


# --- calls that are set aside for sub-agents --------------------------------------------------


def with_child(limits: Limits, used: int, reserved: float) -> Life:
    """An agent that has used so many calls and has promised so many to a sub-agent."""
    life = begun(limits)
    for _ in range(used):
        life.asks_tool()
    life.spawned("child", {CALLS: reserved})
    return life


@pytest.mark.parametrize(
    "limits",
    [
        only(max_tool_calls=10),
        only(default_action=Action.PAUSE, max_tool_calls=10),
        only(ceilings={CALLS: 10}),
        only(default_action=Action.WARN, max_tool_calls=3, ceilings={CALLS: 10}),
        only(default_action=Action.WARN, max_tool_calls=20, ceilings={CALLS: 10}),
    ],
)
def test_what_was_promised_to_a_sub_agent_is_denied_and_stops_nobody(limits: Limits) -> None:
    life = with_child(limits, used=4, reserved=5)
    assert life.asks_tool().allowed
    verdict = life.asks_tool()
    assert (verdict.answer, verdict.limit, verdict.maximum) == (Answer.DENY, None, None)
    assert "set aside for sub-agents" in verdict.reason
    assert (life.counters.trip, life.counters.hold) == (None, None)
    assert life.counters.tool_calls == 5
    assert life.asks_turn().allowed and life.asks_model().allowed and life.ticks().allowed
    life.child_returns("child", tool_calls=2)
    assert all(life.asks_tool().allowed for _ in range(3))
    assert halted(life.asks_tool(), CALLS, 10, 10)


def test_several_sub_agents_are_promised_together() -> None:
    life = with_child(only(max_tool_calls=10), used=2, reserved=4)
    life.spawned("second", {CALLS: 4})
    assert life.asks_tool().answer is Answer.DENY
    life.child_returns("child", tool_calls=0)
    assert life.asks_tool().allowed
    assert [child.agent for child in life.counters.children] == ["second"]


def test_a_promise_of_nothing_denies_nothing() -> None:
    life = with_child(only(max_tool_calls=10), used=9, reserved=0)
    assert life.asks_tool().allowed
    assert halted(life.asks_tool(), CALLS, 10, 10)
    unbound = begun()
    unbound.spawned("child", {CALLS: 100})
    assert all(unbound.asks_tool().answer is Answer.ALLOW for _ in range(50))


@pytest.mark.parametrize(
    "limits",
    [
        only(default_action=Action.WARN, max_tool_calls=10),
        only(max_tool_calls=10, shadow=frozenset({CALLS})),
    ],
)
def test_a_limit_that_lets_pass_sets_nothing_aside(limits: Limits) -> None:
    """A shadow is never acted on, and `warn` goes on."""
    life = with_child(limits, used=8, reserved=5)
    assert all(life.asks_tool().allowed for _ in range(10))


# --- money that was promised ------------------------------------------------------------------


def test_all_that_a_sub_agent_may_spend_is_promised_of_the_parents_execution_money() -> None:
    """The child's own planning is execution to its parent."""
    execution = LimitName.MAX_EXECUTION_COST_USD
    life = with_child(only(max_execution_cost_usd=1.0, max_cost_usd=2.0), used=0, reserved=1)
    life.spawned("second", {COST: 0.25})
    life.spawned("third", {execution: 0.5})
    life.spawned("fourth", {COST: 0.125, execution: 0.5})
    assert left(life.counters, life.limits, execution, START) == 0.125
    assert left(life.counters, life.limits, COST, START) == 1.625


@pytest.mark.parametrize("name", [SPAWNS, TOKENS, LimitName.MAX_ACTIVE_DURATION])
def test_what_was_not_promised_is_all_there(name: LimitName) -> None:
    life = with_child(only(**{name.value: 10}), used=0, reserved=1)
    assert left(life.counters, life.limits, name, START) == 10


@pytest.mark.parametrize("ceilings", [{}, {LimitName.MAX_TOOL_CALLS: 100}])
def test_what_the_parent_has_left_stops_a_sub_agent_that_would_only_warn(
    ceilings: dict[LimitName, float],
) -> None:
    calls = LimitName.MAX_TOOL_CALLS
    wanted = only(max_tool_calls=50, default_action=Action.WARN, ceilings=ceilings)
    child = child_limits(wanted, only(max_tool_calls=10), Counters(), START)
    assert (child.max_tool_calls, child.ceilings[calls]) == (10, 10)


def test_what_a_sub_agent_may_spend_is_the_least_that_bounds_the_parents_work() -> None:
    parent = only(max_cost_usd=5.0, max_execution_cost_usd=2.0)
    child = child_limits(only(max_cost_usd=9.0), parent, Counters(), START)
    assert child.max_cost_usd == 2.0
    parent = only(max_cost_usd=1.0, max_execution_cost_usd=2.0)
    assert child_limits(only(max_cost_usd=9.0), parent, Counters(), START).max_cost_usd == 1.0
