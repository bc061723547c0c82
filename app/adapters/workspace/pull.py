"""Brings what others have pushed to an agent's branch into its clone, before it goes on.

Host git merges in the handover, which the agent never sees; only then the clone is moved there, by
a git with no more rights than the agent's own shell. Nothing is ever overwritten: the agent's work
was taken first, and a merge that fails changes nothing.
"""

from collections.abc import Sequence
from typing import Final

from app.adapters.workspace.commits import merged_tree
from app.adapters.workspace.handover import Handover
from app.adapters.workspace.in_clone import CloneGit, fetch_bundle
from app.ports import WORK_IN_PROGRESS, CheckoutOrder, Processes

MOST_SUBJECTS: Final = 30
MOST_PATHS: Final = 20
_TARGET: Final = "refs/squadron/target"


async def pull(handover: Handover, processes: Processes, order: CheckoutOrder, there: str) -> str:
    """Make the clone hold `there`, the branch's head on GitHub; what is new, for the agent.

    Empty if it holds it already. What cannot be merged is in the clone as `origin/<branch>`, and
    the words say so.
    """
    if there == await handover.known_if_any("lesser"):
        return ""  # our own, without what must not be pushed
    if await handover.is_ancestor(there, await handover.known("kept")):
        return ""
    taken = await handover.take(order, f"{WORK_IN_PROGRESS} of {order.agent}")
    mine = taken.sha
    if await handover.is_ancestor(there, mine):
        return ""
    words, target, conflicts = await _by_others(handover, order, mine, there), there, list[str]()
    if not await handover.is_ancestor(mine, there):
        tree, conflicts = await merged_tree(handover.git, handover.place.handover, mine, there)
        if not conflicts:
            message = f"Merge what others pushed to {order.branch}"
            target = await handover.commit(order, message, tree, mine, there)
    can_move = not conflicts and not taken.problems
    await handover.note(target=target)
    trouble = await _bring(handover, processes, order, is_moved=can_move)
    if trouble:
        return f"{words}\n\n(These commits could not be brought into the workspace: {trouble})"
    if conflicts:
        await handover.note(told=there)
        return f"{words}\n\n{conflict_words(order.branch, conflicts)}"
    if not can_move:
        return f"{words}\n\nThey are in your clone as origin/{order.branch}: merge them."
    await handover.note(kept=target)
    return f"{words}\n\nThey are merged into your branch."


def conflict_words(branch: str, conflicts: Sequence[str]) -> str:
    """What the agent is told of commits that cannot be merged."""
    paths = ", ".join(conflicts[:MOST_PATHS])
    return (
        f"They conflict with your commits in: {paths}. They are in your clone as origin/{branch}:"
        " commit what you have not committed, merge it, and resolve the conflict. Nothing of yours"
        " is pushed before that."
    )


async def _by_others(handover: Handover, order: CheckoutOrder, mine: str, there: str) -> str:
    """Who has pushed what."""
    listed = await handover.git(
        handover.place.handover,
        *("log", "--no-merges", f"-{MOST_SUBJECTS}", "--format=%ae%x09%h %an: %<(100,trunc)%s"),
        *(there, f"^{mine}"),
    )
    lines = [line.partition("\t") for line in listed.splitlines()]
    own = order.author_email
    found = [words.rstrip() for email, _, words in lines if email != own]
    return "\n".join([f"Others pushed to {order.branch}:", *found])


async def _bring(
    handover: Handover, processes: Processes, order: CheckoutOrder, *, is_moved: bool
) -> str:
    """Make the target `origin/<branch>` in the clone, and move the work there; what went wrong."""
    place = handover.place
    await handover.git(
        place.handover,
        *("bundle", "create", "--quiet", str(place.bundle), _TARGET),
        f"^{await handover.known('start')}",
    )
    trouble = await fetch_bundle(processes, place.workspace, place.bundle, _TARGET, order.branch)
    if trouble or not is_moved:
        return trouble
    clone = CloneGit(processes, place.workspace)
    return await clone.run("reset", "--quiet", "--hard", f"refs/remotes/origin/{order.branch}")
