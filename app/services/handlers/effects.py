"""What was written to GitHub is looked at once more for what came to it meanwhile."""

from app.core.agents.agent import AgentId
from app.core.agents.lifecycle import State
from app.ports import Publish
from app.services.effects.publisher import Publisher
from app.services.steering.look import Looking
from app.services.world import World


class Publishing:
    """Handles `Publish`."""

    def __init__(self, world: World, publisher: Publisher, looking: Looking) -> None:
        self._world = world
        self._publisher = publisher
        self._looking = looking

    async def handle(self, work: Publish) -> None:
        """Publish the agent that `work` names. Checks judge its branch from the push on, before
        it has a pull request by which they would be told to it."""
        agent_id = work.agent
        if work.is_of_queue and not await self._is_queued(agent_id):
            return
        had_one = await self._pull_request(agent_id) is not None
        await self._publisher.publish(agent_id)
        if not had_one and await self._pull_request(agent_id) is not None:
            await self._looking.look_again(agent_id)

    async def _is_queued(self, agent_id: AgentId) -> bool:
        agent = await self._world.store.agent(agent_id)
        return agent is not None and agent.state is State.QUEUED

    async def _pull_request(self, agent_id: AgentId) -> int | None:
        agent = await self._world.store.agent(agent_id)
        return None if agent is None else agent.pull_request
