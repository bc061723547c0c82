"""Brings kept work to GitHub and reads back that it is there."""

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Final

from app.adapters.workspace.commits import merge_base, merged_tree, signed
from app.adapters.workspace.guard import Guard, Refused
from app.adapters.workspace.handover import Fault, Handover
from app.adapters.workspace.host_git import GitFailed
from app.adapters.workspace.mirror import Mirror
from app.adapters.workspace.secrets import SecretSearch, Withheld, withheld_words
from app.adapters.workspace.tidy import Tidied, Tidying
from app.adapters.workspace.trees import Entry, changes, tree_without
from app.core.text.harmless import without_calls
from app.core.text.redact import Redactor
from app.ports import CheckoutOrder, GitAway, WorkspaceFailed

MOST_PATHS: Final = 10
MOST_FAULTS: Final = 10
"""Git names one at a time."""
_HISTORY_REFUSED: Final = re.compile(
    r"refusing to allow .* workflow|exceeds GitHub's file size limit", re.IGNORECASE
)
"""What GitHub says of commits that hold, or held, what it does not take."""


@dataclass(frozen=True, slots=True)
class Published:
    """What the branch on GitHub holds of the work."""

    sha: str
    is_pushed: bool
    problem: str = ""
    is_away: bool = False
    diverged: bool = False
    was_told: bool = False
    withheld: tuple[str, ...] = ()
    """Paths whose changes were not pushed."""
    tidied: Tidied | None = None
    """What stands there in place of the agent's own commits; None: they are not there."""


class _Diverged(WorkspaceFailed):
    """Others have pushed what cannot be merged with the agent's commits."""

    def __init__(self, there: str, branch: str, paths: Sequence[str]) -> None:
        named = ", ".join(f"`{path}`" for path in paths[:MOST_PATHS])
        super().__init__(
            f"others pushed to `{branch}` (now {there[:12]}) what conflicts with it in {named}."
        )
        self.there = there


@dataclass(frozen=True, slots=True)
class _NotPushed:
    """What is not pushed, and what belongs there instead."""

    refused: Refused
    secret: Withheld
    fault: Fault | None = None
    """In the commits; where it is in no file that there is now, only the content is pushed."""

    def __bool__(self) -> bool:
        is_faulty = self.fault is not None
        return bool(self.refused.instead) or self.secret.is_in_history or is_faulty

    @property
    def paths(self) -> dict[bytes, Entry]:
        return {**self.secret.paths, **self.refused.instead}

    def words(self, protected_paths: tuple[str, ...]) -> str:
        secret = withheld_words(sorted(self.secret.paths))
        return " ".join(filter(None, (self.refused.words(protected_paths), secret)))


