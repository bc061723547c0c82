"""Segments of agents: begin one, run it, and close it according to how it ended.

A segment may run again from its start: after `kill -9` the engine calls `run` once more, the
killed attempt's orphans are ended first, and the same workspace and session go on.
"""

import logging
from collections.abc import Sequence
from typing import assert_never

from app.core.agents.agent import Agent, AgentId
from app.core.agents.counters import fold
from app.core.agents.deaths import (
    MOST_OF_RUNTIMES,
    deaths,
    pause_after_runtime,
    pause_after_worker,
    too_many,
)
from app.core.agents.events import (
    AgentEvent,
    ClosingTool,
    FilesMoved,
    HeldUp,
    Reported,
    SegmentStarted,
    SentBack,
    Slept,
    TurnAsked,
    Waits,
    Woken,
)
from app.core.agents.lifecycle import State
from app.core.agents.steps import Death, HoldBack, Pause, Requeue, Sleep, escalation
from app.core.agents.stops import Cause, Failure, StopReason
from app.core.rules.caps import Full
from app.core.steering.at_end import hands_over, step_after, step_at_end
from app.core.steering.github_away import GitHubAway, try_again_at
from app.core.words.refusals import github_away
from app.ports import (
    GitHubFailed,
    Report,
    ReportedBlocked,
    ReportedComplete,
    ReviewSubmitted,
    RunSegment,
    SessionEnd,
)
from app.services.effects.publisher import Publisher
from app.services.moves.brakes import Braking
from app.services.moves.capping import Capping
from app.services.moves.files import Files
from app.services.moves.funds import Funds
from app.services.moves.kept_work import keep_work
from app.services.moves.moves import Moves
from app.services.moves.providers import Providers
from app.services.moves.room import Room
from app.services.moves.stopping import Stopping
from app.services.segment.attempt import Segment, Stops
from app.services.segment.gate import BreakerGate
from app.services.segment.open_issue import Opening
from app.services.segment.sub_agent_rows import SubAgents
from app.services.segment.supervision import (
    CannotGoOn,
    Died,
    Ended,
    ModelAway,
    Result,
    Stop,
    Stopped,
)
from app.services.segment.verifying import Verifying
from app.services.steering.look import Looking
from app.services.world import World, repository_of, segment_marker

log = logging.getLogger("squadron.agents")


