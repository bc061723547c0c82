"""Makes of an agent's commits those that people shall read.

Every commit that goes to GitHub is the bot's, whatever the agent has set, and holds nothing that
nobody wrote; its message calls nobody and closes nothing. A pull request moreover has no commit
that only Squadron needed: the empty one that a branch starts with, and those that kept unfinished
work.

The same commits always become the same: dates are theirs. So what was cut off can be done again.
"""

import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from app.adapters.workspace.commits import merge_base, signed, write_commit
from app.adapters.workspace.handover import Handover
from app.adapters.workspace.made import Beginning
from app.core.text.harmless import without_calls
from app.ports import WORK_IN_PROGRESS, CheckoutOrder

MOST_COMMITS: Final = 1_000
"""Of one agent's branch."""
_FORM: Final = "%H%n%P%n%T%n%ae%n%an%n%ad%n%ce%n%cn%n%cd%n%B%x00"
_LOG: Final = re.compile(r"\n?(?P<commit>.+?)\0", re.DOTALL)


@dataclass(frozen=True, slots=True)
class Commit:
    """One commit, as git tells of it."""

    sha: str
    parents: tuple[str, ...]
    tree: str
    author_email: str
    author_name: str
    authored: str
    committer_email: str
    committer_name: str
    committed: str
    message: str

    @property
    def keeps_work(self) -> bool:
        """Whether it was made only to keep what was not finished."""
        return self.message.startswith(WORK_IN_PROGRESS)


@dataclass(frozen=True, slots=True)
class Tidied:
    """The work as people shall read it."""

    sha: str
    became: Mapping[str, str]
    """What has become of each commit that was looked at."""


@dataclass(frozen=True, slots=True)
class Tidying:
    """The commits of one agent, on the host's own objects."""

    handover: Handover
    order: CheckoutOrder
    default: str
    """The head of the default branch: what it holds is not the agent's."""

    async def ours(self, sha: str, there: str | None) -> Tidied:
        """With commits of the bot alone in all that GitHub was not seen to have. What it has stays
        as it is. `there`: the head of the branch on GitHub, if it has one."""
        start, pushed = await self.handover.known("start"), await self.handover.known("pushed")
        seen = [start, pushed] if there is None else [start, pushed, there]
        return await self._tidied(sha, [self.default, *seen], "", frozenset())

    async def finished(self, sha: str, there: str | None, message: str) -> Tidied | None:
        """The same for a pull request: without commits that only Squadron needed. `message`: of a
        commit of what was never committed by the agent. None: others have commits on the branch,
        or there is nothing to show."""
        there = there or await self.handover.known("pushed")
        on_github = await self._commits(there, [self.default])
        if any(each.committer_email != self.order.author_email for each in on_github):
            return None
        names = frozenset(each.sha for each in on_github)
        tidied = await self._tidied(sha, [self.default], message, names)
        is_nothing = await self.handover.is_ancestor(tidied.sha, self.default)
        return None if is_nothing else tidied

    async def _tidied(
        self, sha: str, known: Sequence[str], message: str, on_github: Collection[str]
    ) -> Tidied:
        """`message`: empty unless the work is finished. `on_github`: commits that say already who
        made them with the agent."""
        beginning = await self.handover.beginning()
        commits = await self._commits(sha, known)
        if len(commits) > MOST_COMMITS:
            return await self._as_one(sha, known[1:], beginning)
        became, trees = dict[str, str](), dict[str, str]()
        for each in commits:
            parents = tuple(dict.fromkeys(became.get(one, one) for one in each.parents))
            tree, _ = await self.handover.without_made(beginning, each.tree)
            if message and each.keeps_work:
                parents = await self._independent(parents)
            if message and len(parents) == 1:
                before = trees.get(parents[0]) or await self.handover.tree_of(parents[0])
                if tree == before or (each.keeps_work and each.sha != sha):
                    became[each.sha] = parents[0]
                    continue
            is_anew = bool(message) and each.keeps_work
            says = without_calls(message if is_anew else each.message)
            if (is_anew or each.sha not in on_github) and len(parents) == 1:
                says = await self._signed(says)
            became[each.sha] = await self._rewritten(each, says, tree, parents)
            trees[became[each.sha]] = tree
        return Tidied(became.get(sha, sha), became)

    async def _as_one(self, sha: str, on: Sequence[str], beginning: Beginning) -> Tidied:
        """One commit in place of more than anybody would read."""
        git, directory = self.handover.git, self.handover.place.handover
        tree, _ = await self.handover.without_made(beginning, await self.handover.tree_of(sha))
        base = await merge_base(git, directory, self.default, sha)
        parents = await self._independent((*on, base))
        message = await self._signed(f"More than {MOST_COMMITS:,} commits of the agent, as one")
        one = await self.handover.commit(self.order, message, tree, *parents)
        return Tidied(one, {sha: one})

    async def _signed(self, message: str) -> str:
        return await signed(self.handover.git, self.handover.place.handover, self.order, message)

    async def _rewritten(
        self, commit: Commit, message: str, tree: str, parents: tuple[str, ...]
    ) -> str:
        order = self.order
        us = (order.author_name, order.author_email)
        author = (commit.author_name, commit.author_email)
        committer = (commit.committer_name, commit.committer_email)
        as_it_is = (commit.message, commit.tree, commit.parents)
        if author == committer == us and (message, tree, parents) == as_it_is:
            return commit.sha
        dates = (commit.authored, commit.committed)
        git, directory = self.handover.git, self.handover.place.handover
        return await write_commit(git, directory, order, message, tree, *parents, dates=dates)

    async def _independent(self, commits: tuple[str, ...]) -> tuple[str, ...]:
        """Those that none of the others holds."""
        kept = []
        for one in commits:
            others = [other for other in commits if other != one]
            if not any([await self.handover.is_ancestor(one, other) for other in others]):
                kept.append(one)
        return tuple(kept)

    async def _commits(self, sha: str, known: Sequence[str]) -> Sequence[Commit]:
        """Those of `sha` that none of the `known` ones holds, parents first; of too many, one more
        than may be."""
        said = await self.handover.git(
            self.handover.place.handover,
            *("log", "--topo-order", "--reverse", "--date=raw", f"--format={_FORM}"),
            *(f"--max-count={MOST_COMMITS + 1}", sha, *(f"^{one}" for one in known), "--"),
            most_output_bytes=8_000_000,
        )
        return [_read(match["commit"]) for match in _LOG.finditer(said)]


def _read(text: str) -> Commit:
    sha, parents, *told = text.split("\n", 9)
    return Commit(sha, tuple(parents.split()), *told)
