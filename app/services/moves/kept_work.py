"""Work is taken out of a workspace and pushed, whatever ends its segment."""

import logging
from collections.abc import Coroutine

from app.core.agents.agent import Agent
from app.core.rules.plan import RoleKind
from app.ports import Blame, GitHubFailed, KeptWork, StoreUnavailable, WorkspaceFailed
from app.services.failures import github_away
from app.services.world import World, checkout_order

log = logging.getLogger("squadron.agents")


async def keep_work(world: World, agent: Agent) -> KeptWork:
    """Commit what is uncommitted, push the branch and verify it there. What could not be pushed
    is told in `problem`, and stays on the disk. Raises `StoreUnavailable`."""
    if agent.assignment.kind is RoleKind.REVIEW:
        return KeptWork(None, False)  # it reads somebody else's work: nothing leaves its clone
    return await _whatever_fails(agent, _kept(world, agent))


async def keep_work_or_branch(world: World, agent: Agent) -> KeptWork:
    """As `keep_work`; an agent that was stopped before it had a branch gets one, for its check."""
    kept = await keep_work(world, agent)
    if kept.sha is not None or agent.sha is not None:
        return kept
    return await _whatever_fails(agent, _branch(world, agent))


async def _kept(world: World, agent: Agent) -> KeptWork:
    try:
        present = await world.store.agent(agent.id)  # the repository may have moved
        order = await checkout_order(world, present or agent)
    except GitHubFailed as error:
        problem = f"GitHub did not answer ({error}); nothing was pushed."
        return KeptWork(None, False, problem, is_away=github_away(error) is not None)
    return await world.workspace.keep(order, kept_message(agent))


async def _branch(world: World, agent: Agent) -> KeptWork:
    try:
        order = await checkout_order(world, agent)
        checkout = await world.workspace.prepare(order)
    except (GitHubFailed, WorkspaceFailed) as error:
        problem = f"The branch could not be created: {error}"
        return KeptWork(None, False, problem, is_away=github_away(error) is not None)
    return KeptWork(checkout.head_sha, True)


async def _whatever_fails(agent: Agent, keeping: Coroutine[None, None, KeptWork]) -> KeptWork:
    """A defect of ours must not keep an agent from its end."""
    try:
        return await keeping
    except StoreUnavailable:
        raise
    except Exception as error:
        where = {"agent": str(agent.id), "blame": Blame.SQUADRON.value}
        log.exception("work was not kept, as nobody has foreseen", extra=where)
        kind = type(error).__name__
        return KeptWork(None, False, f"Nothing was pushed: {kind}, which nobody has foreseen.")


def kept_message(agent: Agent) -> str:
    """Of the commit that holds what the agent has not committed."""
    return f"Work in progress on #{agent.id.issue} ({agent.id.role})"
