"""A twin of the workspaces: an agent's files on disk, its commits in the box's memory.

What it pushes moves the references of the box, so that GitHub tells of it.
"""

import asyncio
import hashlib
import shutil
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path, PurePosixPath
from tarfile import TarError

from app.adapters.workspace import agent_directory
from app.adapters.workspace.packed import packed, unpack
from app.core.agents.events import DiffSize, MadeFiles
from app.githubbox.box import Box
from app.githubbox.git import EMPTY_TREE, NOTHING, GitFailed
from app.ports import (
    WORK_IN_PROGRESS,
    Checkout,
    CheckoutOrder,
    GitAway,
    KeptWork,
    Whereabouts,
    WorkspaceFailed,
)
from app.testruns import is_test_file
from tests.twins import tidying
from tests.twins.git import Files, MemoryGit
from tests.twins.lives import check_alive, outside

DEPENDENCIES = ("pyproject.toml", "package.json", "requirements.txt")
"""What says in stories what code depends on."""


@dataclass
class Clone:
    """What is known of an agent's clone besides its files."""

    git: MemoryGit
    directory: Path
    base: str
    """Where its branch left the default branch."""
    head: str
    """Its newest commit."""
    pushed: str
    """What GitHub was seen to have."""
    made: Files = field(default_factory=dict)
    """What the setup left untracked."""
    left: str = ""
    """Its branch's newest commit, while something else is checked out."""
    told: str = ""
    """The commit of others of which the agent knows that it conflicts with its own."""

    def files(self) -> dict[str, bytes]:
        """What is in the directory."""
        found = (each for each in sorted(self.directory.rglob("*")) if each.is_file())
        return {str(each.relative_to(self.directory)): each.read_bytes() for each in found}

    def work(self) -> dict[str, bytes]:
        """The same, without what the setup has made."""
        return {path: held for path, held in self.files().items() if self.made.get(path) != held}

    def named(self) -> tuple[MadeFiles, ...]:
        """What was left out, by directory where there is no other file."""
        gone, held = {*self.files()} - {*self.work()}, self.git.files(self.base)
        names = Counter(_named(path, held) for path in gone)
        return tuple(MadeFiles(name, files) for name, files in sorted(names.items()))

    def write(self, files: Files) -> None:
        """Make the directory hold just that."""
        shutil.rmtree(self.directory, ignore_errors=True)
        self.directory.mkdir(parents=True)
        for path, content in files.items():
            (self.directory / path).parent.mkdir(parents=True, exist_ok=True)
            (self.directory / path).write_bytes(content)

    def commit(self, message: str, name: str, email: str, *merged: str) -> None:
        """A commit of what is there, if that is new."""
        files = self.work()
        if merged or files != dict(self.git.files(self.head)):
            self.head = self.git.make(files, [self.head, *merged], message, name, email)

    def is_pushed(self) -> bool:
        """Whether GitHub was seen to have all of it."""
        return self.head == self.pushed and self.work() == dict(self.git.files(self.head))

    def go_back(self) -> None:
        """Check the branch out again."""
        self.go_to(self.left)
        self.left = ""

    def detach(self, sha: str) -> None:
        """Check a commit out, and no branch."""
        self.left = self.left or self.head
        self.go_to(sha)

    def go_to(self, sha: str) -> None:
        """Check a commit out; what is not tracked stays."""
        before, untracked = self.git.files(self.head), self.files()
        left = {path: held for path, held in untracked.items() if path not in before}
        self.write({**left, **self.git.files(sha)})
        self.head = sha

    def merge(self, branch: str, name: str, email: str) -> None:
        """Bring a branch of GitHub in; where both have another, our own stays."""
        there = self.git.head(branch)
        assert there is not None, f"there is no branch {branch}"
        base = self.git.parted(self.head, there)
        merged, _ = self.git.merged(base, self.files(), self.git.files(there))
        self.write(merged)
        self.commit(f"Merge {branch}", name, email, there)

    def has(self, sha: str) -> bool:
        """Whether its commits rest on that one."""
        return self.git.parted(self.head, sha) == sha


@dataclass
class Disk:
    """What a machine has of agents besides their files."""

    name: str
    clones: dict[str, Clone] = field(default_factory=dict)
    apart: dict[str, Clone] = field(default_factory=dict)
    """What was checked out apart, by the agent whose work it is."""
    generations: dict[str, int] = field(default_factory=dict)
    """How many times each agent had begun when it began here last."""
    tidied_at: datetime | None = None


