"""The end of a segment: keep the work first, then change the state, then let the world see it.

Every state change carries the work that follows from it in the same transaction, so nothing is
forgotten when the process dies in between.
"""

import logging
from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime
from typing import Final

from app.core.agents.agent import Agent, AgentId
from app.core.agents.counters import fold
from app.core.agents.events import (
    AgentEvent,
    Braked,
    BrakeLifted,
    Finished,
    HeldUp,
    Kept,
    LetOn,
    SegmentEnded,
    Slept,
    Summarised,
    TakenAway,
    Waits,
    Woken,
    stopped_for_good,
)
from app.core.agents.lifecycle import Signal, State
from app.core.agents.stops import Cause, Failure, Hold, StopReason
from app.core.effects.triage import taken_along
from app.core.steering.blockers import circle
from app.core.steering.feedback import conflict_stays_words, was_told_of_a_conflict
from app.ports import Changes, KeptWork, Work
from app.services.money.funding import Money
from app.services.moves import limit_log as limitlog
from app.services.moves.kept_work import keep_work, keep_work_or_branch, taken_out
from app.services.world import World, repository_of

MOST_SUMMARY_CHARACTERS: Final = 8_000
MOST_WHY_CHARACTERS: Final = 20_000
OURSELVES: Final = "squadron"
"""Who is named when GitHub's state, not a person, set something in motion."""

log = logging.getLogger("squadron.agents")


