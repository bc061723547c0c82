"""Takes an agent's work out of its workspace into a git directory that the agent never sees.

The agent's commits are copied as files, then fetched and checked by host git from a repository
that holds nothing else of the agent's: no configuration, no hooks, no alternates. What is not
committed is staged by the host (`stage`). Several references tell what is known:

    refs/squadron/base     the commit of the default branch that the agent's branch started from
    refs/squadron/start    the branch's head when the clone was made
    refs/squadron/head     the agent's last HEAD that had to be fetched
    refs/squadron/kept     the last commit that holds all work
    refs/squadron/pushed   what the branch on GitHub was read back to be
    refs/squadron/lesser   what was pushed without the changes that must not be
    refs/squadron/target   what the clone was last brought to hold of others' commits
    refs/squadron/apart    what is checked out apart from the workspace
    refs/squadron/setup    the tree of the workspace when its setup had ended
    refs/squadron/replaced a HEAD of the agent that others see as another commit
    refs/squadron/instead  that commit
    refs/squadron/unpushed a commit of all work that was last packed for other machines
    refs/squadron/leaving  the commit that was last checked before it was pushed
    refs/squadron/told     a head on GitHub that conflicts with the work, as the agent knows
"""

import asyncio
import hashlib
import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Final, Literal

from app.adapters.workspace.agent_git import Unreadable, copy_objects, has_stash, head_of
from app.adapters.workspace.commits import is_ancestor, tree_of, write_commit
from app.adapters.workspace.host_git import NETWORK_SECONDS, GitFailed, HostGit
from app.adapters.workspace.made import Beginning, made_by_tools, without_made
from app.adapters.workspace.places import Place, clear_git_locks, delete_tree
from app.adapters.workspace.stage import LeftOut, Staged, stage
from app.core.agents.events import MadeFiles
from app.ports import CheckoutOrder, WorkspaceFailed

Known = Literal["base", "start", "kept", "pushed", "instead"]
KnownIfAny = Literal["lesser", "told", "setup", "replaced"]

MOST_LEFT_OUT_NAMED: Final = 10
_INCOMING: Final = "refs/heads/incoming"
_OBJECT: Final = re.compile(r"\b[0-9a-f]{40}\b")


@dataclass(frozen=True, slots=True)
class Fault:
    """What git's strict checks find fault with."""

    said: str
    objects: frozenset[str]
    """That are named there."""


@dataclass(frozen=True, slots=True)
class Taken:
    """A commit that holds the work, and what it could not hold."""

    sha: str
    tree: str
    """Of the workspace's files."""
    problems: tuple[str, ...]
    left_out: tuple[str, ...]
    """Paths of the workspace that it does not hold."""
    made: tuple[MadeFiles, ...]
    """The same of what nobody wrote."""


