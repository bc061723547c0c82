"""The end of a segment: keep the work first, then change the state, then let the world see it.

Every state change carries the work that follows from it in the same transaction, so nothing is
forgotten when the process dies in between.
"""

import logging
from collections.abc import Sequence
from typing import Final

from app.core.agent import Agent, AgentId
from app.core.blocking import circle
from app.core.counters import fold
from app.core.events import (
    AgentEvent,
    Cause,
    Finished,
    Kept,
    Layer,
    SegmentEnded,
    Slept,
    Summarised,
    Trip,
    Tripped,
    Waits,
    Woken,
)
from app.core.lifecycle import Signal, State
from app.core.redact import redact
from app.ports import Changes, GitHubFailed, KeptWork, Work, WorkspaceFailed
from app.services.world import World, checkout_order, repository_of

MOST_SUMMARY_CHARACTERS: Final = 8_000
MOST_WHY_CHARACTERS: Final = 20_000
OURSELVES: Final = "squadron"
"""Who is named when GitHub's state, not a person, set something in motion."""

log = logging.getLogger("squadron.agents")


class Closing:
    """Ends segments and agents; the only service that moves an agent out of ACTIVE."""

    def __init__(self, world: World) -> None:
        self._world = world

    async def complete(self, agent: Agent, summary: str) -> None:
        """Hand over by a pull request, or complete at once if nothing was changed."""
        kept = await self._keep(agent)
        if not kept.is_pushed or (kept.problem and not kept.has_changes):
            await self._sleep(agent, Waits.ANSWER, (), f"Done, but {kept.problem}", summary, kept)
        elif kept.has_changes:
            await self._sleep(agent, Waits.REVIEW, (), "handed over", summary, kept)
        else:
            now = self._world.clock.now()
            await self._move(
                agent,
                Signal.FINISHED,
                [*self._ended("nothing to change", summary, kept), Finished(at=now, why=summary)],
                Changes(summary=_bounded(summary), sha=kept.sha),
            )

    async def block(self, agent: Agent, reason: str, blocked_by: Sequence[int]) -> None:
        """Sleep until the blockers are closed; refuse to wait in a circle."""
        blockers = tuple(sorted({number for number in blocked_by if number > 0}))
        if not blockers:
            await self.ask_people(agent, reason)
            return
        others = await self._world.store.agents(repository=agent.id.repository)
        round_trip = circle(agent.id.issue, blockers, others)
        if round_trip:
            await self.escalate(agent, self._in_circle(agent, round_trip), reason)
            return
        kept = await self._keep(agent)
        asleep = await self._sleep(agent, Waits.BLOCKER, blockers, reason, reason, kept)
        if asleep is not None and not await self.open_blockers(asleep):
            await self.wake(asleep, "All blockers were closed already.", OURSELVES)

    async def ask_people(self, agent: Agent, question: str) -> None:
        """Sleep until a trusted person answers on the issue."""
        kept = await self._keep(agent)
        await self._sleep(agent, Waits.ANSWER, (), question, question, kept)

    async def interrupt(self, agent: Agent, summary: str) -> None:
        """The process drains: keep the work; the next start goes on with the next segment."""
        kept = await self._keep(agent)
        await self._move(
            agent,
            Signal.INTERRUPTED,
            self._ended("the service was stopped", summary, kept),
            Changes(sha=kept.sha),
        )

    async def requeue(self, agent: Agent, why: str) -> Agent | None:
        """Nobody works on the present segment any more: go on with the next one.

        It ended when it was last heard of, so that the time without a worker is not counted.
        """
        last_heard = fold(await self._world.store.log(agent.id)).clock
        ended = SegmentEnded(at=last_heard or self._world.clock.now(), why=why, died=True)
        return await self._move(agent, Signal.INTERRUPTED, [ended], Changes())

    async def escalate(self, agent: Agent, trip: Trip, summary: str) -> Agent | None:
        """Stop an agent for good. Whichever layer saw it first, this runs once.

        An agent trips at most once: what its log says already counts, not what was seen later.
        """
        kept = await self._keep_or_branch(agent)
        history = await self._world.store.log(agent.id)
        first = fold(history).trip
        trips = [] if first is not None else [Tripped(at=self._world.clock.now(), trip=trip)]
        trip = first or trip
        return await self._move(
            agent,
            Signal.TRIPPED,
            [*trips, *self._ended(trip.reason, summary, kept)],
            Changes(
                trip=trip,
                summary=_bounded(summary or _said_before(history)),
                sha=kept.sha,
            ),
        )

    async def cancel(self, agent: Agent, why: str) -> Agent | None:
        """A human took the work away; it is kept first, so that the check stands on its head."""
        kept = await self._keep(agent)
        now = self._world.clock.now()
        return await self._move(
            agent,
            Signal.TAKEN_AWAY,
            [*self._ended("cancelled", "", kept), Finished(at=now, why=why)],
            Changes(sha=kept.sha),
        )

    async def keep_after_the_end(self, agent_id: AgentId) -> None:
        """Keep what an agent did between its end from outside and the end of its last process.

        A running segment calls this when it sees that its agent was moved on.
        """
        agent = await self._world.store.agent(agent_id)
        if agent is None or not agent.is_final:
            return
        kept = await self._keep(agent)
        if kept.is_pushed and kept.sha is not None and kept.sha != agent.sha:
            await self._world.store.note_head(agent.id, None, kept.sha)
            await self._world.engine.enqueue(Work.to_publish(agent.id, f"kept:{kept.sha}"))

    async def finish(self, agent: Agent, why: str) -> Agent | None:
        """Merged, or waited for long enough."""
        now = self._world.clock.now()
        return await self._move(agent, Signal.FINISHED, [Finished(at=now, why=why)], Changes())

    async def wake(self, agent: Agent, why: str, by: str) -> Agent | None:
        """Queue a sleeping agent's next segment."""
        now = self._world.clock.now()
        return await self._move(
            agent,
            Signal.WOKEN,
            [Woken(at=now, why=why[:MOST_WHY_CHARACTERS], by=by)],
            Changes(note=why),
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

    async def _keep(self, agent: Agent) -> KeptWork:
        try:
            order = await checkout_order(self._world, agent)
        except GitHubFailed as error:
            return KeptWork(None, False, f"GitHub did not answer ({error}); nothing was pushed.")
        return await self._world.workspace.keep(
            order, f"Work in progress on #{agent.id.issue} ({agent.id.role})"
        )

    async def _keep_or_branch(self, agent: Agent) -> KeptWork:
        """As `_keep`; an agent that was stopped before it had a branch gets one, for its check."""
        kept = await self._keep(agent)
        if kept.sha is not None or agent.sha is not None:
            return kept
        try:
            order = await checkout_order(self._world, agent)
            checkout = await self._world.workspace.prepare(order)
        except (GitHubFailed, WorkspaceFailed) as error:
            return KeptWork(None, False, f"The branch could not be created: {error}")
        return KeptWork(checkout.head_sha, True)

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
        now = self._world.clock.now()
        events: list[AgentEvent] = [
            Kept(
                at=now,
                sha=kept.sha,
                pushed=kept.is_pushed,
                problem=redact(kept.problem),
                commits=kept.commits,
            ),
            SegmentEnded(at=now, why=why[:500]),
        ]
        if summary:
            events.insert(0, Summarised(at=now, text=_bounded(summary)))
        return events

    def _in_circle(self, agent: Agent, path: tuple[int, ...]) -> Trip:
        around = " → ".join(f"#{number}" for number in (agent.id.issue, *path))
        return Trip(
            limit=Cause.BLOCKED_IN_CIRCLE.value,
            observed=None,
            maximum=None,
            layer=Layer.HOOK,
            at=self._world.clock.now(),
            reason=f"The agent would wait in a circle: {around}.",
        )

    async def _move(
        self, agent: Agent, signal: Signal, events: Sequence[AgentEvent], changes: Changes
    ) -> Agent | None:
        occasion = f"{signal}:{agent.segment}:{agent.segment_attempts}"
        follow = Work.to_publish(agent.id, occasion)
        moved = await self._world.store.move(agent, signal, events, changes, [follow])
        log.info(
            "agent moved" if moved else "agent had moved on",
            extra={
                "agent": str(agent.id),
                "signal": signal.value,
                "state": (moved.state if moved else State(agent.state)).value,
            },
        )
        return moved


def _said_before(history: Sequence[AgentEvent]) -> str:
    """The agent's own last words; a successor's row still holds its predecessor's."""
    said = [event.text for event in history if isinstance(event, Summarised)]
    return said[-1] if said else ""


def _bounded(text: str) -> str:
    return redact(text)[:MOST_SUMMARY_CHARACTERS]
