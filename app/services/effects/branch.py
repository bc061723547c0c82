"""The branch of an agent whose work was merged is deleted, if nobody needs it any more."""

from typing import Final

from app.core.agents.agent import Agent
from app.core.agents.lifecycle import LIVE
from app.ports import PullRequest, Refused, WorkspaceFailed
from app.services.world import World, checkout_order, repository_of

DELETED: Final = "deleted"
KEPT: Final = "kept"


async def clean_branch(world: World, agent: Agent, pull: PullRequest) -> str:
    """What became of the branch: `DELETED`, or `KEPT`.

    It stays if its head is not what was merged, or if another open pull request or a live agent
    uses it. May raise `GitHubFailed`.
    """
    if not pull.is_merged or await _is_used(world, agent):
        return KEPT
    order = await checkout_order(world, agent)
    try:
        is_gone = await world.workspace.delete_branch(order, pull.head_sha)
    except WorkspaceFailed as failure:
        raise Refused(f"The branch `{agent.branch}` could not be deleted: {failure}", 422) from None
    return DELETED if is_gone else KEPT


async def _is_used(world: World, agent: Agent) -> bool:
    here = repository_of(agent)
    live = await world.store.agents(repository=here.full_name, states=LIVE)
    if any(other.branch == agent.branch for other in live):
        return True
    of_head = await world.github.pull_requests(here, agent.branch)
    return any(pull.is_open for pull in of_head) or await world.github.is_base(here, agent.branch)
