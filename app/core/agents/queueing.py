"""Who is ahead of whom among the agents that wait for a worker.

Repositories take turns. Each agent that is queued has a rank, and the lowest is run first; of one
repository each ranks one behind the last. A repository that comes new begins with the rank of who
was begun last, not with all that others have waited for: so however many agents one repository
queues, another's next one waits for one of them at most. These are the start tags of start-time
fair queueing (P. Goyal, H. Vin, H. Cheng: Start-time Fair Queuing, SIGCOMM 1996), with one segment
as the unit of work.
"""

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


def next_rank(at_work: int, of_repository: int) -> int:
    """The rank of an agent that is queued. `at_work`: the highest of all that are at work;
    `of_repository`: the highest of its repository, at work or in line. 0: there is none."""
    return max(at_work, of_repository + 1)


def queue_places(agents: Iterable[Agent]) -> Mapping[AgentId, QueuePlace]:
    """The places of those that wait for a worker, in the order in which they are run: by rank, and
    of the same rank first come, first served. Sub-agents are run by their parents, and who is held
    back, or waits for something else, as for a model's provider, is ahead of nobody: none of these
    has a rank."""
    waiting = [
        agent
        for agent in agents
        if agent.state is State.QUEUED and agent.parent is None and agent.rank > 0
    ]
    waiting.sort(key=lambda agent: (agent.rank, agent.updated_at, str(agent.id)))
    ahead, places = Counter[str](), dict[AgentId, QueuePlace]()
    for place, agent in enumerate(waiting, start=1):
        places[agent.id] = QueuePlace(place, ahead[agent.repository])
        ahead[agent.repository] += 1
    return places
