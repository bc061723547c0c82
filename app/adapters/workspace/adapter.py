"""`GitWorkspace`: the `Workspace` port on real git."""

import asyncio
import logging
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from contextlib import asynccontextmanager, contextmanager
from datetime import datetime
from pathlib import Path
from tarfile import TarError
from typing import Final

from app.adapters.workspace import unpushed
from app.adapters.workspace.clone import make_clone, make_clone_apart
from app.adapters.workspace.commits import (
    deleted_tests,
    diff_size,
    have_equal_content,
    merge_base,
    merged_tree,
)
from app.adapters.workspace.dependencies import dependencies
from app.adapters.workspace.follow import catch_up, follow
from app.adapters.workspace.guard import steering_paths
from app.adapters.workspace.handover import Handover, Taken
from app.adapters.workspace.host_git import HostGit
from app.adapters.workspace.in_clone import fetch_bundle
from app.adapters.workspace.mirror import Mirror
from app.adapters.workspace.packed import TooMuch, packed, unpack
from app.adapters.workspace.places import (
    Place,
    agent_directory,
    agents_in,
    check_branches,
    clear_git_locks,
    delete_tree,
    directory_id,
    holds,
    last_tidied,
    locked,
    mirror_path,
    note_tidied,
)
from app.adapters.workspace.publish import Publication
from app.adapters.workspace.pull import pull
from app.adapters.workspace.remote import Remote, TokenFor
from app.core.text.redact import Redactor
from app.ports import (
    Checkout,
    CheckoutOrder,
    GitAway,
    KeptWork,
    Processes,
    Whereabouts,
    WorkspaceFailed,
)

_NOT_PACKED: Final = ("tmp",)
"""Beside a conversation: what a CLI needs while it runs."""
MOST_COMMITS: Final = 50
MOST_PATHS_TOLD: Final = 50
MOST_SUBJECT_CHARACTERS: Final = 200
MOST_CHANGE_BYTES: Final = 2_000_000
"""Of what a reviewer is shown of a change; the files themselves are there whole."""

log = logging.getLogger("squadron.workspace")


@asynccontextmanager
async def _at_work(place: Place) -> AsyncIterator[None]:
    """Alone with the agent's files; what the file system refuses becomes `WorkspaceFailed`."""
    with _file_system(place.root):
        async with locked(place.lock):
            yield


@contextmanager
def _file_system(directory: Path) -> Iterator[None]:
    """What it refuses becomes `WorkspaceFailed`."""
    try:
        yield
    except OSError as failure:
        raise WorkspaceFailed(
            f"{failure.filename or directory}: {failure.strerror}. "
            "Check the free space and the rights of the data directory."
        ) from failure