class Segments:
    """Handles `RunSegment`."""

    def __init__(
        self,
        world: World,
        moves: Moves,
        stopping: Stopping,
        publisher: Publisher,
        sub_agents: SubAgents,
        braking: Braking,
        room: Room,
        capping: Capping,
        funds: Funds,
        providers: Providers,
        stops: Stops,
        opening: Opening,
        verifying: Verifying,
        looking: Looking,
    ) -> None:
        self._world = world
        self._moves = moves
        self._stopping = stopping
        self._publisher = publisher
        self._braking = braking
        self._room = room
        self._capping = capping
        self._funds = funds
        self._providers = providers
        self._stops = stops
        self._sub_agents = sub_agents
        self._opening = opening
        self._verifying = verifying
        self._looking = looking

    async def run(self, work: RunSegment) -> None:
        """Run the segment that `work` names, if it is still the agent's present one."""
        agent_id = work.agent
        await self._run(agent_id, work)
        await self._moves.end_taken_away(agent_id)
        await self._capping.let_on()

    async def _run(self, agent_id: AgentId, work: RunSegment) -> None:
        world = self._world
        agent = await self._begin(agent_id, work.segment)
        for segment in range(max(work.segment - 1, 0), work.segment + 1):  # what was killed left
            await world.processes.kill_marked(segment_marker(world, agent_id, segment))
        if agent is None:
            await self._moves.keep_after_the_end(agent_id)
            return
        log.info(
            "segment started",
            extra={
                "agent": str(agent.id),
                "segment": agent.segment,
                "worker": world.worker,
            },
        )
        history = await world.store.log(agent.id)
        left = await self._sub_agents.settle(
            agent, fold(history), "its process died", keeps_paused=True
        )
        if left:
            if not await world.store.append(agent.id, agent.segment, len(history) + 1, left):
                return
            history = [*history, *left]
        stop = fold(history).stop
        if stop is None:
            stop = too_many(history, await world.store.cut_off_workers(), world.clock.now())
        if stop is not None:
            await self._moves.apply(agent, escalation(history, stop))
            return
        if (hold := fold(history).hold) is not None:
            await self._moves.apply(agent, Pause(hold))
            return
        gate = BreakerGate.going_on(world, agent, history)
        report = _unanswered_report(history)
        if report is not None and await Files(world, agent).elsewhere() is None:
            await self._close_by_agent(agent, gate, report)
            return
        if await self._braking.is_held(agent):
            await self._braking.interrupt(agent, "")
            return
        present = Segment(
            world,
            agent,
            gate,
            history,
            self._moves,
            self._stops,
            self._sub_agents,
            self._opening,
            self._providers,
        )
        result = await present.run()
        await world.processes.kill_marked(segment_marker(world, agent_id, work.segment))
        await self._close(agent, gate, result)

    async def _begin(self, agent_id: AgentId, segment: int) -> Agent | None:
        """None: it is kept from that, or there is nothing to do."""
        if await self._is_kept_from(agent_id, segment):
            return None
        begun = await self._moves.begin(agent_id, segment)
        if isinstance(begun, Full):
            await self._capping.hold(agent_id, segment, begun)
            return None
        return begun

    async def _is_kept_from(self, agent_id: AgentId, segment: int) -> bool:
        """Whether something keeps the agent from beginning it. The provider comes last: whoever
        may begin then is who asks it, if it is away."""
        return (
            await self._rests(agent_id, segment)
            or await self._braking.hold_back(agent_id, segment)
            or await self._room.hold_up(agent_id, segment)
            or await self._capping.hold_back(agent_id, segment)
            or await self._funds.hold_up(agent_id, segment)
            or await self._providers.hold_up(agent_id, segment)
        )

    async def _rests(self, agent_id: AgentId, segment: int) -> bool:
        """Whether workers have died under the agent again and again: then it goes on after a pause.
        The worker that ran it is gone, or somebody else would not be told to run it."""
        world = self._world
        agent = await world.store.agent(agent_id)
        if agent is None or agent.state is not State.ACTIVE or agent.segment != segment:
            return False
        history, now = await world.store.log(agent_id), world.clock.now()
        begin = SegmentStarted(at=now, segment=segment, attempt=0, worker=world.worker)
        pause = pause_after_worker(history, begin, await world.store.cut_off_workers())
        if not pause:
            return False
        step = Requeue(
            "its worker died",
            died=Death.WORKER,
            ended_at=fold(history).clock,
            pause_seconds=pause,
        )
        await self._moves.apply(agent, step)
        return True

    async def _close(self, agent: Agent, gate: BreakerGate, result: Result) -> None:
        match result:
            case Ended(end=end):
                await self._close_by_agent(agent, gate, end)
            case Stopped(why=why, summary=summary):
                await self._close_by_stop(agent, gate, why, summary)
            case CannotGoOn(cause=Cause.NO_ACCESS, reason=reason):
                await self._moves.apply(agent, Sleep(Waits.ACCESS, reason))
            case CannotGoOn(cause=cause, reason=reason):
                failure = Failure(cause=cause, at=self._world.clock.now(), reason=reason)
                await self._escalate(agent, failure)
            case Died(reason=reason):
                await self._died(agent, reason)
            case ModelAway(failure=failure):
                await self._providers.failed(agent, failure)
            case GitHubAway():
                await self._hold_up(agent, result)
            case _:
                assert_never(result)

    async def _close_by_agent(self, agent: Agent, gate: BreakerGate, end: SessionEnd) -> None:
        world = self._world
        if isinstance(end, ReviewSubmitted):
            await self._publisher.post_review(agent.id)
        kept = await keep_work(world, agent, is_done=isinstance(end, ReportedComplete))
        history = await world.store.log(agent.id)
        others = await world.store.agents(repository=agent.repository)
        unknown = await self._unknown(agent, end)
        step = step_at_end(agent, end, kept, history, others, world.clock.now(), unknown)
        if hands_over(step) and agent.assignment.verified_by and kept.sha is not None:
            found = await self._verifying.judge(agent, gate, kept.sha)
            if isinstance(found, Stop):
                await self._close_by_stop(agent, gate, found, _summary(end))
                return
            step = step_after(found, step)
        await self._moves.apply(agent, step, kept)
        await self._looking.look_again(agent.id)

    async def _unknown(self, agent: Agent, end: SessionEnd) -> Sequence[int]:
        """Issues that the agent says it waits for, and that do not exist; none of which GitHub does
        not tell now."""
        if not isinstance(end, ReportedBlocked):
            return ()
        here = repository_of(agent)
        try:
            return [
                number
                for number in sorted(set(end.blocked_by))
                if number > 0 and await self._world.github.issue(here, number) is None
            ]
        except GitHubFailed as error:
            log.info("not looked for: %s", error, extra={"agent": str(agent.id)})
            return ()

    async def _escalate(self, agent: Agent, why: StopReason, summary: str = "") -> None:
        history = await self._world.store.log(agent.id)
        await self._moves.apply(agent, escalation(history, why, summary))

    async def _close_by_stop(
        self, agent: Agent, gate: BreakerGate, why: Stop, summary: str
    ) -> None:
        match why:
            case Stop.TRIPPED:
                stop = gate.counters.stop
                assert stop is not None, "a segment stops for good only after the event"
                await self._escalate(agent, stop, summary)
            case Stop.HELD:
                hold = gate.counters.hold
                assert hold is not None, "a segment stops as held only after the event"
                await self._moves.apply(agent, Pause(hold))
            case Stop.DRAINED | Stop.PARENT:
                await self._moves.apply(agent, Requeue("the service was stopped", summary))
            case Stop.BRAKED:
                await self._braking.interrupt(agent, summary)
            case Stop.AWAY:
                failure = gate.missing
                assert failure is not None, "a segment stops as away only after a sub-agent's did"
                await self._providers.failed(agent, failure)
            case Stop.SUPERSEDED:
                log.info("segment was taken over", extra={"agent": str(agent.id)})
                if not await self._stopping.end(agent.id):
                    await self._moves.keep_after_the_end(agent.id)
            case _:
                assert_never(why)

    async def _hold_up(self, agent: Agent, away: GitHubAway) -> None:
        """Nothing has begun: it waits in the queue, and no clock runs."""
        now, history = self._world.clock.now(), await self._world.store.log(agent.id)
        retry_at = try_again_at(history, away, now)
        log.warning(
            "GitHub is away: %s",
            away.reason,
            extra={"agent": str(agent.id), "retry_at": retry_at},
        )
        told = HeldUp(at=now, waits_for=Waits.GIT, why=github_away(away.reason))
        await self._moves.apply(agent, HoldBack(told, retry_at=retry_at))

    async def _died(self, agent: Agent, reason: str) -> None:
        """Give the slot back, try again later; after the last death the next start escalates."""
        history = await self._world.store.log(agent.id)
        log.warning(
            "the runtime died (%d of %d): %s",
            deaths(history).of_runtimes + 1,
            MOST_OF_RUNTIMES,
            reason,
            extra={"agent": str(agent.id), "segment": agent.segment},
        )
        pause_seconds = pause_after_runtime(history)
        step = Requeue(reason, died=Death.RUNTIME, pause_seconds=pause_seconds)
        await self._moves.apply(agent, step)


def _summary(end: SessionEnd) -> str:
    return end.summary if isinstance(end, ReportedComplete | ReviewSubmitted) else ""


def _unanswered_report(
    history: Sequence[AgentEvent],
) -> Report | None:
    """The report of an attempt that died before anything came of it. On another machine the agent
    is asked anew."""
    for event in reversed(history):
        match event:
            case Reported(tool=ClosingTool.REPORT_COMPLETE, text=text):
                return ReportedComplete(text)
            case Reported(tool=ClosingTool.SUBMIT_REVIEW, text=text, comments=comments):
                return ReviewSubmitted(text, comments)
            case Reported(tool=ClosingTool.REPORT_BLOCKED, text=text, blocked_by=blockers):
                return ReportedBlocked(text, blockers)
            case Slept() | Woken() | SentBack() | TurnAsked() | FilesMoved():
                return None
            case _:
                continue
    return None
