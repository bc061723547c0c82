"""Lets an agent's clone go on from its commits as others see them (`tidy`).

Its files stay as they are: only where its branch stands changes.
"""

import logging

from app.adapters.workspace.agent_git import Unreadable, head_of
from app.adapters.workspace.handover import Handover
from app.adapters.workspace.in_clone import CloneGit, fetch_bundle
from app.adapters.workspace.tidy import Tidied
from app.ports import CheckoutOrder, Processes

log = logging.getLogger("squadron.workspace")

_INSTEAD = "refs/squadron/instead"


async def follow(
    handover: Handover, processes: Processes, order: CheckoutOrder, tidied: Tidied
) -> None:
    """What was pushed is kept from now on, and the clone stands on what its HEAD has become."""
    await handover.note(kept=tidied.sha)
    try:
        head = head_of(handover.place.workspace)
    except Unreadable:
        return
    instead = tidied.became.get(head, head)
    if instead != head:
        await handover.note(replaced=head, instead=instead)
        await catch_up(handover, processes, order)


async def catch_up(handover: Handover, processes: Processes, order: CheckoutOrder) -> None:
    """Move the clone if it still stands on a commit that others see as another. Where that fails,
    `Handover.read` knows which one is meant, and the next time it is tried again."""
    replaced = await handover.known_if_any("replaced")
    place = handover.place
    try:
        if replaced is None or head_of(place.workspace) != replaced:
            return
    except Unreadable:
        return
    instead, start = await handover.known("instead"), await handover.known("start")
    trouble = ""
    if not await handover.is_ancestor(instead, start):
        arguments = ("bundle", "create", "--quiet", str(place.bundle), _INSTEAD, f"^{start}")
        await handover.git(place.handover, *arguments)
        clone, branch = place.workspace, order.branch
        trouble = await fetch_bundle(processes, clone, place.bundle, _INSTEAD, branch)
    if not trouble:
        clone_git = CloneGit(processes, place.workspace)
        trouble = await clone_git.run("reset", "--quiet", "--mixed", instead)
    if trouble:
        log.warning("a clone stays where it is: %s", trouble, extra={"agent": order.agent})