class Closing:
    """Ends segments and agents; the only service that moves an agent out of ACTIVE."""

    def __init__(self, world: World, money: Money) -> None:
        self._world = world
        self._money = money

    async def complete(self, agent: Agent, summary: str) -> None:
        """Hand over by a pull request, or complete at once if nothing was changed."""
        kept = await keep_work(self._world, agent)
        history = await self._world.store.log(agent.id)
        if kept.diverged and not kept.was_told:
            await self._tell_of_others(agent, summary, kept)
        elif kept.diverged:
            await self.escalate(agent, self._conflict(kept.problem), summary)
        elif kept.conflicts and was_told_of_a_conflict(history):
            words = conflict_stays_words(agent.default_branch, kept.conflicts)
            await self.escalate(agent, self._conflict(words), summary)
        elif not kept.is_pushed or (kept.problem and not kept.has_changes):
            await self._sleep(agent, Waits.ANSWER, (), f"Done, but {kept.problem}", summary, kept)
        elif kept.has_changes:
            await self._sleep(agent, Waits.REVIEW, (), "handed over", summary, kept)
        else:
            now = self._world.clock.now()
            await self._move(
                agent,
                Signal.FINISHED,
                [*self._ended("nothing to change", summary, kept), Finished(at=now, why=summary)],
                Changes(summary=_bounded(summary), sha=kept.verified),
            )

    async def reviewed(self, agent: Agent, summary: str) -> None:
        """A review is posted, or will be as soon as GitHub takes it: the work is done."""
        kept = await keep_work(self._world, agent)
        now = self._world.clock.now()
        ended = self._ended("review submitted", summary, kept)
        await self._move(
            agent,
            Signal.FINISHED,
            [*ended, Finished(at=now, why="The review was submitted.")],
            Changes(summary=_bounded(summary)),
        )

    async def _tell_of_others(self, agent: Agent, summary: str, kept: KeptWork) -> None:
        """Let the agent resolve what others pushed meanwhile; it learns of it when it goes on."""
        asleep = await self._sleep(agent, Waits.ANSWER, (), kept.problem, summary, kept)
        if asleep is not None:
            await self.wake(asleep, f"Your work could not be pushed: {kept.problem}", OURSELVES)

    def _conflict(self, words: str) -> Failure:
        """What the agent was told of once and has not resolved."""
        return Failure(cause=Cause.CONFLICT, at=self._world.clock.now(), reason=words)

    async def take_along(self, agent: Agent, by: AgentId) -> bool:
        """End an agent that has not begun: another one looks at its issue."""
        now = self._world.clock.now()
        ended = Finished(at=now, why=taken_along(by))
        return await self._move(agent, Signal.FINISHED, [ended], Changes()) is not None

    async def block(self, agent: Agent, reason: str, blocked_by: Sequence[int]) -> None:
        """Sleep until the blockers are closed; refuse to wait in a circle."""
        blockers = tuple(sorted({number for number in blocked_by if number > 0}))
        if not blockers:
            await self.ask_people(agent, reason)
            return
        others = await self._world.store.agents(repository=agent.repository)
        round_trip = circle(agent.id.issue, blockers, others)
        if round_trip:
            await self.escalate(agent, self._in_circle(agent, round_trip), reason)
            return
        kept = await keep_work(self._world, agent)
        asleep = await self._sleep(agent, Waits.BLOCKER, blockers, reason, reason, kept)
        if asleep is not None and not await self.open_blockers(asleep):
            await self.wake(asleep, "All blockers were closed already.", OURSELVES)

    async def ask_people(self, agent: Agent, question: str) -> None:
        """Sleep until a trusted person answers on the issue."""
        kept = await keep_work(self._world, agent)
        await self._sleep(agent, Waits.ANSWER, (), question, question, kept)

    async def wait_for_access(self, agent: Agent, why: str) -> Agent | None:
        """The App is not let in: sleep until it is. Work that cannot be pushed stays on disk."""
        kept = await keep_work(self._world, agent)
        return await self._sleep(agent, Waits.ACCESS, (), why, "", kept)

    async def interrupt(
        self, agent: Agent, summary: str, why: str, braked: Braked | None = None
    ) -> None:
        """Keep the work; who works again goes on with the next segment."""
        kept = await keep_work(self._world, agent)
        ended = self._ended(why, summary, kept)
        await self._move(
            agent,
            Signal.INTERRUPTED,
            ended if braked is None else [*ended, braked],
            Changes(sha=kept.verified),
        )

    async def hold_back(self, agent: Agent, braked: Braked) -> Agent | None:
        """A brake holds an agent that waits in the queue; what it did before is kept first."""
        if agent.sha is None:
            return await self._move(agent, Signal.INTERRUPTED, [braked], Changes())
        kept = await keep_work(self._world, agent)
        events: list[AgentEvent] = [self._taken_out(kept), braked]
        return await self._move(agent, Signal.INTERRUPTED, events, Changes(sha=kept.verified))

    async def hold_up(
        self,
        agent: Agent,
        told: HeldUp,
        retry_at: datetime | None = None,
        missing_provider: str | None = None,
    ) -> Agent | None:
        """What the agent needs is lacking: it waits in the queue, and looks again at `retry_at` if
        nobody lets it on before. What a worker began that is gone ended when it was last heard
        of."""
        ended: list[AgentEvent] = []
        if agent.state is State.ACTIVE:
            last_heard = fold(await self._world.store.log(agent.id)).clock
            ended = [SegmentEnded(at=last_heard or told.at, why=told.why)]
        changes = _held(told, retry_at, missing_provider)
        return await self._move(agent, Signal.INTERRUPTED, [*ended, told], changes)

    async def interrupt_held_up(
        self, agent: Agent, told: HeldUp, retry_at: datetime, missing_provider: str
    ) -> None:
        """What the agent needs is lacking while it works: its work is kept, and it waits."""
        kept = await keep_work(self._world, agent)
        now = self._world.clock.now()
        events = [*self._ended(told.why, "", kept), replace(told, at=now)]
        changes = replace(_held(told, retry_at, missing_provider), sha=kept.verified)
        await self._move(agent, Signal.INTERRUPTED, events, changes)

    async def go_on(self, agent: Agent, told: BrakeLifted | LetOn) -> Agent | None:
        """What an agent waited for in the queue is over."""
        return await self._move(agent, Signal.INTERRUPTED, [told], Changes())

    async def pause(self, agent: Agent, hold: Hold) -> Agent | None:
        """A limit asks a human: keep work and session, and wait; no clock but the pause's runs."""
        kept = await keep_work(self._world, agent)
        return await self._move(
            agent,
            Signal.NEEDS_RAISE,
            self._ended(hold.reason, "", kept),
            Changes(waits_for=Waits.RAISE, sha=kept.verified),
        )

    async def requeue(self, agent: Agent, why: str) -> Agent | None:
        """Nobody works on the present segment any more: go on with the next one.

        It ended when it was last heard of, so that the time without a worker is not counted.
        """
        last_heard = fold(await self._world.store.log(agent.id)).clock
        ended = SegmentEnded(at=last_heard or self._world.clock.now(), why=why, died=True)
        return await self._move(agent, Signal.INTERRUPTED, [ended], Changes())

    async def try_again(self, agent: Agent, why: str, pause_seconds: float) -> None:
        """Its runtime died: go on with the next segment after a pause that holds no slot."""
        ended = SegmentEnded(at=self._world.clock.now(), why=why, died=True)
        await self._move(agent, Signal.INTERRUPTED, [ended], Changes(pause_seconds=pause_seconds))

    async def escalate(self, agent: Agent, why: StopReason, summary: str) -> Agent | None:
        """Stop an agent for good. Whichever layer saw it first, this runs once.

        An agent is stopped at most once: what its log says already counts, not what was seen
        later.
        """
        kept = await keep_work_or_branch(self._world, agent)
        history = await self._world.store.log(agent.id)
        first = fold(history).stop
        told = [] if first is not None else [stopped_for_good(why, self._world.clock.now())]
        stop = first or why
        moved = await self._move(
            agent,
            Signal.TRIPPED,
            [*told, *self._ended(stop.reason, summary, kept)],
            Changes(
                stop=stop,
                summary=_bounded(summary or _said_before(history)),
                sha=kept.verified,
            ),
        )
        for event in told if moved else ():
            limitlog.tell(agent, fold((*history, event)), event)
        return moved

    async def cancel(
        self, agent: Agent, why: str, said: str = "", since: datetime | None = None
    ) -> Agent | None:
        """A human took the work away; None if the agent has moved on. `said` names the words that
        told so; `since`: when it happened on GitHub.

        From here on it cannot begin or go on, whoever dies. What runs is stopped before anything
        is pushed: a remote that hangs must not let it work on. So who is ACTIVE is ended by its
        own segment, as soon as that has stopped.
        """
        taken = agent
        if agent.taken_away_at is None:
            told = TakenAway(at=self._world.clock.now(), why=why, said=said, since=since)
            marked = await self._world.store.take_away(agent, told)
            if marked is None:
                return None
            taken = marked
            await self._world.engine.enqueue(Work.to_publish(agent.id, "taken away"))
        return taken if taken.state is State.ACTIVE else await self.end_taken_away(taken.id)

    async def end_taken_away(self, agent_id: AgentId) -> Agent | None:
        """Keep the work of an agent that was taken away, and of which nothing runs any more, so
        that the check stands on its head; then it is CANCELLED. None if there is nothing to end."""
        agent = await self._world.store.agent(agent_id)
        if agent is None or agent.is_final or agent.taken_away_at is None:
            return None
        history = await self._world.store.log(agent_id)
        told = next(event for event in history if isinstance(event, TakenAway))
        kept = await keep_work(self._world, agent)
        now = self._world.clock.now()
        ended = Finished(at=now, why=told.why, said=told.said, since=told.since)
        return await self._move(
            agent,
            Signal.TAKEN_AWAY,
            [*self._ended("cancelled", "", kept), ended],
            Changes(sha=kept.verified),
        )

    async def keep_after_the_end(self, agent_id: AgentId) -> None:
        """Keep what an agent did between its end from outside and the end of its last process.

        A running segment calls this when it sees that its agent was moved on.
        """
        agent = await self._world.store.agent(agent_id)
        if agent is None or not agent.is_final:
            return
        kept = await keep_work(self._world, agent)
        if kept.is_pushed and kept.sha is not None and kept.sha != agent.sha:
            await self._world.store.note_head(agent.id, None, kept.sha)
            await self._world.engine.enqueue(Work.to_publish(agent.id, f"kept:{kept.sha}"))

    async def finish(self, agent: Agent, why: str, since: datetime | None = None) -> Agent | None:
        """Merged, `since` then, or waited for long enough."""
        ended = Finished(at=self._world.clock.now(), why=why, since=since)
        return await self._move(agent, Signal.FINISHED, [ended], Changes())

    async def wake(
        self,
        agent: Agent,
        why: str,
        by: str,
        said: str | None = None,
        feedback: tuple[str, ...] = (),
    ) -> Agent | None:
        """Queue a sleeping agent's next segment; `said` names the words that did it, `feedback`
        what of its pull request makes it a round of review."""
        now, why = self._world.clock.now(), why[:MOST_WHY_CHARACTERS]
        return await self._move(
            agent,
            Signal.WOKEN,
            [Woken(at=now, why=why, by=by, said=said, feedback=feedback)],
            Changes(),
        )

    async def open_blockers(self, agent: Agent) -> tuple[int, ...]:
        """Which of the agent's blockers are still open. May raise `GitHubFailed`."""
        repository = repository_of(agent)
        still_open = []
        for number in agent.blocked_by:
            issue = await self._world.github.issue(repository, number)
            if issue is not None and issue.is_open:
                still_open.append(number)
        return tuple(still_open)

    async def _sleep(
        self,
        agent: Agent,
        waits_for: Waits,
        blocked_by: tuple[int, ...],
        reason: str,
        summary: str,
        kept: KeptWork,
    ) -> Agent | None:
        slept = Slept(
            at=self._world.clock.now(),
            waits_for=waits_for,
            blocked_by=blocked_by,
            reason=_bounded(reason),
        )
        return await self._move(
            agent,
            Signal.WAITS,
            [*self._ended(f"waits for {waits_for}", summary, kept), slept],
            Changes(
                waits_for=waits_for,
                blocked_by=blocked_by,
                summary=_bounded(summary),
                sha=kept.sha,
            ),
        )

    def _ended(self, why: str, summary: str, kept: KeptWork) -> list[AgentEvent]:
        taken_out = self._taken_out(kept)
        events: list[AgentEvent] = [taken_out, SegmentEnded(at=taken_out.at, why=why[:500])]
        if summary:
            events.insert(0, Summarised(at=taken_out.at, text=_bounded(summary)))
        return events

    def _taken_out(self, kept: KeptWork) -> Kept:
        return taken_out(kept, self._world.clock.now())

    def _in_circle(self, agent: Agent, path: tuple[int, ...]) -> Failure:
        around = " → ".join(f"#{number}" for number in (agent.id.issue, *path))
        return Failure(
            cause=Cause.BLOCKED_IN_CIRCLE,
            at=self._world.clock.now(),
            reason=f"The agent would wait in a circle: {around}.",
        )

    async def _move(
        self, agent: Agent, signal: Signal, events: Sequence[AgentEvent], changes: Changes
    ) -> Agent | None:
        occasion = f"{signal}:{agent.segment}:{agent.segment_attempts}"
        follow = Work.to_publish(agent.id, occasion)
        moved = await self._world.store.move(agent, signal, events, changes, [follow])
        if moved is not None:
            await self._money.settle(moved, await self._world.store.log(agent.id))
        log.info(
            "agent moved" if moved else "agent had moved on",
            extra={
                "agent": str(agent.id),
                "signal": signal.value,
                "state": (moved.state if moved else State(agent.state)).value,
            },
        )
        return moved


def _held(told: HeldUp, retry_at: datetime | None, missing_provider: str | None) -> Changes:
    pause = max((retry_at - told.at).total_seconds(), 0) if retry_at is not None else 0
    return Changes(
        waits_for=told.waits_for,
        retry_at=retry_at,
        missing_provider=missing_provider,
        pause_seconds=pause,
    )


def _said_before(history: Sequence[AgentEvent]) -> str:
    """The agent's own last words; a successor's row still holds its predecessor's."""
    said = [event.text for event in history if isinstance(event, Summarised)]
    return said[-1] if said else ""


def _bounded(text: str) -> str:
    return text[:MOST_SUMMARY_CHARACTERS]
