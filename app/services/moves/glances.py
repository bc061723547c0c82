"""What lists show of agents is taken of their logs, and kept.

It is noted together with each move, and each second while an agent works. What another version of
Squadron has left out, or what came into a log beside a move, the next pass makes up for.
"""

import asyncio
from collections.abc import Sequence
from datetime import datetime
from typing import Final

from app.core.agents.agent import Agent
from app.core.agents.events import AgentEvent
from app.core.words.glance import NotedGlance, glance
from app.core.words.report import report
from app.ports import Store

MOST_AT_ONCE: Final = 100
MOST_IN_A_PASS: Final = 2_000
"""Agents: of a thousand events each, about ten seconds of one core."""


async def taken(agent: Agent, history: Sequence[AgentEvent], now: datetime) -> NotedGlance:
    """Of an agent whose log is `history`, in full. A long log takes a tenth of a second: that is
    done aside."""
    seen = await asyncio.to_thread(lambda: glance(report(agent, history, now)))
    return NotedGlance(seen, len(history))


async def note_glance(store: Store, agent: Agent, now: datetime) -> None:
    """Of an agent to whose log something was appended."""
    await store.note_glance(agent.id, await taken(agent, await store.log(agent.id), now))


async def catch_up(store: Store, now: datetime) -> int:
    """Take those that are missing, or behind; how many. Raises `StoreUnavailable`."""
    done = 0
    while done < MOST_IN_A_PASS:
        behind = await store.behind_glances(MOST_AT_ONCE)
        for agent in behind:
            await note_glance(store, agent, now)
        done += len(behind)
        if len(behind) < MOST_AT_ONCE:
            break
    return done
