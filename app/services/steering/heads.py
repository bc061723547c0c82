"""Commits that people push to an agent's branch beside it: its check stands on the newest."""

import logging
from dataclasses import replace
from typing import Final

from app.core.agents.agent import Agent
from app.core.agents.lifecycle import State
from app.core.rules.plan import RoleKind
from app.ports import Publish
from app.services.world import World, repository_of

RESTING: Final = frozenset({State.QUEUED, State.SLEEPING, State.PAUSED})
"""Who works notes the head itself, at both ends of its segment."""

log = logging.getLogger("squadron.agents")


async def at_its_head(world: World, agent: Agent) -> Agent:
    """The agent with the head that its branch has on GitHub now; a new one gets its check. Asks for
    the reference itself: a pull request may show the head before a push for a while. May raise
    `GitHubFailed`."""
    is_reader = agent.assignment.kind is RoleKind.REVIEW
    if is_reader or agent.state not in RESTING or agent.sha is None:
        return agent
    head = await world.github.branch_head(repository_of(agent), agent.branch)
    if head is None or head == agent.sha:
        return agent
    log.info("somebody pushed", extra={"agent": str(agent.id), "head": head})
    noticed = f"head:{head}:{world.clock.now():%Y%m%d%H%M%S%f}"  # a head may come back
    await world.store.note_pushed_beside(agent, head, Publish(agent.id, noticed))
    return replace(agent, sha=head)
