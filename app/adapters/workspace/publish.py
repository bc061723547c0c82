"""Brings kept work to GitHub and reads back that it is there."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from app.adapters.workspace.commits import merge_base, merged_tree
from app.adapters.workspace.guard import Entry, refused_changes, tree_without
from app.adapters.workspace.handover import Handover
from app.adapters.workspace.host_git import GitFailed
from app.adapters.workspace.mirror import Mirror
from app.adapters.workspace.secrets import SecretSearch, Withheld, withheld_words
from app.core.rules.protected import refused_words
from app.core.text.redact import Redactor
from app.ports import CheckoutOrder, WorkspaceFailed

MOST_PATHS: Final = 10
_WORKFLOWS_REFUSED: Final = re.compile(r"refusing to allow .* workflow", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Published:
    """What the branch on GitHub holds of the work."""

    sha: str
    is_pushed: bool
    problem: str = ""
    diverged: bool = False
    was_told: bool = False


class _Diverged(WorkspaceFailed):
    """Others have pushed what cannot be merged with the agent's commits."""

    def __init__(self, there: str, branch: str, paths: Sequence[str]) -> None:
        named = ", ".join(f"`{path}`" for path in paths[:MOST_PATHS])
        super().__init__(
            f"others pushed to `{branch}` (now {there[:12]}) what conflicts with it in {named}."
        )
        self.there = there


@dataclass(frozen=True, slots=True)
class _Refused:
    """What is not pushed, and what belongs there instead."""

    protected: dict[bytes, Entry]
    secret: Withheld

    def __bool__(self) -> bool:
        return bool(self.protected) or self.secret.is_in_history

    @property
    def paths(self) -> dict[bytes, Entry]:
        return {**self.secret.paths, **self.protected}

    @property
    def words(self) -> str:
        protected = refused_words(sorted(self.protected)) if self.protected else ""
        return " ".join(filter(None, (protected, withheld_words(sorted(self.secret.paths)))))


async def publish(
    handover: Handover,
    mirror: Mirror,
    order: CheckoutOrder,
    sha: str,
    message: str,
    redact: Redactor,
) -> Published:
    """Push the commit, never backwards and never over somebody else's; read the branch back. What
    `redact` finds in it is not pushed."""
    try:
        return await _publish(handover, mirror, order, sha, message, redact)
    except WorkspaceFailed as failure:
        problem = f"{sha[:12]} is not on GitHub: {failure} {_where(handover, sha)}"
        if not isinstance(failure, _Diverged):
            return Published(sha, is_pushed=False, problem=problem)
        was_told = failure.there == await handover.known_if_any("told")
        return Published(sha, is_pushed=False, problem=problem, diverged=True, was_told=was_told)


async def _publish(
    handover: Handover,
    mirror: Mirror,
    order: CheckoutOrder,
    sha: str,
    message: str,
    redact: Redactor,
) -> Published:
    heads = await mirror.refresh(order.default_branch, order.branch)
    there, default = heads.get(order.branch), heads[order.default_branch]
    is_lesser = there is not None and there == await handover.known_if_any("lesser")
    if there is not None and not is_lesser and not await handover.is_ancestor(there, sha):
        if await handover.is_ancestor(sha, there):
            await handover.note(pushed=there)
            return Published(there, is_pushed=True)  # somebody went on from it
        sha = await _merged(handover, order, sha, there)
    directory = handover.place.handover
    refused = _Refused({}, await _secrets(handover, sha, default, there, redact))
    if not order.is_squadrons_own:
        refused.protected.update(
            await refused_changes(handover.git, directory, sha, default, there)
        )
    if not refused and not is_lesser:
        try:
            return await _push(handover, mirror, order, sha, there)
        except GitFailed as failure:
            if not _WORKFLOWS_REFUSED.search(failure.said):
                raise
    return await _push_lesser(handover, mirror, order, sha, (there, default), message, refused)


async def _secrets(
    handover: Handover, sha: str, default: str, there: str | None, redact: Redactor
) -> Withheld:
    git, directory = handover.git, handover.place.handover
    known = there or await merge_base(git, directory, default, sha)
    return await SecretSearch(git, directory, redact).withheld(sha, known, default)


async def _merged(handover: Handover, order: CheckoutOrder, sha: str, there: str) -> str:
    """Both the agent's commits and those that others pushed. Raises `_Diverged`."""
    tree, conflicts = await merged_tree(handover.git, handover.place.handover, sha, there)
    if conflicts:
        raise _Diverged(there, order.branch, conflicts)
    return await handover.commit(
        order, f"Merge what others pushed to {order.branch}", tree, sha, there
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


async def _push_lesser(
    handover: Handover,
    mirror: Mirror,
    order: CheckoutOrder,
    sha: str,
    heads: tuple[str | None, str],
    message: str,
    refused: "_Refused",
) -> Published:
    """Push the content but for the refused changes.

    One commit on what GitHub has already (`heads`: of the agent's branch and of the default one):
    the agent's own commits hold what must not be pushed.
    """
    there, default = heads
    git, directory = handover.git, handover.place.handover
    parent = there or await handover.known("base")
    parents = [parent]
    merged = await merge_base(git, directory, default, sha)
    if not await handover.is_ancestor(merged, parent):
        parents.append(merged)  # what the agent has merged of the default branch
    tree = await tree_without(git, directory, sha, refused.paths)
    lesser = parent
    if len(parents) > 1 or tree != await handover.tree_of(parent):
        lesser = await handover.commit(order, message, tree, *parents)
    problem = ""
    if refused.paths:
        patch = handover.place.refused_patch
        await git(
            directory,
            *("diff", "--binary", "--no-ext-diff", "--no-textconv", f"--output={patch}"),
            *(lesser, sha, "--"),
        )
        problem = (
            f"{refused.words} They are in {patch} (`git apply` makes them); "
            f"everything is in {sha[:12]}. {_where(handover, sha)}"
        )
    published = await _push(handover, mirror, order, lesser, there)
    await handover.note(lesser=lesser)
    return Published(published.sha, published.is_pushed, problem)


def _where(handover: Handover, sha: str) -> str:
    return f"To get it: `git fetch {handover.place.handover} {sha}`."
