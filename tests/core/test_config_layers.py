"""Layers: a later one wins key by key, and the operator's ceilings cap whatever came out."""

from hypothesis import given, settings
from hypothesis import strategies as st

from app.config.layers import LIMIT_KEYS, Said, effective_limits
from app.config.operator import OperatorConfig, read_operator
from app.config.repository import read_repository
from app.config.yamltree import Document
from app.core.limits import CATALOGUE, Action, LimitName, Limits
from app.core.rules.plan import Layer, Origin

limits_said = st.fixed_dictionaries(
    {},
    optional={
        name: st.integers(1, min(100, int(info.most)))
        | (st.none() if info.optional else st.nothing())
        for name, info in CATALOGUE.items()
    },
)
layers_said = st.tuples(*[limits_said] * len(Layer)).map(
    lambda said: [
        Said(layer, keys, "f", Document()) for layer, keys in zip(Layer, said, strict=True)
    ]
)
ceilings_said = st.fixed_dictionaries(
    {}, optional={name: st.integers(1, min(100, int(CATALOGUE[name].most))) for name in LimitName}
)


@settings(deadline=None, derandomize=True, max_examples=200)
@given(layers_said)
def test_the_last_layer_that_speaks_decides(said: list[Said]) -> None:
    limits, origins = effective_limits(said, {})
    for name in LimitName:
        speaking = [each for each in said if name in each.keys]
        expected = speaking[-1].keys[name] if speaking else CATALOGUE[name].default
        layer = speaking[-1].layer if speaking else Layer.BUILT_IN
        assert (limits.maximum(name), origins[name]) == (expected, Origin(layer))
    assert set(origins) == set(LIMIT_KEYS)


@settings(deadline=None, derandomize=True, max_examples=200)
@given(layers_said, ceilings_said)
def test_nothing_passes_a_ceiling_and_nothing_below_it_is_touched(
    said: list[Said], ceilings: dict[LimitName, int]
) -> None:
    uncapped, _ = effective_limits(said, {})
    limits, origins = effective_limits(said, ceilings)
    for name in LimitName:
        before, after = uncapped.maximum(name), limits.maximum(name)
        ceiling = ceilings.get(name)
        if ceiling is None or (before is not None and before <= ceiling):
            assert (after, origins[name].capped_by) == (before, None)
        else:
            assert (after, origins[name].capped_by) == (ceiling, "ceiling")
    assert limits.ceilings == ceilings


def test_the_six_layers_in_order() -> None:
    operator = read_operator(
        "defaults: {max_turns: 2, max_tool_calls: 2, max_iterations: 2, summary_wait: 2}\n", "op"
    ).config
    assert operator is not None
    config = (
        "circuit_breakers:\n"
        "  defaults: {max_tool_calls: 3, max_depth: 3, max_iterations: 3, summary_wait: 3}\n"
        "  roles: {pm: {preset: interactive, max_iterations: 4, summary_wait: 4}}\n"
    )
    agent = "---\nsummary_wait: 5\n---\nPlan."
    plan = read_repository({"config.yaml": config, "agents/pm.md": agent}, operator).plan
    assert plan is not None
    pm = plan.roles["pm"]
    pauses = (LimitName.MAX_TOOL_CALLS_PER_TURN, LimitName.MAX_CONSECUTIVE_TOOLS)
    assert pm.limits == Limits(
        max_active_duration=600,
        max_turns=2,
        max_tool_calls=3,
        max_depth=3,
        max_tool_calls_per_turn=20,
        max_consecutive_tools=10,
        max_iterations=4,
        summary_wait=5,
        actions=dict.fromkeys(pauses, Action.PAUSE),
    )
    keys = (
        "max_active_duration",
        "max_turns",
        "max_tool_calls",
        "max_consecutive_tools",
        "max_iterations",
        "summary_wait",
    )
    assert [pm.origins[key].layer for key in keys] == list(Layer)


def test_null_switches_a_limit_off_but_not_below_a_ceiling() -> None:
    config = "circuit_breakers: {defaults: {max_turns: null, max_tool_calls: null}}"
    operator = read_operator("ceilings: {max_turns: 40, max_iterations: 5}", "op").config
    assert operator is not None
    plan = read_repository({"config.yaml": config}, operator).plan
    assert plan is not None
    role = plan.roles["bug-fix"]
    assert (role.limits.max_turns, role.limits.max_tool_calls) == (40, None)
    assert role.origins["max_turns"] == Origin(Layer.REPOSITORY, "ceiling")
    assert role.origins["max_iterations"] == Origin(Layer.BUILT_IN)


def test_without_an_operators_file_nothing_is_capped_and_any_model_may_be_named() -> None:
    assert OperatorConfig().ceilings == {}
    assert OperatorConfig().allows_model("openai:anything")
