"""Presets: sets of limits under one name, with the figures of the seeds that they come from.

A preset is a layer between the repository's defaults and what is said about the role. It speaks
only about the limits that its table names; all others stay as the layers below leave them.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Final

from app.core.limits import Action, LimitName

_NOTHING: Final[Mapping[LimitName, Action]] = MappingProxyType({})


@dataclass(frozen=True, slots=True)
class Preset:
    """What a role gets that names this preset."""

    limits: Mapping[LimitName, int | float]
    """Durations in seconds, money in USD."""
    actions: Mapping[LimitName, Action] = field(default_factory=lambda: _NOTHING)
    """What happens at those of its limits that the table says it of."""


def _timed(tool_calls: int, seconds: int, usd: float, action: Action) -> Preset:
    """A line of 000's table: its turns are tool calls, its `terminate` is to escalate."""
    limits: dict[LimitName, int | float] = {
        LimitName.MAX_TOOL_CALLS: tool_calls,
        LimitName.MAX_ACTIVE_DURATION: seconds,
        LimitName.MAX_COST_USD: usd,
    }
    return Preset(MappingProxyType(limits), MappingProxyType(dict.fromkeys(limits, action)))


def _spending(model_calls: int, usd: float, tokens: int) -> Preset:
    """A line of 003's table: its turns are model calls, its spend is money."""
    return Preset(
        MappingProxyType(
            {
                LimitName.MAX_MODEL_CALLS: model_calls,
                LimitName.MAX_COST_USD: usd,
                LimitName.MAX_TOKENS: tokens,
            }
        )
    )


_INTERACTIVE: Final = Preset(
    MappingProxyType({LimitName.MAX_TOOL_CALLS_PER_TURN: 20, LimitName.MAX_CONSECUTIVE_TOOLS: 10}),
    MappingProxyType(
        {
            LimitName.MAX_TOOL_CALLS_PER_TURN: Action.PAUSE,
            LimitName.MAX_CONSECUTIVE_TOOLS: Action.PAUSE,
        }
    ),
)
"""004's conversation: at a limit it stops and tells its user, who may go on."""

PRESETS: Final[Mapping[str, Preset]] = MappingProxyType(
    {
        "developer": _timed(25, 600, 1.0, Action.ESCALATE),
        "qa": _timed(10, 120, 0.5, Action.ESCALATE),
        "planner": _timed(15, 300, 2.0, Action.ESCALATE),
        "architect": _timed(50, 1_800, 5.0, Action.WARN),
        "researcher": _timed(50, 1_200, 5.0, Action.WARN),
        "security-architect": _timed(30, 900, 3.0, Action.ESCALATE),
        "code-reviewer": _timed(20, 600, 1.5, Action.WARN),
        "devops": _timed(30, 900, 2.0, Action.ESCALATE),
        "execution-leaf": _spending(4, 0.05, 4_096),
        "strategy-leaf": _spending(6, 0.05, 4_096),
        "execution-leaf-plus": _spending(10, 0.10, 4_096),
        "sub-orchestrator": _spending(20, 1.0, 200_000),
        "root-orchestrator": _spending(30, 3.0, 200_000),
        "interactive": _INTERACTIVE,
    }
)
