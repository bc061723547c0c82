"""Brings kept work to GitHub and reads back that it is there."""

import re
from dataclasses import dataclass
from typing import Final

from app.adapters.workspace.handover import Handover
from app.adapters.workspace.host_git import GitFailed
from app.adapters.workspace.mirror import Mirror
from app.ports import CheckoutOrder, WorkspaceFailed

WORKFLOWS: Final = ".github/workflows"
_WORKFLOWS_REFUSED: Final = re.compile(r"refusing to allow .* workflow", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Published:
    """What the branch on GitHub holds of the work."""

    sha: str
    is_pushed: bool
    problem: str = ""


async def publish(
    handover: Handover, mirror: Mirror, order: CheckoutOrder, sha: str, message: str
) -> Published:
    """Push the commit, never backwards and never over somebody else's; read the branch back."""
    try:
        return await _publish(handover, mirror, order, sha, message)
    except WorkspaceFailed as failure:
        problem = f"{sha[:12]} is not on GitHub: {failure} {_where(handover, sha)}"
        return Published(sha, is_pushed=False, problem=problem)


async def _publish(
    handover: Handover, mirror: Mirror, order: CheckoutOrder, sha: str, message: str
) -> Published:
    heads = await mirror.refresh(order.default_branch, order.branch)
    there = heads.get(order.branch)
    if there is None or await handover.is_ancestor(there, sha):
        try:
            return await _push(handover, mirror, order, sha, there)
        except GitFailed as failure:
            if not _WORKFLOWS_REFUSED.search(failure.said):
                raise
        return await _push_without_workflows(handover, mirror, order, sha, there, message)
    if await handover.is_ancestor(sha, there):
        return Published(there, is_pushed=True)  # somebody went on from it
    if there == await handover.known("pushed"):
        return await _push_without_workflows(handover, mirror, order, sha, there, message)
    raise WorkspaceFailed(
        f"the branch `{order.branch}` has moved to {there[:12]}, which does not hold it."
    )


async def _push(
    handover: Handover, mirror: Mirror, order: CheckoutOrder, sha: str, there: str | None
) -> Published:
    if there != sha:
        await mirror.remote.push(handover.place.handover, sha, order.branch, expected=there)
    heads = await mirror.remote.heads(mirror.directory, order.branch)
    if heads.get(order.branch) != sha:
        raise WorkspaceFailed(
            f"after the push the branch `{order.branch}` reads "
            f"{heads.get(order.branch, 'nothing')[:12]}."
        )
    await handover.note(pushed=sha)
    return Published(sha, is_pushed=True)


async def _push_without_workflows(
    handover: Handover,
    mirror: Mirror,
    order: CheckoutOrder,
    sha: str,
    there: str | None,
    message: str,
) -> Published:
    """Push the content but for the workflow files, which GitHub keeps from Apps.

    One commit on what GitHub has already: it would refuse the agent's own commits as well.
    """
    parent = there or await handover.known("base")
    tree = await _tree_without_workflows(handover, sha, parent)
    lesser = parent
    if tree != await handover.tree_of(parent):
        lesser = await handover.commit(order, message, tree, parent)
    patch = handover.place.refused_patch
    await handover.git(
        handover.place.handover,
        *("diff", "--binary", "--no-ext-diff", "--no-textconv", f"--output={patch}"),
        *(lesser, sha, "--", WORKFLOWS),
    )
    published = await _push(handover, mirror, order, lesser, there)
    problem = (
        f"GitHub does not let this App change `{WORKFLOWS}`: those changes are not on the branch. "
        f"They are in {patch}; everything is in {sha[:12]}. {_where(handover, sha)}"
    )
    return Published(published.sha, published.is_pushed, problem)


async def _tree_without_workflows(handover: Handover, sha: str, parent: str) -> str:
    """The tree of `sha` with the workflow files of `parent`."""
    git, directory = handover.git, handover.place.handover
    variables = {"GIT_INDEX_FILE": str(directory / "publish.index")}
    await git(directory, "read-tree", "--reset", "-i", sha, variables=variables)
    await git(
        directory,
        *("rm", "-r", "--quiet", "--cached", "--ignore-unmatch", "--", WORKFLOWS),
        variables=variables,
    )
    if await git.answers(directory, "cat-file", "-e", f"{parent}:{WORKFLOWS}"):
        await git(
            directory,
            *("read-tree", "-i", f"--prefix={WORKFLOWS}/", f"{parent}:{WORKFLOWS}"),
            variables=variables,
        )
    return (await git(directory, "write-tree", variables=variables)).strip()


def _where(handover: Handover, sha: str) -> str:
    return f"To get it: `git fetch {handover.place.handover} {sha}`."
