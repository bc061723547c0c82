"""What becomes of a suggestion: a proposal to people, or a small step that files can take back."""

from dataclasses import replace
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from app.core.history.adapting import (
    BRANCH_PREFIX,
    LARGEST_STEP,
    Adapted,
    adapted_plan,
    proposal,
    proposal_body,
    proposal_title,
    step,
    steps,
)
from app.core.history.suggest import SUGGESTED, RoleHistory, role_history
from app.core.limits import CATALOGUE, LimitName, Limits, in_range
from app.core.rules.plan import Layer, Origin, RepositoryPlan, RolePlan
from tests.core.strategies import EXAMPLES, START
from tests.core.test_suggest import finished

CALLS, TURNS = LimitName.MAX_TOOL_CALLS, LimitName.MAX_TURNS


def plan(limits: Limits | None = None, **layers: Layer) -> RepositoryPlan:
    """A repository with the role bug-fix; `layers`: where some of its limits stand."""
    role = RolePlan(
        role="bug-fix", description="", prompt="", runtime="embedded", model=None,
        planning_model=None, tools=None, setup=(), preset=None, limits=limits or Limits(),
        origins={name: Origin(layer) for name, layer in layers.items()},
    )  # fmt: skip
    return RepositoryPlan(roles={"bug-fix": role})


def learnt(limits: Limits | None = None, calls: int = 100) -> list[RoleHistory]:
    """Ten agents that needed so many calls: 130 are suggested for 100."""
    present = limits or Limits()
    return [role_history("bug-fix", finished(*[calls] * 10), present.ceilings, present)]


def only_calls(found: list[Adapted]) -> list[tuple[float, float]]:
    return [(each.base, each.value) for each in found if each.name is CALLS]


# --- proposals --------------------------------------------------------------------------------


def test_a_proposal_says_what_to_change_and_why() -> None:
    found = proposal(plan(), learnt())
    assert found is not None
    assert found.changes["bug-fix"][CALLS] == 130
    assert proposal_title(found) == "Limits of bug-fix from what their agents used"
    body = proposal_body(found)
    assert "max_tool_calls: 200 -> 130: would have stopped none that finished" in body
    assert "the same is not proposed again" in body
    assert found.branch.startswith(BRANCH_PREFIX)
    assert found.by_hand == {}


def test_the_branch_is_named_by_the_change_alone() -> None:
    one, again = proposal(plan(), learnt()), proposal(plan(), learnt())
    other = proposal(plan(), learnt(calls=50))
    assert one is not None and again is not None and other is not None
    assert one.branch == again.branch != other.branch
    assert len(one.branch) == len(BRANCH_PREFIX) + 12


def test_what_stands_in_an_agent_file_is_left_to_people() -> None:
    found = proposal(plan(max_tool_calls=Layer.AGENT_FILE), learnt())
    assert found is not None
    assert CALLS not in found.changes["bug-fix"]
    assert found.by_hand == {"bug-fix": (CALLS,)}
    assert "`max_tool_calls` stands in the agent file of `bug-fix`" in proposal_body(found)
    everywhere: dict[str, Any] = {name.value: Layer.AGENT_FILE for name in SUGGESTED}
    assert proposal(plan(**everywhere), learnt()) is None


def test_what_any_other_layer_says_is_proposed() -> None:
    found = proposal(plan(max_tool_calls=Layer.REPOSITORY_ROLE), learnt())
    assert found is not None and found.changes["bug-fix"][CALLS] == 130


def test_only_roles_with_a_suggestion_are_spoken_of() -> None:
    both = plan()
    both = replace(both, roles={**both.roles, "pm": both.roles["bug-fix"]})
    few = role_history("pm", finished(100), {}, Limits())
    found = proposal(both, [few, *learnt()])
    assert found is not None
    assert [history.role for history in found.histories] == ["bug-fix"]


def test_the_words_of_a_proposal() -> None:
    limits = Limits(max_turns=2, max_active_duration=1, max_iterations=2)
    mine = plan(limits, max_tool_calls=Layer.AGENT_FILE)
    found = proposal(mine, learnt(replace(limits, max_turns=50)))
    assert found is not None
    head, *parts = proposal_body(found).split("\n\n")
    assert head.startswith("These limits come from what this repository's own agents used")
    assert "\n\n".join(parts) == (
        "### bug-fix\n\n"
        "```\n"
        "limit                    now  median  p95  max  stop  pause  warn  wrong\n"
        "max_tool_calls           200     100  100  100     0      0     0      -\n"
        "max_consecutive_tools    off     100  100  100     0      0     0      -\n"
        "max_tool_calls_per_turn  off     100  100  100     0      0     0      -\n"
        "\n"
        "max_turns: 50 -> 2: would have stopped none that finished\n"
        "```\n\n"
        "`max_tool_calls` stands in the agent file of `bug-fix`, which wins over this file."
        " Suggested there: `max_tool_calls: 130`."
    )


def test_without_a_suggestion_there_is_no_proposal() -> None:
    few = [role_history("bug-fix", finished(100), {}, Limits())]
    assert proposal(plan(), few) is None
    assert proposal(RepositoryPlan(), learnt()) is None