class GitWorkspace:
    """Mirrors, clones and what is kept of them, under one data directory.

    Every git command is bounded (120 s for the network, 60 s else) and ends with its group.
    """

    def __init__(
        self,
        data_directory: Path,
        git_url: str,
        token: TokenFor,
        processes: Processes,
        agents_processes: Processes,
        redact: Redactor,
        new_name: Callable[[], str],
    ) -> None:
        """`agents_processes` run what reads an agent's own configuration of git; what `redact`
        finds is neither pushed nor told. `new_name` makes up the directory's id."""
        self._new_name = new_name
        self._data_directory = data_directory.absolute()
        self._git_url = git_url
        self._token = token
        self._agents_processes = agents_processes
        self._redact = redact
        self._git = HostGit(processes)

    async def prepare(self, order: CheckoutOrder) -> Checkout:
        """Make or reopen the clone, its branch on GitHub first. Raises `WorkspaceFailed`."""
        check_branches(order)
        place, mirror = self._place(order.agent), self._mirror(order)
        if order.pull_request is not None:
            return await self._pull_request(order, order.pull_request, place, mirror)
        async with _at_work(place):
            head_sha, base_sha = await self._branch(order, place, mirror)
            is_fresh = not place.has_workspace()
            if is_fresh:
                return await self._fresh(order, place, mirror, base_sha, head_sha)
            handover = Handover(self._git, place)
            await catch_up(handover, self._agents_processes, order)
            pulled = await pull(handover, self._agents_processes, order, head_sha)
            base_sha = await handover.known("base")
        return Checkout(place.workspace, base_sha, head_sha, is_fresh, pulled)

    async def _pull_request(
        self, order: CheckoutOrder, number: int, place: Place, mirror: Mirror
    ) -> Checkout:
        """As `prepare`, with nothing pushed: what was checked out once stays, whatever the pull
        request becomes."""
        async with _at_work(place):
            if place.has_workspace():
                handover = Handover(self._git, place)
                base, head = await handover.known("base"), await handover.known("start")
                return Checkout(place.workspace, base, head, is_fresh=False)
            default = (await mirror.refresh(order.default_branch)).get(order.default_branch)
            if default is None:
                raise WorkspaceFailed(
                    f"{order.repository.full_name} has no branch `{order.default_branch}` any more:"
                    f" set another base for #{number}."
                )
            head = await mirror.fetch_pull_request(number)
            base = await merge_base(self._git, mirror.directory, default, head)
            return await self._fresh(order, place, mirror, base, head)

    async def _fresh(
        self, order: CheckoutOrder, place: Place, mirror: Mirror, base: str, head: str
    ) -> Checkout:
        """A new clone, in which and beside which nobody has worked."""
        git, directory = self._git, mirror.directory
        files = await dependencies(git, directory, base)
        is_unchanged = await have_equal_content(git, directory, base, head)
        is_changed = not is_unchanged and await dependencies(git, directory, head) != files
        for left in (place.home, place.temporary):
            if left.exists():
                await asyncio.to_thread(delete_tree, left)
        await make_clone(git, mirror, place, order, base, head)
        return Checkout(
            place.workspace,
            base,
            head,
            is_fresh=True,
            dependencies=files,
            is_unchanged=is_unchanged,
            changes_dependencies=is_changed,
        )

    async def directory_id(self) -> str:
        """Of this data directory. Raises `WorkspaceFailed`."""
        with _file_system(self._data_directory):
            return await asyncio.to_thread(directory_id, self._data_directory, self._new_name)

    async def has(self, agent: str, whereabouts: Whereabouts) -> bool:
        """Whether the agent's files are here. Raises `WorkspaceFailed`."""
        place = self._place(agent)
        with _file_system(place.root):
            return await asyncio.to_thread(holds, self._data_directory, place, whereabouts)

    async def note(self, agent: str, whereabouts: Whereabouts) -> None:
        """Note that they are. Raises `WorkspaceFailed`."""
        place = self._place(agent)
        async with _at_work(place):
            new = place.generation.with_suffix(".new")
            new.write_text(str(whereabouts.generation))
            new.replace(place.generation)

    async def note_setup(self, agent: str) -> None:
        """What its setup has made is no work of the agent."""
        place = self._place(agent)
        async with _at_work(place):
            await Handover(self._git, place).note_setup()

    async def fingerprint(self, directory: Path) -> str:
        """Identify the content of a workspace. Raises `WorkspaceFailed` if it cannot be had."""
        place = Place(directory.parent)
        if directory != place.workspace or not place.has_workspace():
            raise WorkspaceFailed(f"{directory} is not an agent's workspace.")
        async with _at_work(place):
            return await Handover(self._git, place).fingerprint()

    async def keep(
        self, order: CheckoutOrder, message: str, *, is_finished: bool = False
    ) -> KeptWork:
        """Commit, push and read back; what goes wrong is in the answer's `problem`."""
        place = self._place(order.agent)
        try:
            check_branches(order)
            if order.whereabouts is not None and not await self.has(order.agent, order.whereabouts):
                problem = "The work could not be kept: another worker has it in its data directory."
                return KeptWork(sha=None, is_pushed=False, problem=problem)
            if not place.has_workspace():
                return KeptWork(sha=None, is_pushed=False)
            mirror = self._mirror(order)
            async with _at_work(place):
                handover = Handover(self._git, place)
                taken = await handover.take(order, message)
                return await self._hand_over(
                    handover, mirror, order, taken, message, is_finished=is_finished
                )
        except WorkspaceFailed as failure:
            problem = f"The work could not be kept: {failure} It stays in {place.workspace}."
            is_away = isinstance(failure, GitAway)
            return KeptWork(sha=None, is_pushed=False, problem=problem, is_away=is_away)

    async def check_out(self, order: CheckoutOrder, sha: str) -> Checkout:
        """A clean clone of what the host has of the work. Raises `WorkspaceFailed`."""
        check_branches(order)
        place = self._place(order.agent)
        async with _at_work(place):
            handover = Handover(self._git, place)
            base = await handover.known("base")
            await self._delete_apart(place)
            await make_clone_apart(self._git, handover, place.apart, order, base, sha)
            files = await dependencies(self._git, place.handover, base)
        directory = place.apart.workspace
        return Checkout(directory, base, sha, is_fresh=True, dependencies=files, is_unchanged=True)

    async def agents(self) -> Sequence[str]:
        """Whoever has a directory here."""
        with _file_system(self._data_directory):
            return agents_in(self._data_directory)

    async def tidied_at(self) -> datetime | None:
        """As noted in a file; None: there is none, or a power cut has left it unreadable."""
        with _file_system(self._data_directory):
            return last_tidied(self._data_directory)

    async def note_tidied(self, at: datetime) -> None:
        """Write the file."""
        with _file_system(self._data_directory):
            note_tidied(self._data_directory, at)

    async def tidy_up(self, agent: str) -> None:
        """Delete the clone apart, whatever has become of it."""
        place = self._place(agent)
        if place.apart.root.exists():
            async with _at_work(place):
                await self._delete_apart(place)

    async def _delete_apart(self, place: Place) -> None:
        if place.apart.root.exists():
            await asyncio.to_thread(delete_tree, place.apart.root)

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
            branch, processes = order.default_branch, self._agents_processes
            ref = f"refs/heads/{branch}"
            trouble = await fetch_bundle(processes, place.workspace, place.bundle, ref, branch)
        if not trouble:
            return text
        return f"{text}\n\n(These commits could not be brought into the workspace: {trouble})"

    async def delete_branch(self, order: CheckoutOrder, sha: str) -> bool:
        """Delete the branch on GitHub if it is still at `sha`. Raises `WorkspaceFailed`."""
        check_branches(order)
        mirror = self._mirror(order)
        heads = await mirror.refresh(order.branch)
        if order.branch not in heads:
            return True
        if heads[order.branch] != sha:
            return False
        await mirror.remote.delete(mirror.directory, order.branch, expected=sha)
        return True

    async def change(self, order: CheckoutOrder) -> str:
        """What the checked-out pull request changes, from the host's own objects."""
        place = self._place(order.agent)
        async with _at_work(place):
            handover = Handover(self._git, place)
            return await self._git(
                place.handover,
                *("diff", "--no-color", "--no-ext-diff", "--no-textconv", "--find-renames"),
                *("--unified=3", "--src-prefix=a/", "--dst-prefix=b/"),
                *(await handover.known("base"), await handover.known("start"), "--"),
                most_output_bytes=MOST_CHANGE_BYTES,
            )

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
            ours = (place.unfinished, place.handover, place.incoming, place.apart.root)
            for directory in ours:
                if directory.exists():
                    await asyncio.to_thread(delete_tree, directory)
            place.bundle.unlink(missing_ok=True)
        return True

    async def discard(self, agent: str) -> None:
        """Delete the clone, home and temporary files, whatever is in them."""
        place = self._place(agent)
        if not place.root.exists():
            return
        async with _at_work(place):
            for directory in (place.unfinished, place.home, place.temporary):
                if directory.exists():
                    await asyncio.to_thread(delete_tree, directory)
            if place.has_workspace():
                place.workspace.rename(place.unfinished)
                await asyncio.to_thread(delete_tree, place.unfinished)

    async def packed_session(self, agent: str, most_bytes: int) -> bytes | None:
        """The agent's conversation in one piece; None: there is none, or it does not fit."""
        place = self._place(agent)
        async with _at_work(place):
            if not place.session.exists():
                return None
            try:
                return await asyncio.to_thread(packed, place.session, _NOT_PACKED, most_bytes)
            except TooMuch as much:
                log.warning("a conversation is not kept: %s", much, extra={"agent": agent})
                return None

    async def unpack_session(self, agent: str, content: bytes) -> None:
        """Put it where there is none. Raises `WorkspaceFailed`."""
        place = self._place(agent)
        async with _at_work(place):
            try:
                await asyncio.to_thread(unpack, content, place.session)
            except (TooMuch, TarError) as damaged:
                raise WorkspaceFailed(f"The kept conversation is damaged: {damaged}.") from damaged

    async def packed_work(self, order: CheckoutOrder, most_bytes: int) -> bytes | None:
        """What GitHub was not seen to hold, in one piece; None: it does not fit."""
        place = self._place(order.agent)
        async with _at_work(place):
            if not place.has_workspace():
                return b""
            try:
                return await unpushed.packed(Handover(self._git, place), order, most_bytes)
            except TooMuch as much:
                log.warning("work is not kept: %s", much, extra={"agent": order.agent})
                return None
            finally:
                place.bundle.unlink(missing_ok=True)

    async def unpack_work(self, order: CheckoutOrder, content: bytes) -> None:
        """Make a clone of it where there is none. Raises `WorkspaceFailed`."""
        check_branches(order)
        place, mirror = self._place(order.agent), self._mirror(order)
        async with _at_work(place):
            await unpushed.unpack(self._git, mirror, place, order, content)

    async def forget_session(self, agent: str) -> None:
        """Delete the agent's conversation, home directory and temporary files."""
        place = self._place(agent)
        all_of_them = (place.session, place.home, place.temporary)
        directories = [each for each in all_of_them if each.exists()]
        if not directories:
            return
        async with _at_work(place):
            for directory in directories:
                await asyncio.to_thread(delete_tree, directory)

    def _place(self, agent: str) -> Place:
        return Place(agent_directory(self._data_directory, agent))

    def _mirror(self, order: CheckoutOrder) -> Mirror:
        remote = Remote(self._git, order.repository, self._git_url, self._token)
        return Mirror(self._git, mirror_path(self._data_directory, order), remote)

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
        *,
        is_finished: bool,
    ) -> KeptWork:
        publication = Publication(handover, mirror, order, self._redact, is_finished)
        published = await publication.publish(taken.sha, message)
        if published.tidied is not None:
            await follow(handover, self._agents_processes, order, published.tidied)
        default = (await mirror.known_heads())[order.default_branch]
        git, directory = self._git, handover.place.handover
        base = await merge_base(git, directory, default, taken.sha)
        shown = published.sha if published.tidied else taken.sha
        subjects = await git(
            directory,
            *("log", "--no-merges", "--full-history", f"-{MOST_COMMITS}", "--reverse"),
            *("--format=%s", shown, f"^{default}", "--", "."),
        )
        diff = await diff_size(git, directory, base, published.sha)
        _, conflicts = await merged_tree(git, directory, default, published.sha)
        gone = await deleted_tests(git, directory, base, published.sha)
        steering = await steering_paths(git, directory, base, published.sha)
        withheld = (*taken.left_out, *published.withheld)
        is_just_that = await handover.tree_of(published.sha) == taken.tree and not withheld
        is_there = published.is_pushed and is_just_that
        return KeptWork(
            sha=published.sha,
            is_pushed=published.is_pushed,
            problem=self._redact(" ".join((*taken.problems, published.problem)).strip()),
            is_away=published.is_away,
            has_changes=not await have_equal_content(git, directory, base, published.sha),
            diff=diff,
            commits=tuple(
                self._redact(line, MOST_SUBJECT_CHARACTERS) for line in subjects.splitlines()
            ),
            conflicts=tuple(map(self._redact, conflicts[:MOST_COMMITS])),
            diverged=published.diverged,
            was_told=published.was_told,
            content=await handover.fingerprint() if is_there else None,
            withheld=tuple(map(self._redact, withheld[:MOST_PATHS_TOLD])),
            deleted_tests=tuple(map(self._redact, gone[:MOST_PATHS_TOLD])),
            steering=tuple(map(self._redact, steering[:MOST_PATHS_TOLD])),
            made=self._redact.within(taken.made[:MOST_PATHS_TOLD]),
        )
