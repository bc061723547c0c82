"""Agents that may have no sub-agents: whoever asks for one is told so, and is not stopped for it.

Seed 003, "Depth Decrement": at depth 0 the call fails with "Depth limit exhausted".
"""

from typing import Final

from app.core.agents.counters import Counters, stops_at
from app.core.agents.events import Ask, ToolAsked
from app.core.limits import LimitName, Limits

SPAWN_LIMITS: Final = (LimitName.MAX_DEPTH, LimitName.MAX_SPAWNS)


def forbidding(counters: Counters, ask: Ask, limits: Limits) -> LimitName | None:
    """The limit that is 0 where the ask is for a sub-agent; None: there may be some, or nobody
    asks for one."""
    if not isinstance(ask, ToolAsked) or not ask.spawns:
        return None
    return next((name for name in SPAWN_LIMITS if stops_at(name, limits, counters) == 0), None)


def no_level_words(name: LimitName) -> str:
    """What the model hears instead of a sub-agent's report."""
    what = "no further level of sub-agents" if name is LimitName.MAX_DEPTH else "no sub-agents"
    return f"Depth limit exhausted: {name} allows {what} here. Do this part yourself."
