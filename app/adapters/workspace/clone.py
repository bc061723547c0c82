"""Makes an agent's clone: whole or not at all, no remote, nothing shared with the mirror."""

import asyncio
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from app.adapters.workspace.agent_git import packs_of
from app.adapters.workspace.handover import Handover
from app.adapters.workspace.host_git import NETWORK_SECONDS, HostGit
from app.adapters.workspace.mirror import Mirror
from app.adapters.workspace.places import Place, delete_tree
from app.adapters.workspace.remote import pull_request_ref
from app.ports import CheckoutOrder

_TRACKING: Final = "+refs/heads/{0}:refs/remotes/origin/{0}"


@dataclass(frozen=True, slots=True)
class Unpushed:
    """Work that GitHub does not hold."""

    bundle: Path
    ref: str
    """Its name in the bundle."""
    lesser: str
    """What of it GitHub has instead, without what must not be pushed; empty: nothing."""


async def make_clone(
    git: HostGit,
    mirror: Mirror,
    place: Place,
    order: CheckoutOrder,
    base_sha: str,
    head_sha: str,
    unpushed: Unpushed | None = None,
) -> None:
    """Clone the agent's branch, and the default branch as `origin/<default>`, from the mirror.
    A pull request's head goes by the name of the branch. What is `unpushed` rests on the head.

    Objects come through the transport: an agent could write into hard links. Until the last line
    renames it, no agent has seen the directory, so host git may still run in it.
    """
    if place.unfinished.exists():
        await asyncio.to_thread(delete_tree, place.unfinished)
    clone = place.unfinished
    git_directory = clone / ".git"
    source = f"refs/heads/{order.branch}"
    if order.pull_request is not None:
        source = pull_request_ref(order.pull_request)
    await git(
        None, "init", "--quiet", "--template=", f"--initial-branch={order.branch}", str(clone)
    )
    await git(
        git_directory,
        *("fetch", "--quiet", "--no-tags", "--no-write-fetch-head", "--update-head-ok"),
        str(mirror.directory),
        _TRACKING.format(order.default_branch),
        f"+{source}:refs/heads/{order.branch}",
        timeout_seconds=NETWORK_SECONDS,
    )
    if unpushed is not None:
        await git(
            git_directory,
            *("fetch", "--quiet", "--no-tags", "--no-write-fetch-head", "--update-head-ok"),
            str(unpushed.bundle),
            f"+{unpushed.ref}:refs/heads/{order.branch}",
            settings={"fetch.fsckObjects": "true"},
            timeout_seconds=NETWORK_SECONDS,
        )
    await git(git_directory, "config", "user.name", order.author_name)
    await git(git_directory, "config", "user.email", order.author_email)
    await git(
        git_directory,
        *("reset", "--quiet", "--hard", head_sha if unpushed is None else "HEAD"),
        work_tree=clone,
        timeout_seconds=NETWORK_SECONDS,
    )
    handover = Handover(git, place)
    await handover.make(mirror.directory, base_sha, head_sha, packs_of(clone))
    if unpushed is not None:
        await handover.begin_with(unpushed.bundle, unpushed.ref, unpushed.lesser)
    clone.rename(place.workspace)


async def make_clone_apart(
    git: HostGit, handover: Handover, place: Place, order: CheckoutOrder, base_sha: str, sha: str
) -> None:
    """Clone a commit of the work, as the agent's branch, and `base_sha`, which is checked out, as
    `origin/<default>`. Everything comes from the host's own repository of the agent's work.

    Raises `WorkspaceFailed`.
    """
    await handover.note(apart=sha)
    place.root.mkdir(parents=True, exist_ok=True)
    clone = place.unfinished
    git_directory = clone / ".git"
    await git(
        None, "init", "--quiet", "--template=", f"--initial-branch={order.branch}", str(clone)
    )
    await git(
        git_directory,
        *("fetch", "--quiet", "--no-tags", "--no-write-fetch-head", "--update-head-ok"),
        str(handover.place.handover),
        f"+refs/squadron/base:refs/remotes/origin/{order.default_branch}",
        f"+refs/squadron/apart:refs/heads/{order.branch}",
        timeout_seconds=NETWORK_SECONDS,
    )
    await git(
        git_directory,
        *("checkout", "--quiet", "--force", "--detach", base_sha),
        work_tree=clone,
        timeout_seconds=NETWORK_SECONDS,
    )
    clone.rename(place.workspace)
