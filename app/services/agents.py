"""Segments of agents: begin one, run it, and close it according to how it ended.

A segment may run again from its start: after `kill -9` the engine calls `run` once more, the
killed attempt's orphans are ended first, and the same workspace and session go on.
"""

import logging
from collections.abc import Sequence
from typing import Final, assert_never

from app.core.agent import Agent, AgentId
from app.core.counters import fold
from app.core.deadlines import deaths
from app.core.events import (
    AgentEvent,
    Cause,
    ClosingTool,
    Layer,
    Reported,
    SegmentEnded,
    Slept,
    Trip,
    TurnAsked,
    Woken,
)
from app.ports import Idle, ReportedBlocked, ReportedComplete, Work
from app.services.closing import Closing
from app.services.drain import Drain
from app.services.gate import BreakerGate, Superseded
from app.services.segment import Died, Ended, Failed, Result, Segment, Stop, Stopped
from app.services.world import World, segment_marker

MOST_DEATHS: Final = 3
"""Deaths of one segment's runtime or worker after which a human decides (DESIGN section 2)."""

log = logging.getLogger("squadron.agents")


class RuntimeDied(Exception):
    """The runtime failed; the engine starts the segment again, until `MOST_DEATHS`."""


class Segments:
    """Handles `WorkKind.SEGMENT`."""

    def __init__(self, world: World, closing: Closing, drain: Drain) -> None:
        self._world = world
        self._closing = closing
        self._drain = drain

    async def run(self, work: Work) -> None:
        """Run the segment that `work` names, if it is still the agent's present one.

        Raises `RuntimeDied` when the attempt is worth repeating.
        """
        world, agent_id = self._world, AgentId.parse(work.subject)
        agent = await world.store.begin_segment(
            agent_id, work.segment, world.worker, world.clock.now()
        )
        for segment in range(max(work.segment - 1, 0), work.segment + 1):  # what was killed left
            await world.processes.kill_marked(segment_marker(world, agent_id, segment))
        if agent is None:
            await self._closing.keep_after_the_end(agent_id)
            return
        log.info("segment started", extra={"agent": str(agent.id), "segment": agent.segment})
        history = await world.store.log(agent.id)
        trip = fold(history).trip
        if trip is None and deaths(history) >= MOST_DEATHS:
            trip = self._death(history)
        if trip is not None:
            await self._closing.escalate(agent, trip, "")
            return
        if (report := _unanswered_report(history)) is not None:
            await self._close_by_agent(agent, report)
            return
        gate = BreakerGate(
            agent,
            fold(history),
            len(history) + 1,
            store=world.store,
            workspace=world.workspace,
            parse=world.parse,
            clock=world.clock,
        )
        result = await Segment(world, agent, gate, history, self._drain).run()
        await world.processes.kill_marked(segment_marker(world, agent_id, work.segment))
        await self._close(agent, gate, result)

    async def _close(self, agent: Agent, gate: BreakerGate, result: Result) -> None:
        match result:
            case Ended(end=end):
                await self._close_by_agent(agent, end)
            case Stopped(why=why, summary=summary):
                await self._close_by_stop(agent, gate, why, summary)
            case Failed(cause=cause, reason=reason):
                await self._closing.escalate(agent, self._failure(cause, reason), "")
            case Died(reason=reason):
                await self._died(gate, reason)
            case _:
                assert_never(result)

    async def _close_by_agent(
        self, agent: Agent, end: ReportedComplete | ReportedBlocked | Idle
    ) -> None:
        match end:
            case ReportedComplete(summary=summary):
                await self._closing.complete(agent, summary)
            case ReportedBlocked(reason=reason, blocked_by=blockers):
                await self._closing.block(agent, reason, blockers)
            case Idle(text=text):
                await self._closing.ask_people(agent, text or "The agent stopped without a word.")
            case _:
                assert_never(end)

    async def _close_by_stop(
        self, agent: Agent, gate: BreakerGate, why: Stop, summary: str
    ) -> None:
        match why:
            case Stop.TRIPPED:
                trip = gate.counters.trip
                assert trip is not None, "a segment stops as tripped only after the event"
                await self._closing.escalate(agent, trip, summary)
            case Stop.DRAINED:
                await self._closing.interrupt(agent, summary)
            case Stop.SUPERSEDED:
                log.info("segment was taken over", extra={"agent": str(agent.id)})
                await self._closing.keep_after_the_end(agent.id)
            case _:
                assert_never(why)

    async def _died(self, gate: BreakerGate, reason: str) -> None:
        try:
            await gate.record([SegmentEnded(at=self._world.clock.now(), why=reason, died=True)])
        except Superseded:
            return
        raise RuntimeDied(reason)

    def _failure(self, cause: Cause, reason: str) -> Trip:
        return Trip(
            limit=cause.value,
            observed=None,
            maximum=None,
            layer=Layer.HOOK,
            at=self._world.clock.now(),
            reason=reason,
        )

    def _death(self, history: Sequence[AgentEvent]) -> Trip:
        said = [e.why for e in history if isinstance(e, SegmentEnded) and e.died]
        last = f" Its last words: {said[-1]}" if said else ""
        return Trip(
            limit=Cause.RUNTIME_DIED.value,
            observed=MOST_DEATHS,
            maximum=MOST_DEATHS,
            layer=Layer.HOOK,
            at=self._world.clock.now(),
            reason=f"The runtime or its worker died {MOST_DEATHS} times in one segment.{last}",
        )


def _unanswered_report(
    history: Sequence[AgentEvent],
) -> ReportedComplete | ReportedBlocked | None:
    """The report of an attempt that died before anything came of it."""
    for event in reversed(history):
        match event:
            case Reported(tool=ClosingTool.REPORT_COMPLETE, text=text):
                return ReportedComplete(text)
            case Reported(tool=ClosingTool.REPORT_BLOCKED, text=text, blocked_by=blockers):
                return ReportedBlocked(text, blockers)
            case Slept() | Woken() | TurnAsked():
                return None
            case _:
                continue
    return None
