"""Agents at work that something outside of their segment stops: reconciliation, or a lost access.

What runs is stopped before the work is kept, or what it writes last would be left out. So it is
told by an event of its log, which supersedes the segment; that ends the agent as soon as nothing
of it runs. One that does not is ended from outside, after a bound.
"""

import logging
from datetime import timedelta
from typing import assert_never

from app.core.agents.agent import Agent, AgentId
from app.core.agents.counters import fold
from app.core.agents.events import (
    Decided,
    Failed,
    LostAccess,
    Tripped,
    Waits,
    stopped_for_good,
)
from app.core.agents.lifecycle import State
from app.core.agents.steps import Escalate, Sleep, Step, escalation
from app.core.agents.transition import decided
from app.core.breaker.clocks import GRACE_SECONDS, told_to_stop
from app.core.breaker.running_tools import tool_wait_seconds
from app.services.moves import agent_log
from app.services.moves.moves import Moves
from app.services.world import World, page_of, segment_marker

log = logging.getLogger("squadron.agents")


def _may_take_seconds(agent: Agent, told: Tripped | Failed | LostAccess) -> float:
    """How long a segment that was told so may go on."""
    limits = agent.assignment.limits
    stop = told.trip if isinstance(told, Tripped) else None
    return tool_wait_seconds(stop, limits) + limits.summary_wait + GRACE_SECONDS


class Stopping:
    """Tells running segments to stop, and ends their agents."""

    def __init__(self, world: World, moves: Moves) -> None:
        self._world = world
        self._moves = moves

    async def stop(self, agent: Agent, step: Escalate | Sleep, rule: str) -> bool:
        """Tell an agent at work to stop for good, or to sleep until the App is let in; whether it
        was told, or ended, just now. `rule`: who wants it."""
        now = self._world.clock.now()
        why = decided(rule, step, now)
        if isinstance(step, Sleep):
            return await self._stop(agent, LostAccess(at=now, why=step.why), why)
        return await self._stop(agent, stopped_for_good(step.stop, now), why)

    async def end(self, agent_id: AgentId) -> bool:
        """End an agent that was told to stop, and of which nothing runs any more; False if it was
        not, or was ended."""
        agent = await self._world.store.agent(agent_id)
        if agent is None or agent.state is not State.ACTIVE:
            return False
        told = told_to_stop(await self._world.store.log(agent_id))
        return told is not None and await self._end(agent, told)

    async def _stop(self, agent: Agent, told: Tripped | Failed | LostAccess, why: Decided) -> bool:
        history = await self._world.store.log(agent.id)
        before = told_to_stop(history)
        if before is None:
            seq = len(history) + 1
            # One that has just done something is told by the next pass.
            is_told = await self._world.store.append(agent.id, agent.segment, seq, [told, why])
            if is_told and not isinstance(told, LostAccess):
                agent_log.tell(page_of(self._world, agent), agent, fold((*history, told)), told)
            return is_told
        if told.at - before.at < timedelta(seconds=_may_take_seconds(agent, before)):
            return False
        log.warning("it does not stop", extra={"agent": str(agent.id), "segment": agent.segment})
        marker = segment_marker(self._world, agent.id, agent.segment)
        await self._world.processes.kill_marked(marker)
        return await self._end(agent, before)

    async def _end(self, agent: Agent, told: Tripped | Failed | LostAccess) -> bool:
        match told:
            case Tripped(trip=stop) | Failed(failure=stop):
                step: Step = escalation(await self._world.store.log(agent.id), stop)
            case LostAccess(why=why):
                step = Sleep(Waits.ACCESS, why)
            case _:
                assert_never(told)
        return await self._moves.apply(agent, step) is not None