# --- steps ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "present", "wanted", "value"),
    [
        (CALLS, 200, 130, 150),
        (CALLS, 150, 130, 130),
        (CALLS, 100, 500, 125),
        (CALLS, 3, 9, 3),
        (CALLS, 7, 1, 6),
        (LimitName.MAX_COST_USD, 1.0, 0.2, 0.75),
        (LimitName.MAX_COST_USD, 0.75, 0.2, 0.57),
        (LimitName.MAX_COST_USD, 1.0, 1.1, 1.1),
        (LimitName.MAX_COST_USD, 0.999, 5.0, 1.24),
    ],
)
def test_a_step_is_a_quarter_at_most(
    name: LimitName, present: float, wanted: float, value: float
) -> None:
    assert step(name, present, wanted) == value


@EXAMPLES
@given(st.sampled_from(SUGGESTED), st.data())
def test_a_step_goes_towards_the_suggestion_and_stays_in_range(
    name: LimitName, data: st.DataObject
) -> None:
    info = CATALOGUE[name]
    inside: st.SearchStrategy[Any] = st.integers(int(info.least), min(int(info.most), 10**5))
    if info.is_money:
        inside = st.integers(1, 10**6).map(lambda cents: cents / 100)
    present, wanted = data.draw(inside), data.draw(inside)
    value = step(name, present, wanted)
    in_range(name, value)
    assert abs(value - present) <= LARGEST_STEP * present + 1e-9
    assert min(present, wanted) <= value <= max(present, wanted)


def test_steps_go_on_from_where_the_last_one_came_to() -> None:
    first = list(steps(plan(), [], learnt(), START))
    assert only_calls(first) == [(200, 150)]
    effective = adapted_plan(plan(), first).roles["bug-fix"].limits
    second = list(steps(plan(), first, learnt(effective), START))
    assert only_calls(second) == [(200, 130)]
    settled = adapted_plan(plan(), second).roles["bug-fix"].limits
    assert settled.max_tool_calls == 130
    assert only_calls(list(steps(plan(), second, learnt(settled), START))) == []


def test_whoever_changes_the_file_has_the_last_word() -> None:
    moved = [Adapted("bug-fix", CALLS, 200, 150, START)]
    changed = plan(Limits(max_tool_calls=90))
    assert adapted_plan(changed, moved).roles["bug-fix"].limits.max_tool_calls == 90
    in_agent_file = plan(max_tool_calls=Layer.AGENT_FILE)
    assert adapted_plan(in_agent_file, moved) == in_agent_file
    assert list(steps(in_agent_file, [], learnt(), START)) == [
        each for each in steps(plan(), [], learnt(), START) if each.name is not CALLS
    ]
    off = plan(Limits(max_tool_calls=None))
    assert adapted_plan(off, moved) == off
    again = list(steps(changed, moved, learnt(Limits(max_tool_calls=90)), START))
    assert only_calls(again) == [(90, 112)]  # from what the file says, not from 150


def test_what_is_switched_off_is_not_moved() -> None:
    found = list(steps(plan(Limits(max_tool_calls=None)), [], learnt(), START))
    assert found and only_calls(found) == []


def test_a_value_of_which_a_quarter_is_nothing_stays() -> None:
    small = Limits(max_tool_calls=3)
    assert only_calls(list(steps(plan(small), [], learnt(small), START))) == []


def test_an_adapted_value_is_whole_unless_it_is_money() -> None:
    """A database may hand back 150.0 for 150."""
    limits = Limits(max_cost_usd=1.0)
    moved = [
        Adapted("bug-fix", CALLS, 200, 150.0, START),
        Adapted("bug-fix", LimitName.MAX_COST_USD, 1.0, 0.75, START),
    ]
    found = adapted_plan(plan(limits), moved).roles["bug-fix"].limits
    assert (found.max_tool_calls, found.max_cost_usd) == (150, 0.75)
    assert isinstance(found.max_tool_calls, int)


def test_no_adapted_value_is_above_a_ceiling() -> None:
    limits = Limits(max_tool_calls=100, ceilings={CALLS: 110})
    moved = [Adapted("bug-fix", CALLS, 100, 125, START)]
    assert adapted_plan(plan(limits), moved).roles["bug-fix"].limits.max_tool_calls == 110


def test_what_is_known_of_a_role_that_is_gone_is_ignored() -> None:
    moved = [Adapted("pm", CALLS, 200, 150, START)]
    assert adapted_plan(plan(), moved) == plan()
    gone = [replace(history, role="pm") for history in learnt()]
    assert list(steps(plan(), [], gone, START)) == []


@EXAMPLES
@given(st.integers(1, 10_000), st.integers(1, 10_000))
@example(1, 1)
def test_an_adapted_plan_is_a_plan(base: int, value: int) -> None:
    limits = Limits(max_tool_calls=base)
    found = adapted_plan(plan(limits), [Adapted("bug-fix", CALLS, base, value, START)])
    assert found.roles["bug-fix"].limits == replace(limits, max_tool_calls=value)
