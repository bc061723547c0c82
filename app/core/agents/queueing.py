"""Who is ahead of whom among the agents that wait for a worker."""

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from app.core.agents.agent import Agent, AgentId
from app.core.agents.lifecycle import State


@dataclass(frozen=True, slots=True)
class QueuePlace:
    """Where an agent stands in the queue."""

    place: int
    """1: it is next."""
    ahead_same_repository: int
    """How many of those ahead of it work on the same repository."""


def queue_places(agents: Iterable[Agent]) -> Mapping[AgentId, QueuePlace]:
    """The places of those that wait for a worker, first come first: since when each is queued
    decides. Sub-agents are run by their parents, and who waits for something else, as for a model's
    provider, is ahead of nobody."""
    waiting = [
        agent
        for agent in agents
        if agent.state is State.QUEUED and agent.parent is None and agent.waits_for is None
    ]
    waiting.sort(key=lambda agent: (agent.updated_at, str(agent.id)))
    ahead, places = Counter[str](), dict[AgentId, QueuePlace]()
    for place, agent in enumerate(waiting, start=1):
        places[agent.id] = QueuePlace(place, ahead[agent.repository])
        ahead[agent.repository] += 1
    return places
