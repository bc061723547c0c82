"""Commits that people push to an agent's branch beside it: its check stands on the newest."""

import logging
from collections.abc import Iterable
from dataclasses import replace
from itertools import groupby
from typing import Final

from app.core.agents.agent import Agent
from app.core.agents.lifecycle import State
from app.core.rules.plan import RoleKind
from app.ports import Publish, Repository
from app.services.world import World, repository_of

RESTING: Final = frozenset({State.QUEUED, State.SLEEPING, State.PAUSED})
"""Who works notes the head itself, at both ends of its segment."""

log = logging.getLogger("squadron.agents")


async def at_its_head(world: World, agent: Agent) -> Agent:
    """The agent with the head that its branch has on GitHub now; a new one gets its check. Asks for
    the reference itself: a pull request may show the head before a push for a while. May raise
    `GitHubFailed`."""
    if not _may_be_pushed_beside(agent):
        return agent
    head = await world.github.branch_head(repository_of(agent), agent.branch)
    return await _with_head(world, agent, head)


async def at_their_heads(world: World, repository: Repository, agents: Iterable[Agent]) -> None:
    """The same for many agents of one repository, with one request for all whose branches lie
    beside each other."""
    found = sorted(filter(_may_be_pushed_beside, agents), key=_directory)
    for directory, neighbours in groupby(found, key=_directory):
        heads = await world.github.branch_heads(repository, directory)
        for agent in neighbours:
            await _with_head(world, agent, heads.get(agent.branch))


def _directory(agent: Agent) -> str:
    """With its slash; of a branch that lies in none, its whole name."""
    before, slash, name = agent.branch.rpartition("/")
    return before + slash or name


def _may_be_pushed_beside(agent: Agent) -> bool:
    is_reader = agent.assignment.kind is RoleKind.REVIEW
    return not is_reader and agent.state in RESTING and agent.sha is not None


async def _with_head(world: World, agent: Agent, head: str | None) -> Agent:
    """None: there is no such branch."""
    if head is None or head == agent.sha:
        return agent
    log.info("somebody pushed", extra={"agent": str(agent.id), "head": head})
    noticed = f"head:{head}:{world.clock.now():%Y%m%d%H%M%S%f}"  # a head may come back
    await world.store.note_pushed_beside(agent, head, Publish(agent.id, noticed))
    return replace(agent, sha=head)
