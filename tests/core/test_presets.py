"""Presets, figure by figure as the seeds have them."""

import pytest

from app.core.limits import Action, LimitName, Limits, in_range
from app.core.limits.presets import PRESETS

SEED_000 = {
    # agent type: max_turns, max_duration_ms, max_cost_usd, timeout_action
    "developer": (25, 600_000, 1.0, "terminate"),
    "qa": (10, 120_000, 0.5, "terminate"),
    "planner": (15, 300_000, 2.0, "terminate"),
    "architect": (50, 1_800_000, 5.0, "warn"),
    "researcher": (50, 1_200_000, 5.0, "warn"),
    "security-architect": (30, 900_000, 3.0, "terminate"),
    "code-reviewer": (20, 600_000, 1.5, "warn"),
    "devops": (30, 900_000, 2.0, "terminate"),
}

SEED_003 = {
    # role: turns, spend, tokens
    "execution-leaf": (4, 0.05, 4096),
    "strategy-leaf": (6, 0.05, 4096),
    "execution-leaf-plus": (10, 0.10, 4096),
    "sub-orchestrator": (20, 1.00, 200_000),
    "root-orchestrator": (30, 3.00, 200_000),
}


@pytest.mark.parametrize("name", SEED_000)
def test_seed_000_default_values_by_agent_type(name: str) -> None:
    turns, milliseconds, usd, timeout_action = SEED_000[name]
    preset = PRESETS[name]
    assert preset.limits == {
        LimitName.MAX_TOOL_CALLS: turns,
        LimitName.MAX_ACTIVE_DURATION: milliseconds // 1_000,
        LimitName.MAX_COST_USD: usd,
    }
    action = {"terminate": Action.ESCALATE, "warn": Action.WARN}[timeout_action]
    assert preset.actions == dict.fromkeys(preset.limits, action)


@pytest.mark.parametrize("name", SEED_003)
def test_seed_003_practical_limit_presets(name: str) -> None:
    turns, spend, tokens = SEED_003[name]
    preset = PRESETS[name]
    assert preset.limits == {
        LimitName.MAX_MODEL_CALLS: turns,
        LimitName.MAX_COST_USD: spend,
        LimitName.MAX_TOKENS: tokens,
    }
    assert preset.actions == {}


def test_seed_004_stops_a_conversation_at_20_tools_a_turn_and_10_without_text() -> None:
    preset = PRESETS["interactive"]
    assert preset.limits == {
        LimitName.MAX_TOOL_CALLS_PER_TURN: 20,
        LimitName.MAX_CONSECUTIVE_TOOLS: 10,
    }
    assert preset.actions == dict.fromkeys(preset.limits, Action.PAUSE)


def test_there_are_no_other_presets() -> None:
    assert set(PRESETS) == {*SEED_000, *SEED_003, "interactive"}


@pytest.mark.parametrize("name", PRESETS)
def test_every_preset_is_within_the_catalogue(name: str) -> None:
    preset = PRESETS[name]
    for limit, value in preset.limits.items():
        in_range(limit, value)
    assert Limits(actions=preset.actions).actions == preset.actions
