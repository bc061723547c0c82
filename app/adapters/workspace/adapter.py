"""`GitWorkspace`: the `Workspace` port on real git."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Final

from app.adapters.workspace.clone import make_clone
from app.adapters.workspace.commits import have_equal_content, merge_base
from app.adapters.workspace.handover import Handover, Taken
from app.adapters.workspace.host_git import LOCAL_SECONDS, SYSTEM_PATH, HostGit
from app.adapters.workspace.mirror import Mirror
from app.adapters.workspace.places import (
    Place,
    agent_directory,
    check_branches,
    clear_git_locks,
    delete_tree,
    locked,
    mirror_path,
)
from app.adapters.workspace.publish import publish
from app.adapters.workspace.remote import Remote, TokenFor
from app.ports import Checkout, CheckoutOrder, KeptWork, Processes, WorkspaceFailed

MOST_COMMITS: Final = 50
MOST_SUBJECT_CHARACTERS: Final = 200


@asynccontextmanager
async def _at_work(place: Place) -> AsyncIterator[None]:
    """Alone with the agent's files; what the file system refuses becomes `WorkspaceFailed`."""
    try:
        async with locked(place.lock):
            yield
    except OSError as failure:
        raise WorkspaceFailed(
            f"{failure.filename or place.root}: {failure.strerror}. "
            "Check the free space and the rights of the data directory."
        ) from failure


