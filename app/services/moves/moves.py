"""Apply a step: keep the work first, then change the state, then let the world see it.

Every state change carries the work that follows from it in the same transaction, so nothing is
forgotten when the process dies in between. Nobody else changes the state of an agent.
"""

import logging
from collections.abc import Sequence
from dataclasses import replace
from typing import Final

from app.core.agents.agent import Agent, AgentId
from app.core.agents.clock_set import clock_set
from app.core.agents.counters import fold
from app.core.agents.events import AgentEvent, ClockSet, Failed, TakenAway, Tripped
from app.core.agents.lifecycle import State
from app.core.agents.steps import Begin, Cancel, Escalate, HoldBack, Step, TakeAway
from app.core.agents.transition import Transition, decided, keeps_work, transition
from app.core.agents.work import KeptWork, Publish
from app.core.rules.caps import Caps, Full
from app.services.money.funding import Money
from app.services.moves import agent_log
from app.services.moves.glances import taken
from app.services.moves.kept_work import keep_work, keep_work_or_branch
from app.services.world import World, clock_lead, page_of

MOST_LOOKS: Final = 3
"""How often an agent that somebody else is moving on is looked at again."""

log = logging.getLogger("squadron.agents")


async def before_it_begins(world: World, agent: Agent, step: HoldBack) -> HoldBack:
    """Of a segment that is not to begin: what a worker began that is gone ended when it was last
    heard of."""
    if agent.state is not State.ACTIVE:
        return step
    last_heard = fold(await world.store.log(agent.id)).clock
    return replace(step, ended_at=last_heard or step.told.at)


def _log_move(change: Transition, moved: Agent | None) -> None:
    log.info(
        "agent moved" if moved else "agent had moved on",
        extra={
            "agent": str(change.before.id),
            "signal": change.signal.value,
            "state": (moved or change.before).state.value,
        },
    )


class Moves:
    """The only service that changes what state an agent is in."""

    def __init__(self, world: World, money: Money) -> None:
        self._world = world
        self._money = money

    async def apply(
        self, agent: Agent, step: Step, kept: KeptWork | None = None, *, rule: str = ""
    ) -> Agent | None:
        """Do it, if the agent is still as it was seen; None if it has moved on. `kept`: its work,
        if that was taken out for this step; else it is now. `rule`: who wants it, if a look at
        the agent has led to it.

        Whose work is taken away cannot begin or go on from then on, whoever dies. What runs is
        stopped before anything is pushed: a remote that hangs must not let it work on. So who is
        at work is ended by its own segment; all others end here.

        Raises `ImpossibleTransition` for a step that the agent's state does not allow.
        """
        if kept is None and keeps_work(agent, step):
            keep = keep_work_or_branch if isinstance(step, Escalate) else keep_work
            kept = await keep(self._world, agent)
        store, now = self._world.store, self._world.clock.now()
        history = await store.log(agent.id)
        change = self._change(agent, step, kept, history)
        if rule:
            change = replace(change, events=(*change.events, decided(rule, step, now)))
        seen = await taken(change.after, (*history, *change.events), now)
        moved = await store.move(change, seen)
        _log_move(change, moved)
        if moved is None:
            return None
        await self._account(moved, change.events)
        if isinstance(step, TakeAway) and moved.worker is None:
            return await self.end_taken_away(moved.id)
        return moved

    async def begin(self, agent_id: AgentId, segment: int) -> Agent | Full | None:
        """Make a queued segment ACTIVE, or once more after a death; None if the agent has moved
        on, so that there is nothing to do; or the cap that keeps it from beginning."""
        return await self._begin(agent_id, segment, self._world.house.caps)

    async def begin_sub_agent(self, agent_id: AgentId, segment: int) -> Agent | None:
        """As `begin`; no cap concerns it, for it is part of its parent's work."""
        begun = await self._begin(agent_id, segment, Caps())
        assert not isinstance(begun, Full), "there is no cap"
        return begun

    async def _begin(self, agent_id: AgentId, segment: int, caps: Caps) -> Agent | Full | None:
        for _ in range(MOST_LOOKS):
            agent = await self._world.store.agent(agent_id)
            is_due = agent is not None and agent.state in (State.QUEUED, State.ACTIVE)
            if agent is None or not is_due or agent.segment != segment:
                return None
            step = Begin(self._world.worker, clock_lead(self._world.clock))
            change = self._change(agent, step, None, await self._world.store.log(agent_id))
            begun = await self._world.store.begin(change, caps)
            if isinstance(begun, Full):
                return begun
            _log_move(change, begun)
            if begun is not None:
                return begun
        return None

    def _change(
        self, agent: Agent, step: Step, kept: KeptWork | None, history: Sequence[AgentEvent]
    ) -> Transition:
        """The step, and that the clock was set, if it was."""
        change = transition(agent, step, kept, self._world.clock.now())
        if told := self._clock_set(agent, history):
            change = replace(change, events=(told, *change.events))
        return change

    async def end_taken_away(self, agent_id: AgentId) -> Agent | None:
        """Keep the work of an agent that was taken away, and of which nothing runs any more, so
        that the check stands on its head; then it is CANCELLED. None if there is nothing to end."""
        agent = await self._world.store.agent(agent_id)
        if agent is None or agent.state is not State.STOPPING:
            return None
        history = await self._world.store.log(agent_id)
        told = next(event for event in history if isinstance(event, TakenAway))
        return await self.apply(agent, Cancel(told))

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
            await self._world.engine.enqueue(Publish(agent.id, f"kept:{kept.sha}"))

    def _clock_set(self, agent: Agent, history: Sequence[AgentEvent]) -> ClockSet | None:
        """That the clock was set since the last event of a segment that runs here."""
        if agent.worker != self._world.worker:
            return None
        counters, clock = fold(history), self._world.clock
        return clock_set(counters, clock_lead(clock), clock.now())

    async def _account(self, agent: Agent, events: tuple[AgentEvent, ...]) -> None:
        """Tell the ledger what the agent has spent, and the log what has stopped it, and what it
        has used at its end."""
        history = await self._world.store.log(agent.id)
        await self._money.settle(agent, history)
        for event in events:
            if isinstance(event, Tripped | Failed):
                agent_log.tell(page_of(self._world, agent), agent, fold(history), event)
        if agent.is_final:
            agent_log.tell_end(agent, fold(history))
