"""Work is taken out of a workspace and pushed, whatever ends its segment."""

from app.core.agents.agent import Agent
from app.core.rules.plan import RoleKind
from app.ports import GitHubFailed, KeptWork, WorkspaceFailed
from app.services.world import World, checkout_order


async def keep_work(world: World, agent: Agent) -> KeptWork:
    """Commit what is uncommitted, push the branch and verify it there. What could not be pushed
    is told in `problem`, and stays on the disk."""
    if agent.assignment.kind is RoleKind.REVIEW:
        return KeptWork(None, False)  # it reads somebody else's work: nothing leaves its clone
    try:
        present = await world.store.agent(agent.id)  # the repository may have moved
        order = await checkout_order(world, present or agent)
    except GitHubFailed as error:
        return KeptWork(None, False, f"GitHub did not answer ({error}); nothing was pushed.")
    return await world.workspace.keep(order, kept_message(agent))


async def keep_work_or_branch(world: World, agent: Agent) -> KeptWork:
    """As `keep_work`; an agent that was stopped before it had a branch gets one, for its check."""
    kept = await keep_work(world, agent)
    if kept.sha is not None or agent.sha is not None:
        return kept
    try:
        order = await checkout_order(world, agent)
        checkout = await world.workspace.prepare(order)
    except (GitHubFailed, WorkspaceFailed) as error:
        return KeptWork(None, False, f"The branch could not be created: {error}")
    return KeptWork(checkout.head_sha, True)


def kept_message(agent: Agent) -> str:
    """Of the commit that holds what the agent has not committed."""
    return f"Work in progress on #{agent.id.issue} ({agent.id.role})"