class GitWorkspace:
    """Mirrors, clones and what is kept of them, under one data directory.

    Every git command is bounded (120 s for the network, 60 s else) and ends with its group.
    """

    def __init__(
        self, data_directory: Path, git_url: str, token: TokenFor, processes: Processes
    ) -> None:
        self._data_directory = data_directory.absolute()
        self._git_url = git_url
        self._token = token
        self._processes = processes
        self._git = HostGit(processes)

    async def prepare(self, order: CheckoutOrder) -> Checkout:
        """Make or reopen the clone, its branch on GitHub first. Raises `WorkspaceFailed`."""
        check_branches(order)
        place, mirror = self._place(order.agent), self._mirror(order)
        async with _at_work(place):
            head_sha, base_sha = await self._branch(order, place, mirror)
            is_fresh = not place.has_workspace()
            if is_fresh:
                await make_clone(self._git, mirror, place, order, base_sha, head_sha)
            else:
                base_sha = await Handover(self._git, place).known("base")
        return Checkout(place.workspace, base_sha, head_sha, is_fresh)

    async def fingerprint(self, directory: Path) -> str:
        """Identify the content of a workspace. Raises `WorkspaceFailed` if it cannot be had."""
        place = Place(directory.parent)
        if directory != place.workspace or not place.has_workspace():
            raise WorkspaceFailed(f"{directory} is not an agent's workspace.")
        async with _at_work(place):
            return await Handover(self._git, place).fingerprint()

    async def keep(self, order: CheckoutOrder, message: str) -> KeptWork:
        """Commit, push and read back; what goes wrong is in the answer's `problem`."""
        place = self._place(order.agent)
        try:
            check_branches(order)
            if not place.has_workspace():
                return KeptWork(sha=None, is_pushed=False)
            mirror = self._mirror(order)
            async with _at_work(place):
                handover = Handover(self._git, place)
                taken = await handover.take(order, message)
                return await self._hand_over(handover, mirror, order, taken, message)
        except WorkspaceFailed as failure:
            problem = f"The work could not be kept: {failure} It stays in {place.workspace}."
            return KeptWork(sha=None, is_pushed=False, problem=problem)

    async def news(self, order: CheckoutOrder, since_sha: str) -> str:
        """What is new on the default branch, and bring it into the clone."""
        check_branches(order)
        place, mirror = self._place(order.agent), self._mirror(order)
        heads = await mirror.refresh(order.default_branch)
        head = heads.get(order.default_branch)
        if head is None or head == since_sha:
            return ""
        text = await mirror.describe(since_sha, head)
        if not place.has_workspace():
            return text
        async with _at_work(place):
            clear_git_locks(place.root)
            await mirror.bundle(order.default_branch, since_sha, place.bundle)
            trouble = await self._fetch_in_clone(place, order.default_branch)
        return f"{text}\n\n{trouble}".rstrip()

    async def remove(self, agent: str) -> bool:
        """Delete the clone if GitHub was seen to hold all that is in it."""
        place = self._place(agent)
        async with _at_work(place):
            if place.has_workspace():
                if not await Handover(self._git, place).is_all_pushed():
                    return False
                if place.unfinished.exists():
                    await asyncio.to_thread(delete_tree, place.unfinished)
                place.workspace.rename(place.unfinished)
            for directory in (place.unfinished, place.handover, place.incoming):
                if directory.exists():
                    await asyncio.to_thread(delete_tree, directory)
            place.bundle.unlink(missing_ok=True)
        return True

    def _place(self, agent: str) -> Place:
        return Place(agent_directory(self._data_directory, agent))

    def _mirror(self, order: CheckoutOrder) -> Mirror:
        remote = Remote(self._git, order.repository, self._git_url, self._token)
        return Mirror(self._git, mirror_path(self._data_directory, order.repository), remote)

    async def _branch(self, order: CheckoutOrder, place: Place, mirror: Mirror) -> tuple[str, str]:
        """Make sure the branch exists on GitHub; its head there, and where it left the default."""
        heads = await mirror.refresh(order.default_branch, order.branch)
        default = heads.get(order.default_branch)
        if default is None:
            raise WorkspaceFailed(
                f"{order.repository.full_name} has no branch `{order.default_branch}`: "
                "push a first commit to it."
            )
        if order.branch not in heads:
            if place.has_workspace():
                handover = Handover(self._git, place)
                known = await handover.known("pushed")
                await mirror.remote.push(place.handover, known, order.branch, expected=None)
            else:
                await mirror.start_branch(order, default)
            heads = await mirror.refresh(order.default_branch, order.branch)
        head = heads.get(order.branch)
        if head is None:
            raise WorkspaceFailed(
                f"The branch `{order.branch}` was pushed to {order.repository.full_name}, "
                "and is not there."
            )
        base = await merge_base(self._git, mirror.directory, heads[order.default_branch], head)
        return head, base

    async def _hand_over(
        self,
        handover: Handover,
        mirror: Mirror,
        order: CheckoutOrder,
        taken: Taken,
        message: str,
    ) -> KeptWork:
        published = await publish(handover, mirror, order, taken.sha, message)
        default = (await mirror.known_heads())[order.default_branch]
        git, directory = self._git, handover.place.handover
        base = await merge_base(git, directory, default, taken.sha)
        subjects = await git(
            directory,
            *("log", "--no-merges", "--full-history", f"-{MOST_COMMITS}", "--reverse"),
            *("--format=%s", taken.sha, f"^{default}", "--", "."),
        )
        return KeptWork(
            sha=published.sha,
            is_pushed=published.is_pushed,
            problem=" ".join((*taken.problems, published.problem)).strip(),
            has_changes=not await have_equal_content(git, directory, base, published.sha),
            commits=tuple(line[:MOST_SUBJECT_CHARACTERS] for line in subjects.splitlines()),
        )

    async def _fetch_in_clone(self, place: Place, branch: str) -> str:
        """Fetch the bundle as the agent would, with no more rights than its own shell.

        Host git must not run there: the clone's configuration is the agent's.
        """
        tracking = f"+refs/heads/{branch}:refs/remotes/origin/{branch}"
        quiet = ("-c", "core.hooksPath=/dev/null", "-c", "core.fsmonitor=false", "-c", "gc.auto=0")
        ended = await self._processes.run(
            [
                *("git", *quiet, "fetch", "--quiet", "--no-tags", "--no-recurse-submodules"),
                *("--no-write-fetch-head", str(place.bundle), tracking),
            ],
            cwd=place.workspace,
            environment={
                "PATH": SYSTEM_PATH,
                "LC_ALL": "C",
                "HOME": str(place.workspace),
                "GIT_ALLOW_PROTOCOL": "file",
                "GIT_TERMINAL_PROMPT": "0",
            },
            timeout_seconds=LOCAL_SECONDS,
        )
        if ended.exit_code == 0:
            return ""
        return f"(These commits could not be brought into the workspace: {ended.output[:500]})"
