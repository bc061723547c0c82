"""The mirror of one repository: bare, written by Squadron only, shared by its agents' workspaces.

It is never collected and never loses an object, so others may borrow from it at any time.
"""

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from app.adapters.workspace.commits import tree_of, write_commit
from app.adapters.workspace.host_git import HostGit
from app.adapters.workspace.places import clear_git_locks, delete_tree, locked
from app.adapters.workspace.remote import Remote, pull_request_ref
from app.ports import CheckoutOrder

MOST_SUBJECTS: Final = 30
MOST_FILES_SHOWN: Final = 30
MOST_NEWS_CHARACTERS: Final = 6_000


@dataclass(frozen=True, slots=True)
class Mirror:
    """A repository on this machine and the remote that it follows."""

    git: HostGit
    directory: Path
    remote: Remote

    async def refresh(self, *branches: str) -> Mapping[str, str]:
        """Fetch these branches; the commits they are at on GitHub now, missing ones left out."""
        async with locked(self.directory.with_suffix(".git.lock")):
            await self._make()
            clear_git_locks(self.directory)
            heads = await self.remote.heads(self.directory, *branches)
            known = await self.known_heads()
            behind = [name for name in heads if known.get(name) != heads[name]]
            if behind:
                await self.remote.fetch(self.directory, *behind)
            return heads

    async def fetch_pull_request(self, number: int) -> str:
        """Fetch a pull request's head, which may be a fork's, and so anybody's; its commit now."""
        ref = pull_request_ref(number)
        async with locked(self.directory.with_suffix(".git.lock")):
            await self._make()
            clear_git_locks(self.directory)
            await self.remote.fetch_refs(self.directory, ref)
            return (await self.git(self.directory, "rev-parse", "--verify", ref)).strip()

    async def known_heads(self) -> Mapping[str, str]:
        """Where the branches were when they were last fetched."""
        form = "--format=%(refname:lstrip=2) %(objectname)"
        listed = await self.git(self.directory, "for-each-ref", form, "refs/heads/")
        return dict(line.rsplit(" ", 1) for line in listed.splitlines())

    async def start_branch(self, order: CheckoutOrder, base_sha: str) -> str:
        """Create the agent's branch on GitHub with an empty commit of its own; that commit.

        So a check on the branch never marks the default branch's head.
        """
        message = f"Start of {order.agent}\n\nEmpty: checks of this agent stand on it.\n"
        tree = await tree_of(self.git, self.directory, base_sha)
        sha = await write_commit(self.git, self.directory, order, message, tree, base_sha)
        await self.remote.push(self.directory, sha, order.branch, expected=None)
        return sha

    async def describe(self, since_sha: str, head: str) -> str:
        """Subjects and sizes of what came after a commit, in bounds."""
        span = f"{since_sha}..{head}"
        count = (await self.git(self.directory, "rev-list", "--count", span)).strip()
        subjects = await self.git(
            self.directory, "log", f"-{MOST_SUBJECTS}", "--format=%h %<(100,trunc)%s", span
        )
        sizes = await self.git(
            self.directory,
            *("diff", "--no-ext-diff", "--no-textconv", f"--stat-count={MOST_FILES_SHOWN}"),
            *("--stat=100", since_sha, head, "--"),
        )
        lines = [line.rstrip() for line in subjects.splitlines()]
        text = "\n".join([f"{count} new commits:", *lines, "", sizes.rstrip()])
        return text[:MOST_NEWS_CHARACTERS]

    async def bundle(self, branch: str, since_sha: str, path: Path) -> None:
        """Write the branch's commits after `since_sha` into a file."""
        await self.git(
            self.directory,
            *("bundle", "create", "--quiet", str(path)),
            *(f"refs/heads/{branch}", f"^{since_sha}"),
        )

    async def _make(self) -> None:
        """Make the mirror whole or not at all."""
        if self.directory.is_dir():
            return
        unfinished = self.directory.with_suffix(".git.unfinished")
        if unfinished.exists():
            await asyncio.to_thread(delete_tree, unfinished)
        unfinished.parent.mkdir(parents=True, exist_ok=True)
        await self.git(None, "init", "--quiet", "--bare", "--template=", str(unfinished))
        unfinished.rename(self.directory)
