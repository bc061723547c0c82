"""What agents have come to and GitHub does not know yet, and what is there twice."""

from datetime import datetime, timedelta
from functools import partial
from typing import Final

from app.core.agents.agent import AgentId, EffectName, EffectState
from app.core.agents.events import Waits
from app.services.effects.publisher import Publisher
from app.services.guard import Guard
from app.services.reconciling.doubles import IN_FLIGHT, Doubles
from app.services.reconciling.repairs import Repairs
from app.services.reconciling.request_budget import Purse, Share
from app.services.reconciling.settled import Settled
from app.services.world import World

LOOKED_AT_FOR: Final = timedelta(days=1)
"""How long after its last change it is looked at whether all of an agent is on GitHub, and once."""


class Publications:
    """Makes up for what a process that died has left."""

    def __init__(self, world: World, publisher: Publisher, guard: Guard) -> None:
        self._world = world
        self._publisher = publisher
        self._guard = guard
        self._doubles = Doubles(world)
        self._settled = Settled(world.clock)
        """Agents of whose present state GitHub knows."""

    async def look(self, repairs: Repairs, purse: Purse) -> None:
        """Write what is due, what was lost, and remove what is there twice."""
        store, now = self._world.store, self._world.clock.now()
        for agent_id in await store.agents_with_due_effects(now):
            if not purse.holds(Share.EFFECTS):
                purse.leave(Share.EFFECTS)
                continue
            await self._guard.attempt(str(agent_id), partial(self._publisher.publish, agent_id))
            repairs.note(f"effects of {agent_id}")
        since = now - LOOKED_AT_FOR
        for agent_id, changed_at in (await store.changed_agents(since)).items():
            if not purse.holds(Share.DOUBLES):
                purse.leave(Share.DOUBLES)
                continue
            look = partial(self._unpublished, agent_id, changed_at, repairs)
            await self._guard.attempt(str(agent_id), look)
        for agent_id in await store.agents_with_new_effects(since):
            if not purse.holds(Share.DOUBLES):
                purse.leave(Share.DOUBLES)
                continue
            await self._guard.attempt(str(agent_id), partial(self._doubles.look, agent_id, repairs))

    async def _unpublished(self, agent_id: AgentId, changed_at: datetime, repairs: Repairs) -> None:
        """An end, a pause, or a handing over, of which GitHub does not know: its publication was
        lost.

        What is due later has its own time, and so has what GitHub refused.
        """
        name, store = str(agent_id), self._world.store
        is_on_its_way = self._world.clock.now() - changed_at < IN_FLIGHT
        if is_on_its_way or self._settled.has(name, changed_at):
            return
        agent, before = await store.agent(agent_id), await store.effects(agent_id)
        if agent is None or any(one.state is not EffectState.DONE for one in before.values()):
            return
        no_request = agent.waits_for is Waits.REVIEW and EffectName.PULL_REQUEST not in before
        if agent.is_final or agent.waits_for_person or no_request:
            await self._publisher.publish(agent_id)
            if await store.effects(agent_id) != before:
                repairs.note("published", agent)
        self._settled.note(name, changed_at)