class TwinWorkspace:
    """Implements `ports.Workspace`. It is the disk: it outlives the service's process."""

    def __init__(self, box: Box, data_directory: Path) -> None:
        self.away = ""
        """Why GitHub's git does not answer; empty: it does."""
        self.keeps_nothing = ""
        """Why it does not answer when work is pushed; empty: it does."""
        self.packs_no_conversation = ""
        """Why no conversation can be packed to be kept; empty: each can."""
        self.checks_out_nothing = ""
        """Why nothing can be checked out apart; empty: it can."""
        self.refused = ""
        """Why GitHub takes no push; empty: it does."""
        self.defect: Exception | None = None
        """What it raises that no port knows, whenever a clone is prepared or its work is kept."""
        self.calls: list[str] = []
        """What was asked of it, oldest first."""
        self._box = box
        self._data = data_directory
        self._disk = Disk("first")
        self._other_disks: dict[str, Disk] = {}

    @property
    def _clones(self) -> dict[str, Clone]:
        return self._disk.clones

    @property
    def _apart(self) -> dict[str, Clone]:
        return self._disk.apart

    def moves_to(self, machine: str) -> None:
        """The next process has the disk of that machine; it is empty if none had it before."""
        agents, ours = self._data / "agents", self._disk
        if agents.exists():
            agents.rename(self._data.with_name(f"agents on {ours.name}"))
        self._other_disks[ours.name] = ours
        self._disk = self._other_disks.pop(machine, Disk(machine))
        there = self._data.with_name(f"agents on {machine}")
        if there.exists():
            there.rename(agents)

    def clone_at(self, directory: Path) -> Clone:
        """The clone that is in that directory."""
        clones = (*self._clones.values(), *self._apart.values())
        found = [each for each in clones if each.directory == directory]
        if not found:
            raise WorkspaceFailed(f"{directory} is not an agent's workspace.")
        return found[0]

    async def prepare(self, order: CheckoutOrder) -> Checkout:
        git = self._git(f"prepare {order.agent}", order)
        if self.defect is not None:
            raise self.defect
        default = self._default(git, order)
        if order.pull_request is not None:
            return await self._pull_request(git, order, order.pull_request, default)
        clone = self._clones.get(order.agent)
        if git.head(order.branch) is None:
            start = clone.pushed if clone else self._start(git, order, default)
            await self._push(order, start, NOTHING)
        head = git.head(order.branch)
        assert head is not None
        base = git.parted(default, head)
        if clone is not None:
            pulled = self._pull(clone, order, head)
            return Checkout(clone.directory, clone.base, head, is_fresh=False, pulled=pulled)
        if base == EMPTY_TREE:
            raise WorkspaceFailed(f"{default[:12]} and {head[:12]} share no history.")
        return self._fresh(git, order, base, head)

    def _fresh(self, git: MemoryGit, order: CheckoutOrder, base: str, head: str) -> Checkout:
        clone = self._clones[order.agent] = self._made(git, order, base, head)
        for beside in ("home", "tmp"):
            shutil.rmtree(clone.directory.with_name(beside), ignore_errors=True)
        before, after = dict(git.files(base)), dict(git.files(head))
        changed = {path for path in {*before, *after} if before.get(path) != after.get(path)}
        return Checkout(
            clone.directory,
            base,
            head,
            is_fresh=True,
            is_unchanged=not changed,
            changes_dependencies=any(Path(path).name in DEPENDENCIES for path in changed),
        )

    async def directory_id(self) -> str:
        self._asked("directory_id")
        return self._disk.name

    async def has(self, agent: str, whereabouts: Whereabouts) -> bool:
        self._asked(f"has {agent}")
        is_here = whereabouts.directory == self._disk.name
        return is_here and self._disk.generations.get(agent, 0) >= whereabouts.generation

    async def note(self, agent: str, whereabouts: Whereabouts) -> None:
        self._asked(f"note {agent}")
        self._disk.generations[agent] = whereabouts.generation

    async def note_setup(self, agent: str) -> None:
        self._asked(f"note_setup {agent}")
        clone = self._clones[agent]
        tracked = clone.git.files(clone.head)
        clone.made = {path: held for path, held in clone.files().items() if path not in tracked}

    async def fingerprint(self, directory: Path) -> str:
        self._asked(f"fingerprint {directory.parent.name}")
        return _identity(self.clone_at(directory))

    async def keep(
        self, order: CheckoutOrder, message: str, *, is_finished: bool = False
    ) -> KeptWork:
        clone = self._clones.get(order.agent)
        if self.defect is not None:
            raise self.defect
        if order.whereabouts is not None and not await self.has(order.agent, order.whereabouts):
            problem = "The work could not be kept: another worker has it in its data directory."
            return KeptWork(sha=None, is_pushed=False, problem=problem)
        if clone is None:
            return KeptWork(sha=None, is_pushed=False)
        try:
            git = self._git(f"keep {order.agent}", order)
            clone.commit(message, order.author_name, order.author_email)
            default = self._default(git, order)
        except WorkspaceFailed as failed:
            problem = f"The work could not be kept: {failed} It stays in {clone.directory}."
            return KeptWork(sha=None, is_pushed=False, problem=problem)
        if not is_finished or not await self._replace(clone, order, default, message):
            problem, diverged, is_away = await self._publish(clone, order, default)
        else:
            problem, diverged, is_away = "", False, False
        base = git.parted(default, clone.head)
        _, conflicts = git.merged(base, git.files(default), git.files(clone.head))
        own = [each for each in reversed(git.since(clone.head, default)) if len(each.parents) < 2]
        changed = [one for one in own if self._changes(git, one.sha, one.parents[0])]
        holds = clone.work() == dict(git.files(clone.head))
        return KeptWork(
            sha=clone.head,
            is_pushed=not problem,
            problem=problem,
            is_away=is_away,
            has_changes=dict(git.files(base)) != dict(git.files(clone.head)),
            commits=tuple(one.message.splitlines()[0] for one in changed),
            diff=self._changes(git, clone.head, base) or DiffSize(files=0, added=0, deleted=0),
            conflicts=conflicts,
            diverged=diverged,
            was_told=diverged and clone.told == git.head(order.branch),
            content=_identity(clone) if not problem and holds else None,
            made=clone.named(),
            deleted_tests=tuple(
                path
                for path in sorted({*git.files(base)} - {*git.files(clone.head)})
                if is_test_file(path)
            ),
        )

    async def check_out(self, order: CheckoutOrder, sha: str) -> Checkout:
        self._asked(f"check_out {order.agent}")
        if self.checks_out_nothing:
            raise WorkspaceFailed(self.checks_out_nothing)
        clone = self._clones[order.agent]
        directory = clone.directory.parent / "apart" / "workspace"
        apart = Clone(clone.git, directory, clone.base, clone.base, pushed=sha)
        apart.write(clone.git.files(clone.base))
        self._apart[order.agent] = apart
        return Checkout(directory, clone.base, sha, is_fresh=True, is_unchanged=True)

    async def agents(self) -> Sequence[str]:
        self._asked("agents")
        return sorted(self._disk.generations)

    async def tidied_at(self) -> datetime | None:
        self._asked("tidied_at")
        return self._disk.tidied_at

    async def note_tidied(self, at: datetime) -> None:
        self._asked("note_tidied")
        self._disk.tidied_at = at

    async def tidy_up(self, agent: str) -> None:
        self._asked(f"tidy_up {agent}")
        self._apart.pop(agent, None)
        shutil.rmtree(agent_directory(self._data, agent) / "apart", ignore_errors=True)

    async def news(self, order: CheckoutOrder, since_sha: str) -> str:
        git = self._git(f"news {order.agent}", order)
        head = self._default(git, order)
        new = git.since(head, since_sha)
        subjects = [f"{one.sha[:7]} {one.message.splitlines()[0]}" for one in new]
        changed = [one.path for one in await git.changes(since_sha, head)]
        return "\n".join([f"{len(new)} new commits:", *subjects, *changed]) if new else ""

    async def change(self, order: CheckoutOrder) -> str:
        git = self._git(f"change {order.agent}", order)
        clone = self._clones[order.agent]
        return (await git.diff(clone.base, clone.head)).decode()

    async def delete_branch(self, order: CheckoutOrder, sha: str) -> bool:
        git = self._git(f"delete_branch {order.agent}", order)
        there = git.head(order.branch)
        if there is None:
            return True
        if there != sha:
            return False
        await self._push(order, NOTHING, there)
        return True

    async def remove(self, agent: str) -> bool:
        self._asked(f"remove {agent}")
        clone = self._clones.get(agent)
        if clone is None:
            return True
        if not clone.is_pushed():
            return False
        await self._delete(agent)
        return True

    async def discard(self, agent: str) -> None:
        self._asked(f"discard {agent}")
        await self._delete(agent)

    async def packed_session(self, agent: str, most_bytes: int) -> bytes | None:
        self._asked(f"packed_session {agent}")
        if self.packs_no_conversation:
            raise WorkspaceFailed(self.packs_no_conversation)
        session = agent_directory(self._data, agent) / "session"
        return packed(session, (), most_bytes) if session.exists() else None

    async def unpack_session(self, agent: str, content: bytes) -> None:
        self._asked(f"unpack_session {agent}")
        try:
            unpack(content, agent_directory(self._data, agent) / "session")
        except TarError as damaged:
            raise WorkspaceFailed(f"The kept conversation is damaged: {damaged}.") from damaged

    async def packed_work(self, order: CheckoutOrder, most_bytes: int) -> bytes | None:
        self._asked(f"packed_work {order.agent}")
        clone = self._clones.get(order.agent)
        if clone is None or clone.is_pushed():
            return b""
        work, email = clone.work(), order.author_email
        is_new = work != dict(clone.git.files(clone.head))
        message = f"{WORK_IN_PROGRESS} of {order.agent}"
        head = (
            clone.git.make(work, [clone.head], message, order.author_name, email)
            if is_new
            else clone.head
        )
        return f"{clone.pushed} {head}".encode()

    async def unpack_work(self, order: CheckoutOrder, content: bytes) -> None:
        git = self._git(f"unpack_work {order.agent}", order)
        pushed, _, head = content.decode().partition(" ")
        if not head:
            raise WorkspaceFailed("The kept work is damaged: it does not say what it rests on.")
        there = git.head(order.branch)
        if there is None or git.parted(there, pushed) != pushed:
            raise WorkspaceFailed(f"The kept work rests on {pushed[:12]}, which is gone.")
        base = git.parted(self._default(git, order), pushed)
        self._clones[order.agent] = self._made(git, order, base, head)
        self._clones[order.agent].pushed = pushed

    async def forget_session(self, agent: str) -> None:
        self._asked(f"forget_session {agent}")
        for name in ("session", "home", "tmp"):
            shutil.rmtree(agent_directory(self._data, agent) / name, ignore_errors=True)

    # --- within --------------------------------------------------------------------------------

    def _asked(self, call: str) -> None:
        check_alive()
        self.calls.append(call)

    def _reached(self) -> None:
        if self.away:
            raise GitAway(self.away)

    def _git(self, call: str, order: CheckoutOrder) -> MemoryGit:
        self._asked(call)
        if not call.startswith(("keep ", "change ")):  # these begin on the disk
            self._reached()
        repository = self._box.world.repository(order.repository.full_name)
        if repository is None or not isinstance(repository.git, MemoryGit):
            raise WorkspaceFailed(f"{order.repository.full_name} is not there.")
        return repository.git

    def _default(self, git: MemoryGit, order: CheckoutOrder) -> str:
        head = git.head(order.default_branch)
        if head is None:
            raise WorkspaceFailed(
                f"{order.repository.full_name} has no branch `{order.default_branch}`: "
                "push a first commit to it."
            )
        return head

    def _start(self, git: MemoryGit, order: CheckoutOrder, default: str) -> str:
        message = f"Start of {order.agent}"
        files, who = git.files(default), (order.author_name, order.author_email)
        return git.make(files, [default], message, *who)

    def _made(self, git: MemoryGit, order: CheckoutOrder, base: str, head: str) -> Clone:
        directory = agent_directory(self._data, order.agent) / "workspace"
        clone = Clone(git, directory, base, head, pushed=head)
        clone.write(git.files(head))
        return clone

    async def _pull_request(
        self, git: MemoryGit, order: CheckoutOrder, number: int, default: str
    ) -> Checkout:
        clone = self._clones.get(order.agent)
        if clone is not None:
            return Checkout(clone.directory, clone.base, clone.head, is_fresh=False)
        head = await git.resolve(f"pull/{number}/head")
        if head is None:
            raise WorkspaceFailed(f"#{number} has no head.")
        return self._fresh(git, order, git.parted(default, head), head)

    def _pull(self, clone: Clone, order: CheckoutOrder, there: str) -> str:
        """Bring what others pushed into the clone; what is new, for the agent."""
        who = (order.author_name, order.author_email)
        if clone.has(there):
            return ""
        clone.commit(f"Work in progress of {order.agent}", *who)
        git = clone.git
        new = git.since(there, clone.head)
        words = [f"Others pushed to {order.branch}:"]
        words += [f"{one.sha[:7]} {one.author.name}: {one.message.splitlines()[0]}" for one in new]
        base = git.parted(clone.head, there)
        merged, conflicts = git.merged(base, git.files(clone.head), git.files(there))
        if conflicts:
            clone.told = there
            found = ", ".join(conflicts)
            return "\n".join([*words, "", f"They conflict with your commits in: {found}."])
        clone.write(merged)
        if base == clone.head:
            clone.head = there
        else:
            clone.commit(f"Merge what others pushed to {order.branch}", *who, there)
        return "\n".join([*words, "", "They are merged into your branch."])

    async def _replace(
        self, clone: Clone, order: CheckoutOrder, default: str, message: str
    ) -> bool:
        """Put finished work in the place of what the branch holds, where that may be."""
        there = clone.git.head(order.branch)
        held = there or clone.pushed
        new = tidying.finished(clone.git, order, clone.head, held, default, message)
        if new is None or self.away or self.keeps_nothing:
            return False
        try:
            if there != new:
                await self._push(order, new, there or NOTHING)
        except WorkspaceFailed:
            return False
        clone.head = clone.pushed = new
        return True

    async def _publish(
        self, clone: Clone, order: CheckoutOrder, default: str
    ) -> tuple[str, bool, bool]:
        """Push the clone's commits; the problem, whether others are in the way, or git is away."""
        git, there = clone.git, clone.git.head(order.branch)
        seen = [default, clone.pushed, *([there] if there else ())]
        clone.head = tidying.ours(git, order, clone.head, seen)
        if there is not None and not clone.has(there):
            if git.parted(clone.head, there) == clone.head:
                clone.head = clone.pushed = there
                return "", False, False
            base = git.parted(clone.head, there)
            merged, conflicts = git.merged(base, git.files(clone.head), git.files(there))
            if conflicts:
                named = ", ".join(f"`{path}`" for path in conflicts)
                problem = (
                    f"{clone.head[:12]} is not on GitHub: others pushed to `{order.branch}`"
                    f" (now {there[:12]}) what conflicts with it in {named}."
                )
                return problem, True, False
            clone.write(merged)
            who = (order.author_name, order.author_email)
            clone.commit(f"Merge what others pushed to {order.branch}", *who, there)
        try:
            self._reached()
            if self.keeps_nothing:
                raise GitAway(self.keeps_nothing)
            if there != clone.head:
                await self._push(order, clone.head, there or NOTHING)
        except WorkspaceFailed as failed:
            problem = f"{clone.head[:12]} is not on GitHub: {failed}"
            return problem, False, isinstance(failed, GitAway)
        clone.pushed = clone.head
        return "", False, False

    async def _push(self, order: CheckoutOrder, new: str, old: str) -> None:
        if self.refused:
            raise WorkspaceFailed(self.refused)
        name, ref = order.repository.full_name, f"refs/heads/{order.branch}"
        try:
            await asyncio.shield(outside(self._box.push(name, ref, new, old, by=None)))
        except GitFailed as failed:
            raise WorkspaceFailed(str(failed)) from None

    def _changes(self, git: MemoryGit, sha: str, before: str) -> DiffSize | None:
        """How far two commits differ; None: not at all."""
        new, old = git.files(sha), git.files(before)
        if dict(new) == dict(old):
            return None
        found = git.differences(before, sha)
        added, deleted = (sum(part) for part in zip(*found, strict=True))
        return DiffSize(files=len(found), added=added, deleted=deleted)

    async def _delete(self, agent: str) -> None:
        self._clones.pop(agent, None)
        shutil.rmtree(agent_directory(self._data, agent) / "workspace", ignore_errors=True)


def _named(path: str, held: Files) -> str:
    """The topmost directory above a path that these files are not in; itself, if there is none."""
    parents = [f"{each}/" for each in [*PurePosixPath(path).parents][-2::-1]]
    new = [each for each in parents if not any(one.startswith(each) for one in held)]
    return new[0] if new else path


def _identity(clone: Clone) -> str:
    return hashlib.sha1(repr(sorted(clone.work().items())).encode()).hexdigest()
