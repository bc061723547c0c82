"""Caps on how many agents are at work at once: who comes while one is reached waits in the queue.

Whether a cap is reached is decided where the agent begins, in the transaction that begins it: two
workers cannot both take the last place. Whoever stops working lets others on.
"""

from app.core.agents.agent import Agent, AgentId
from app.core.agents.caps import AT_WORK, may_go_on, reached
from app.core.agents.events import HeldUp, LetOn, Waits
from app.core.agents.lifecycle import State
from app.core.agents.steps import HoldBack, LetGoOn
from app.core.rules.caps import Full
from app.core.words.refusals import cap_reached
from app.services.moves.moves import Moves
from app.services.world import World


class Capping:
    """Holds agents back while a cap is reached, and lets them on."""

    def __init__(self, world: World, moves: Moves) -> None:
        self._world = world
        self._moves = moves

    async def hold_back(self, agent_id: AgentId, segment: int) -> bool:
        """Whether a segment must not begin now; its agent is told why, once."""
        agent = await self._world.store.agent(agent_id)
        if agent is None or agent.segment != segment or agent.state is not State.QUEUED:
            return False
        caps = self._world.house.caps
        if not caps.concern(agent.id.role):
            return False
        full = reached(caps, agent, await self._world.store.agents(states=AT_WORK))
        if full is not None:
            await self.hold(agent_id, segment, full)
        return full is not None

    async def hold(self, agent_id: AgentId, segment: int, full: Full) -> None:
        """Let an agent wait that cannot begin, unless it has moved on."""
        agent = await self._world.store.agent(agent_id)
        if agent is None or agent.segment != segment or agent.state is not State.QUEUED:
            return
        if agent.waits_for is Waits.CAP:
            return
        told = HeldUp(at=self._world.clock.now(), waits_for=Waits.CAP, why=cap_reached(full))
        await self._moves.apply(agent, HoldBack(told))
        await self.let_on()  # who has stopped working meanwhile did not see that this one waits

    async def let_on(self) -> list[Agent]:
        """Queue those again for whom there is a place; who they are."""
        store, caps = self._world.store, self._world.house.caps
        held = await store.agents(states=frozenset({State.QUEUED}), waits_for=Waits.CAP)
        if not held:
            return []
        others = await store.agents(states=AT_WORK | {State.QUEUED})
        let_on = list[Agent]()
        for agent in may_go_on(caps, held, others):
            step = LetGoOn(LetOn(at=self._world.clock.now()))
            if await self._moves.apply(agent, step) is not None:
                let_on.append(agent)
        return let_on
