"""Where agents stand in the queue, asked of the registry."""

from app.core.agents.agent import Agent
from app.core.agents.lifecycle import State
from app.core.agents.queueing import QueuePlace
from app.ports import Store


async def place_in_queue(store: Store, agent: Agent) -> QueuePlace | None:
    """None: it does not wait for a worker."""
    if agent.state is not State.QUEUED:
        return None
    return (await store.places_in_queue([agent.id])).get(agent.id)