@dataclass(frozen=True, slots=True)
class Publication:
    """The work of one agent on its way to its branch on GitHub. What `redact` finds stays here."""

    handover: Handover
    mirror: Mirror
    order: CheckoutOrder
    redact: Redactor
    is_finished: bool
    """Whether a pull request is to show it: then its commits may take the place of others of
    ours."""

    async def publish(self, sha: str, message: str) -> Published:
        """Push the commit, never backwards and never over somebody else's; read the branch back."""
        try:
            return await self._publish(sha, message)
        except WorkspaceFailed as failure:
            problem = f"{sha[:12]} is not on GitHub: {failure} {self._where(sha)}"
            if not isinstance(failure, _Diverged):
                is_away = isinstance(failure, GitAway)
                return Published(sha, is_pushed=False, problem=problem, is_away=is_away)
            was_told = failure.there == await self.handover.known_if_any("told")
            return Published(
                sha, is_pushed=False, problem=problem, diverged=True, was_told=was_told
            )

    async def _publish(self, sha: str, message: str) -> Published:
        heads = await self.mirror.refresh(self.order.default_branch, self.order.branch)
        there, default = heads.get(self.order.branch), heads[self.order.default_branch]
        tidying = Tidying(self.handover, self.order, default)
        if self.is_finished:
            finished = await tidying.finished(sha, there, message)
            if finished is not None and (done := await self._replace(finished, there, default)):
                return done
        ours = await tidying.ours(sha, there)
        sha = ours.sha
        is_lesser = there is not None and there == await self.handover.known_if_any("lesser")
        if there is not None and not is_lesser and not await self.handover.is_ancestor(there, sha):
            if await self.handover.is_ancestor(sha, there):
                await self.handover.note(pushed=there)
                return Published(there, is_pushed=True)  # somebody went on from it
            sha = await self._merged(sha, there)
        refused = await self._refused(sha, default, there)
        if not refused and not is_lesser:
            try:
                return replace(await self._push(sha, there), tidied=ours)
            except GitFailed as failure:
                if not _HISTORY_REFUSED.search(failure.said):
                    raise
        return await self._push_lesser(sha, (there, default), message, refused)

    async def _replace(self, finished: Tidied, there: str | None, default: str) -> Published | None:
        """Put finished work in the place of what the branch holds. None: something in it must not
        be pushed, or a rule of the repository keeps what the branch holds."""
        if await self._refused(finished.sha, default, there):
            return None
        try:
            return replace(await self._push(finished.sha, there), tidied=finished)
        except GitFailed as failure:
            if failure.is_transient or failure.is_unauthorized:
                raise
            return None

    async def _refused(self, sha: str, default: str, there: str | None) -> _NotPushed:
        git, directory = self.handover.git, self.handover.place.handover
        known = there or await merge_base(git, directory, default, sha)
        search = SecretSearch(git, directory, self.redact)
        secret = await search.withheld(sha, known, default)
        if self.order.is_squadrons_own:
            return _NotPushed(Refused({}, {}), secret)
        guard = Guard(git, directory, self.order.protected_paths)
        fault = await self.handover.fault_in(sha, self.mirror.directory)
        return _NotPushed(await guard.refused(sha, default, there), secret, fault)

    async def _merged(self, sha: str, there: str) -> str:
        """Both the agent's commits and those that others pushed. Raises `_Diverged`."""
        tree, conflicts = await merged_tree(
            self.handover.git, self.handover.place.handover, sha, there
        )
        if conflicts:
            raise _Diverged(there, self.order.branch, conflicts)
        return await self.handover.commit(
            self.order, f"Merge what others pushed to {self.order.branch}", tree, sha, there
        )

    async def _push(self, sha: str, there: str | None) -> Published:
        if there != sha:
            await self.mirror.remote.push(
                self.handover.place.handover, sha, self.order.branch, expected=there
            )
        heads = await self.mirror.remote.heads(self.mirror.directory, self.order.branch)
        if heads.get(self.order.branch) != sha:
            raise WorkspaceFailed(
                f"after the push the branch `{self.order.branch}` reads "
                f"{heads.get(self.order.branch, 'nothing')[:12]}."
            )
        await self.handover.note(pushed=sha)
        return Published(sha, is_pushed=True)

    async def _push_lesser(
        self, sha: str, heads: tuple[str | None, str], message: str, refused: _NotPushed
    ) -> Published:
        """Push the content but for the refused changes.

        One commit on what GitHub has already (`heads`: of the agent's branch and of the default
        one): the agent's own commits hold what must not be pushed.
        """
        there, default = heads
        git, directory = self.handover.git, self.handover.place.handover
        parent = there or await self.handover.known("base")
        parents = [parent]
        merged = await merge_base(git, directory, default, sha)
        if not await self.handover.is_ancestor(merged, parent):
            parents.append(merged)  # what the agent has merged of the default branch
        says = await signed(git, directory, self.order, without_calls(message))
        lesser, refused = await self._faultless(sha, parents, says, refused)
        problem = ""
        if refused.paths:
            patch = self.handover.place.refused_patch
            await git(
                directory,
                *("diff", "--binary", "--no-ext-diff", "--no-textconv", f"--output={patch}"),
                *(lesser, sha, "--"),
            )
            problem = (
                f"{refused.words(self.order.protected_paths)} They are in {patch} "
                f"(`git apply` makes them); everything is in {sha[:12]}. {self._where(sha)}"
            )
        published = await self._push(lesser, there)
        await self.handover.note(lesser=lesser)
        withheld = tuple(path.decode(errors="replace") for path in sorted(refused.paths))
        return Published(published.sha, published.is_pushed, problem, withheld=withheld)

    async def _faultless(
        self, sha: str, parents: Sequence[str], says: str, refused: _NotPushed
    ) -> tuple[str, _NotPushed]:
        """The content as one commit that git finds no fault with; what is refused for that.
        Raises `WorkspaceFailed`."""
        git, directory = self.handover.git, self.handover.place.handover
        for _ in range(MOST_FAULTS):
            tree = await tree_without(git, directory, sha, refused.paths)
            lesser = parents[0]
            if len(parents) > 1 or tree != await self.handover.tree_of(lesser):
                lesser = await self.handover.commit(self.order, says, tree, *parents)
            fault = await self.handover.fault_in(lesser, self.mirror.directory)
            if fault is None:
                return lesser, refused
            differing = await changes(git, directory, parents[0], lesser)
            faulty = {
                path: change.before
                for path, change in differing.items()
                if change.after.object in fault.objects
            }
            if not faulty:
                raise WorkspaceFailed(f"git finds fault with its content: {fault.said}.")
            refused = replace(refused, refused=refused.refused.also(faulty, "git finds fault"))
        raise WorkspaceFailed(f"git finds fault with {MOST_FAULTS} files.")

    def _where(self, sha: str) -> str:
        return f"To get it: `git fetch {self.handover.place.handover} {sha}`."
