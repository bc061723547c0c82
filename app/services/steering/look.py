"""One look at one agent: gather what the decision needs, decide, apply.

A delivery says only whom to look at, and a pass looks at everybody: both look in this way, so that
what nobody told ends like what was told.
"""

import logging
from dataclasses import replace
from typing import Final

from app.core.agents.agent import Agent, AgentId
from app.core.agents.counters import fold
from app.core.agents.events import Waits
from app.core.agents.lifecycle import LIVE, State
from app.core.agents.steps import Cancel, Escalate, Sleep, Step, WakeUp
from app.core.breaker.clocks import waits_since
from app.core.steering.blockers import last_of_circle
from app.core.steering.next_step import Decision, Need, next_step
from app.core.steering.seen import UNKNOWN, Fact, Facts, Seen
from app.ports import GitHubFailed
from app.services.moves.brakes import Braking
from app.services.moves.moves import MOST_LOOKS, Moves
from app.services.moves.stopping import Stopping
from app.services.steering.facts import NOTHING_LISTED, Inquiry, Listed
from app.services.steering.feedback import Feedback
from app.services.steering.missing import Missing
from app.services.steering.ownership import Overriding
from app.services.steering.steadiness import Steadiness
from app.services.world import World, segment_marker

NOTHING_KNOWN: Final = Facts()

log = logging.getLogger("squadron.agents")


class MovesOn(Exception):
    """Others moved the agent on whenever it was looked at; it has to be looked at once more."""


class Looking:
    """Looks at agents, whoever says that somebody should."""

    def __init__(
        self,
        world: World,
        moves: Moves,
        stopping: Stopping,
        braking: Braking,
        ownership: Overriding,
        feedback: Feedback,
        missing: Missing,
    ) -> None:
        self._world = world
        self._moves = moves
        self._stopping = stopping
        self._braking = braking
        self._ownership = ownership
        self._feedback = feedback
        self._missing = missing
        self._steadiness = Steadiness(world.clock)

    async def look(
        self, agent_id: AgentId, known: Facts = NOTHING_KNOWN, listed: Listed = NOTHING_LISTED
    ) -> Step | None:
        """The step that was taken; None: there was nothing to do. What is not `known` is asked for
        if the decision needs it. Reviews that wake nobody are kept for the agent. May raise
        `GitHubFailed` and `MovesOn`."""
        step = await self._step(agent_id, known, listed)
        if known.feedback is UNKNOWN and not isinstance(step, WakeUp):
            await self._keep_reviews(agent_id)
        return step

    async def _keep_reviews(self, agent_id: AgentId) -> None:
        agent = await self._world.store.agent(agent_id)
        if agent is not None and agent.parent is None:
            await self._feedback.write_down(agent, await self._world.store.log(agent_id))

    async def _step(self, agent_id: AgentId, known: Facts, listed: Listed) -> Step | None:
        for _ in range(MOST_LOOKS):
            agent = await self._world.store.agent(agent_id)
            if agent is None or agent.is_final or agent.parent is not None:
                return None
            decision = await self._decided(agent, known, listed)
            if decision is None:
                return None
            step, rule = decision.step, decision.rule
            if agent.state is State.ACTIVE and isinstance(step, Escalate | Sleep):
                return step if await self._stopping.stop(agent, step, rule) else None
            if isinstance(step, Cancel) and agent.worker is not None:  # what a dead worker left
                marker = segment_marker(self._world, agent.id, agent.segment)
                await self._world.processes.kill_marked(marker)
            if await self._moves.apply(agent, step, rule=rule) is not None:
                return step
        raise MovesOn(f"{agent_id} was moved on {MOST_LOOKS} times while it was looked at")

    async def look_again(self, agent_id: AgentId) -> None:
        """Look at one whose own doing has changed what counts for it. What GitHub does not tell
        now reconciliation asks for again."""
        try:
            await self.look(agent_id)
            last = await self._last_of_circle(agent_id)
            if last is not None and last != agent_id:
                await self.look(last)
        except GitHubFailed as error:
            log.info("not looked at: %s", error, extra={"agent": str(agent_id)})

    async def _last_of_circle(self, agent_id: AgentId) -> AgentId | None:
        agent = await self._world.store.agent(agent_id)
        if agent is None or agent.waits_for is not Waits.BLOCKER:
            return None
        here = await self._world.store.agents(repository=agent.repository, states=LIVE)
        last = last_of_circle(agent, here)
        return None if last is None else last.id

    async def _decided(self, agent: Agent, known: Facts, listed: Listed) -> Decision | None:
        history = await self._world.store.log(agent.id)
        counters = fold(history)
        is_steady = self._steadiness.is_given()
        seen = Seen(
            now=self._world.clock.now(),
            history=history,
            counters=counters,
            facts=known,
            braked_for=await self._braking.time_under(agent, waits_since(agent, counters)),
            is_steady=is_steady,
        )
        inquiry = Inquiry(
            self._world, self._ownership, self._feedback, self._missing, agent, listed
        )
        for _ in range(len(Fact) + 1):
            answer = next_step(agent, seen)
            if not isinstance(answer, Need):
                return answer
            seen = replace(seen, facts=await inquiry.ask(answer.fact, seen))
        raise AssertionError(f"{agent.id}: a fact was asked for twice")
