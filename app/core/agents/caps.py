"""Whom the caps on agents at work hold back, and who goes on when there is a place again.

A sub-agent is part of its parent's work, and counts nothing.
"""

from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Final

from app.core.agents.agent import Agent
from app.core.agents.lifecycle import State
from app.core.rules.caps import Caps, Full

AT_WORK: Final = frozenset({State.ACTIVE, State.STOPPING})
"""Who is being stopped still runs."""


def reached(caps: Caps, agent: Agent, others: Iterable[Agent]) -> Full | None:
    """What keeps the agent from beginning, with those at work besides it."""
    at_work = [
        other
        for other in others
        if other.state in AT_WORK and other.parent is None and other.id != agent.id
    ]
    of_repository = sum(other.repository == agent.repository for other in at_work)
    of_role = sum(other.id.role == agent.id.role for other in at_work)
    return caps.full(agent.id.role, of_repository, of_role)


def may_go_on(caps: Caps, held: Iterable[Agent], others: Iterable[Agent]) -> Sequence[Agent]:
    """Who of the agents that a cap holds may go on. Who is in line for a worker comes before them
    and takes its place; of the rest, the repository with fewest agents, and of it the oldest."""
    takes = [other for other in others if other.parent is None and _takes(other)]
    of_repository = Counter(other.repository for other in takes)
    of_role = Counter(other.id.role for other in takes)
    left, on = sorted(held, key=lambda agent: (agent.created_at, str(agent.id))), list[Agent]()
    while free := [
        agent
        for agent in left
        if not caps.full(agent.id.role, of_repository[agent.repository], of_role[agent.id.role])
    ]:
        chosen = min(free, key=lambda agent: of_repository[agent.repository])
        left.remove(chosen)
        on.append(chosen)
        of_repository[chosen.repository] += 1
        of_role[chosen.id.role] += 1
    return on


def _takes(agent: Agent) -> bool:
    """Whether it is at work, or comes before whoever is let on now."""
    return agent.state in AT_WORK or (agent.state is State.QUEUED and agent.rank > 0)