@dataclass(frozen=True, slots=True)
class Content:
    """What a workspace holds: the agent's HEAD (None if it is of no use) and its files."""

    head: str | None
    staged: Staged
    problems: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Handover:
    """The host's git directory of one agent. Use it while holding the agent's lock."""

    git: HostGit
    place: Place

    async def make(
        self, mirror: Path, base_sha: str, head_sha: str, known_packs: frozenset[str]
    ) -> None:
        """Begin anew for a clone that starts at `head_sha`; objects are borrowed from the mirror.

        `known_packs` came with the clone: they hold nothing new.
        """
        directory = self.place.handover
        if directory.exists():
            await self._put_aside()
        await self.git(None, "init", "--quiet", "--bare", "--template=", str(directory))
        (directory / "objects/info/alternates").write_text(f"{mirror / 'objects'}\n")
        self._known_packs_file.write_text("\n".join(sorted(known_packs)))
        await self.note(base=base_sha, start=head_sha, kept=head_sha, pushed=head_sha)

    async def known(self, name: Known) -> str:
        """The commit of one of the references above. Raises `WorkspaceFailed` if it is not set."""
        said = await self.git(self.place.handover, "rev-parse", "--verify", f"refs/squadron/{name}")
        return said.strip()

    async def known_if_any(self, name: KnownIfAny) -> str | None:
        """The commit of one of those that there need not be."""
        ref = f"refs/squadron/{name}"
        listed = await self.git(self.place.handover, "for-each-ref", "--format=%(objectname)", ref)
        return listed.strip() or None

    async def note(self, **commits: str) -> None:
        """Set references above, all of them or none."""
        lines = [f"update refs/squadron/{name} {sha}\n" for name, sha in commits.items()]
        await self.git(self.place.handover, "update-ref", "--stdin", stdin="".join(lines).encode())

    async def fingerprint(self) -> str:
        """Identify the files of the workspace; the same whoever wrote them, and when."""
        clear_git_locks(self.place.handover)
        start = await self.known("start")
        staged = await self._stage("fingerprint.index", start, start)
        identity = hashlib.sha256(staged.tree.encode())
        for item in staged.left_out:
            identity.update(f"\n{item.size_bytes} {item.path}".encode())
        return identity.hexdigest()

    async def take(self, order: CheckoutOrder, message: str) -> Taken:
        """Make one commit that holds all work so far, on top of what was kept before.

        The agent's commits stay as they are. Nothing new: the same commit again.
        """
        content = await self.read()
        kept = await self.known("kept")
        sha = await self._joined(order, message, content, kept)
        if sha != kept:
            await self.note(kept=sha)
        left_out = tuple(item.path for item in content.staged.left_out)
        return Taken(sha, content.staged.tree, content.problems, left_out, content.staged.named)

    async def draft(self, order: CheckoutOrder, message: str) -> str:
        """The commit that `take` would make now; nothing rests on it."""
        return await self._joined(order, message, await self.read(), await self.known("kept"))

    async def begin_with(self, bundle: Path, ref: str, lesser: str) -> None:
        """The clone was made with work that rests on the pushed head."""
        await self._fetch_strictly(self.place.handover, bundle, ref, "kept")
        await self.note(start=await self.known("kept"), **({"lesser": lesser} if lesser else {}))

    async def is_all_pushed(self) -> bool:
        """Whether the branch on GitHub, when last read back, held all that the workspace holds."""
        content = await self.read()
        kept, pushed = await self.known("kept"), await self.known("pushed")
        held = kept if await self.is_ancestor(kept, pushed) else pushed
        return (
            not content.problems
            and content.head is not None
            and content.staged.tree == await self.tree_of(held)
            and await self.is_ancestor(content.head, pushed)
        )

    async def read(self) -> Content:
        """Check in the agent's commits, stage its files. Raises `WorkspaceFailed`."""
        clear_git_locks(self.place.handover)
        base = await self.known("base")
        head: str | None = None
        problems: list[str] = []
        try:
            head = await self._as_others_see_it(await self._check_in(base))
        except (Unreadable, WorkspaceFailed) as trouble:
            problems.append(
                f"The agent's own commits could not be taken over ({trouble}); its files were, "
                f"and the repository stays in {self.place.workspace}."
            )
        if has_stash(self.place.workspace):
            problems.append(f"There is stashed work (`git stash`) in {self.place.workspace}.")
        start = head or await self.known("kept")
        staged = await self._stage("keep.index", start, base)
        if staged.left_out:
            problems.append(_sentence(staged.left_out, self.place.workspace))
        return Content(head, staged, tuple(problems))

    async def commit(self, order: CheckoutOrder, message: str, tree: str, *parents: str) -> str:
        """Write a commit under the App's identity."""
        return await write_commit(self.git, self.place.handover, order, message, tree, *parents)

    async def tree_of(self, commit: str) -> str:
        """The tree of a commit."""
        return await tree_of(self.git, self.place.handover, commit)

    async def is_ancestor(self, older: str, newer: str) -> bool:
        """Whether `newer` holds `older`; every commit holds itself."""
        return await is_ancestor(self.git, self.place.handover, older, newer)

    @property
    def _known_packs_file(self) -> Path:
        return self.place.handover / "known-packs"

    async def _put_aside(self) -> None:
        """Make room for a new start; commits that were never pushed stay on disk."""
        directory = self.place.handover
        if await self.git.answers(directory, "rev-parse", "--verify", "refs/squadron/pushed"):
            kept = await self.known("kept")
            if not await self.is_ancestor(kept, await self.known("pushed")):
                directory.rename(self.place.root / f"handover-{kept[:12]}.git")
                return
        await asyncio.to_thread(delete_tree, directory)

    async def _stage(self, index: str, start: str, base: str) -> Staged:
        """The workspace's files without what nobody wrote."""
        git, place = self.git, self.place
        beginning = await self.beginning()
        leave_out = partial(made_by_tools, git, place.handover, place.workspace, beginning.base)
        staged = await stage(
            git, place.handover, place.workspace, place.handover / index, start, base, leave_out
        )
        tree, made = await self.without_made(beginning, staged.tree)
        return replace(staged, tree=tree, made={**staged.made, **made})

    async def beginning(self) -> Beginning:
        """What the work is compared with to tell what nobody wrote."""
        base, start = await self.known("base"), await self.known("start")
        return Beginning(base, start, await self.known_if_any("setup"))

    async def without_made(
        self, beginning: Beginning, tree: str
    ) -> tuple[str, Mapping[bytes, str]]:
        """A tree of the work without what nobody wrote, and the paths of that."""
        return await without_made(
            self.git, self.place.handover, self.place.workspace, beginning, tree
        )

    async def note_setup(self) -> None:
        """What is untracked now the setup has made."""
        start = await self.known("start")
        staged = await self._stage("setup.index", start, start)
        await self.note(setup=staged.tree)

    async def fault_in(self, sha: str, mirror: Path) -> Fault | None:
        """The first thing that git's strict checks find in all that a commit adds to what the
        mirror holds, as they would on a server that takes it."""
        outgoing = self.place.outgoing
        await self.note(leaving=sha)
        if outgoing.exists():
            await asyncio.to_thread(delete_tree, outgoing)
        try:
            await self.git(None, "init", "--quiet", "--bare", "--template=", str(outgoing))
            (outgoing / "objects/info/alternates").write_text(f"{mirror / 'objects'}\n")
            await self._fetch_strictly(outgoing, self.place.handover, "refs/squadron/leaving")
        except GitFailed as failure:
            if failure.is_transient:
                raise
            return Fault(failure.said, frozenset(_OBJECT.findall(failure.said)))
        else:
            return None
        finally:
            await asyncio.to_thread(delete_tree, outgoing)

    async def _check_in(self, base: str) -> str:
        """Bring the agent's HEAD over, with what it needs, through git's strict checks."""
        head = head_of(self.place.workspace)
        if not await self.git.answers(self.place.handover, "cat-file", "-e", f"{head}^{{commit}}"):
            await self._fetch(head)
        if not await self.is_ancestor(base, head):
            raise Unreadable(f"{head[:12]} is not built on {base[:12]}")
        return head

    async def _as_others_see_it(self, head: str) -> str:
        is_replaced = head == await self.known_if_any("replaced")
        return await self.known("instead") if is_replaced else head

    async def _fetch(self, head: str) -> None:
        incoming = self.place.incoming
        known_packs = frozenset(self._known_packs_file.read_text().splitlines())
        if incoming.exists():
            await asyncio.to_thread(delete_tree, incoming)
        try:
            await self.git(None, "init", "--quiet", "--bare", "--template=", str(incoming))
            objects = incoming / "objects"
            await asyncio.to_thread(copy_objects, self.place.workspace, objects, known_packs)
            (objects / "info").mkdir(exist_ok=True)
            (objects / "info/alternates").write_text(f"{self.place.handover / 'objects'}\n")
            (incoming / _INCOMING).parent.mkdir(parents=True, exist_ok=True)
            (incoming / _INCOMING).write_text(f"{head}\n")
            await self._fetch_strictly(self.place.handover, incoming, _INCOMING, "head")
        finally:
            await asyncio.to_thread(delete_tree, incoming)

    async def _fetch_strictly(self, into: Path, source: Path, ref: str, name: str = "in") -> None:
        """Fetch as `refs/squadron/NAME`; git checks every object that comes."""
        await self.git(
            into,
            *("fetch", "--quiet", "--no-tags", "--no-write-fetch-head"),
            *("--no-recurse-submodules", str(source), f"+{ref}:refs/squadron/{name}"),
            settings={"fetch.fsckObjects": "true"},
            timeout_seconds=NETWORK_SECONDS,
        )

    async def _joined(self, order: CheckoutOrder, message: str, content: Content, kept: str) -> str:
        """A commit that holds the content, and all that was kept before."""
        parents = await self._parents(content.head, kept)
        if len(parents) == 1 and await self.tree_of(parents[0]) == content.staged.tree:
            return parents[0]
        return await self.commit(order, message, content.staged.tree, *parents)

    async def _parents(self, head: str | None, kept: str) -> tuple[str, ...]:
        """On which commits the kept work stands, so that nothing kept or pushed is undone."""
        if head is None or await self.is_ancestor(head, kept):
            return (kept,)
        if await self.is_ancestor(kept, head):
            return (head,)
        return (kept, head)


def _sentence(left_out: tuple[LeftOut, ...], workspace: Path) -> str:
    named = ", ".join(f"`{item.path}` ({item.why})" for item in left_out[:MOST_LEFT_OUT_NAMED])
    more = len(left_out) - MOST_LEFT_OUT_NAMED
    others = f" and {more} more" if more > 0 else ""
    return f"No commit holds {named}{others}: they stay in {workspace}."
