"""Where agents stand in the queue, asked of the registry."""

from collections.abc import Mapping
from typing import Final

from app.core.agents.agent import Agent, AgentId
from app.core.agents.lifecycle import State
from app.core.agents.queueing import QueuePlace, queue_places
from app.ports import Store

_QUEUED: Final = frozenset({State.QUEUED})


async def places_in_queue(store: Store) -> Mapping[AgentId, QueuePlace]:
    """Of all that wait for a worker."""
    return queue_places(await store.agents(states=_QUEUED))


async def place_in_queue(store: Store, agent: Agent) -> QueuePlace | None:
    """None: it does not wait for a worker."""
    if agent.state is not State.QUEUED:
        return None
    return (await places_in_queue(store)).get(agent.id)
