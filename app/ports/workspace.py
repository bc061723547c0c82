"""Workspaces: real git between GitHub and an agent that is not trusted."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import ClassVar, Final, Protocol

from app.core.agents.work import KeptWork
from app.ports.blame import Blame, PortFailed
from app.ports.github import Repository

WORK_IN_PROGRESS: Final = "Work in progress"
"""How the message of a commit begins that only keeps what is not finished."""


class WorkspaceFailed(PortFailed):
    """git or the file system refused."""

    blame: ClassVar[Blame] = Blame.MACHINE


class GitAway(WorkspaceFailed):
    """GitHub's git does not answer, or gives no token now: the same may well succeed later. What
    was pushed may or may not have arrived."""

    blame = Blame.GITHUB


@dataclass(frozen=True, slots=True)
class Whereabouts:
    """Where an agent's clone and conversation are: all others are of an earlier day."""

    directory: str
    """The id of a data directory."""
    generation: int
    """How many times the agent has begun, there or elsewhere; a copy of that directory that was
    made before has a lower one."""


@dataclass(frozen=True, slots=True)
class CheckoutOrder:
    """What a workspace is prepared for."""

    agent: str
    """The agent's id."""
    repository: Repository
    """Where it is now."""
    repository_id: int
    """GitHub's; the mirror is found again by it."""
    default_branch: str
    branch: str
    """The agent's own branch; created on GitHub with an empty commit if it is not there."""
    author_name: str
    author_email: str
    """The App's bot identity."""
    co_author: str = ""
    """Who is a co-author of the agent's commits, as `login <address>`; empty: nobody."""
    pull_request: int | None = None
    """A pull request to look at: its head is checked out as `branch`, a name of the clone alone,
    and nothing is ever pushed. `default_branch` is then the branch that it is to be merged into."""
    protected_paths: tuple[str, ...] = ()
    """Of the repository: what agents may not change besides what is always protected, as patterns
    of `.gitignore` (`app.core.rules.protected`)."""
    is_squadrons_own: bool = False
    """Whether Squadron itself writes the work: then no path is protected."""
    whereabouts: Whereabouts | None = None
    """Where the agent's files are; None: wherever they are found."""


@dataclass(frozen=True, slots=True)
class Checkout:
    """A workspace that is ready to be worked in."""

    directory: Path
    """The agent's clone; its HEAD is the agent's branch."""
    base_sha: str
    """The commit of the default branch that the agent's branch started from."""
    head_sha: str
    """The remote head of the agent's branch, verified."""
    is_fresh: bool
    """Whether it was made by this call; then `setup:` has to run."""
    pulled: str = ""
    """What others have pushed to the branch since, for the agent. Untrusted text."""
    dependencies: str = ""
    """Of a fresh one: the digest of the lock files and manifests of `base_sha`; empty where there
    are none."""
    is_unchanged: bool = False
    """Of a fresh one: whether it holds what `base_sha` holds, and nobody's work."""
    changes_dependencies: bool = False
    """Of a fresh one: whether it holds other lock files and manifests than `base_sha`."""


class Workspace(Protocol):
    """Real git: a mirror per repository that only Squadron writes, a clone per agent.

    Host git never runs inside a clone that an agent has written (`facts/security.md` section 4).
    """

    async def prepare(self, order: CheckoutOrder) -> Checkout:
        """Make or reopen the agent's clone and make sure its branch exists on GitHub.

        An existing clone is kept as the agent left it; what others pushed to the branch is merged
        into it. Beside a fresh one nothing is left of an earlier one's home and temporary files:
        what prepares it may have a way out. Raises `WorkspaceFailed`.
        """
        ...

    async def directory_id(self) -> str:
        """Of this data directory; another one, or a new one in its place, has another. Raises
        `WorkspaceFailed`."""
        ...

    async def has(self, agent: str, whereabouts: Whereabouts) -> bool:
        """Whether the agent's files are in this data directory. Raises `WorkspaceFailed`."""
        ...

    async def note(self, agent: str, whereabouts: Whereabouts) -> None:
        """Note that they are. Raises `WorkspaceFailed`."""
        ...

    async def note_setup(self, agent: str) -> None:
        """Note what the setup has made in a fresh clone, before the agent begins: what is untracked
        then is in no commit of the agent as long as it stays what it is. Raises `WorkspaceFailed`.
        """
        ...

    async def fingerprint(self, directory: Path) -> str:
        """Identify the content of the workspace, untracked files included, ignored ones and what
        tools have made not."""
        ...

    async def keep(
        self, order: CheckoutOrder, message: str, *, is_finished: bool = False
    ) -> KeptWork:
        """Commit what is uncommitted, push the branch, read the remote's SHA back.

        All commits that are pushed are the bot's. Those of finished work, which no pull request
        shows yet, take the place of what the branch held, unless others have commits there: they
        are the agent's, and one with that message of what the agent has not committed.

        Never raises for what git or GitHub refuse: that is `KeptWork.problem`.
        """
        ...

    async def check_out(self, order: CheckoutOrder, sha: str) -> Checkout:
        """Make a clean clone apart from the agent's, with an empty home beside it: at the commit
        from which the work left the default branch, and with `sha`, a commit that `keep` has
        answered, to go on to. Nothing of the agent's own clone is in it. One that was made before
        is deleted. Raises `WorkspaceFailed`."""
        ...

    async def agents(self) -> Sequence[str]:
        """Ids of the agents that have files in this data directory. Raises `WorkspaceFailed`."""
        ...

    async def tidied_at(self) -> datetime | None:
        """When this data directory was tidied last; None: nobody knows. Raises
        `WorkspaceFailed`."""
        ...

    async def note_tidied(self, at: datetime) -> None:
        """Remember it, for whatever process comes next. Raises `WorkspaceFailed`."""
        ...

    async def tidy_up(self, agent: str) -> None:
        """Delete what `check_out` has made. A repeat changes nothing. Raises `WorkspaceFailed`."""
        ...

    async def news(self, order: CheckoutOrder, since_sha: str) -> str:
        """What changed on the default branch since `since_sha`, for people; empty if nothing.

        The new commits are made available in the clone as `refs/remotes/origin/<default>`.
        """
        ...

    async def change(self, order: CheckoutOrder) -> str:
        """What the checked-out pull request changes, as git prints it, since it left the branch
        that it is to be merged into; bounded. Raises `WorkspaceFailed`."""
        ...

    async def delete_branch(self, order: CheckoutOrder, sha: str) -> bool:
        """Delete the agent's branch on GitHub if it is still at `sha`; False if it moved on.

        Raises `WorkspaceFailed`.
        """
        ...

    async def remove(self, agent: str) -> bool:
        """Delete the agent's clone if all of its work is on GitHub; False if it was kept."""
        ...

    async def discard(self, agent: str) -> None:
        """Delete the agent's clone, home and temporary files, in which it has not worked yet.

        The next `prepare` makes a fresh clone. Raises `WorkspaceFailed`.
        """
        ...

    async def packed_session(self, agent: str, most_bytes: int) -> bytes | None:
        """The agent's conversation in one piece; None: there is none, or it does not fit. Raises
        `WorkspaceFailed`."""
        ...

    async def unpack_session(self, agent: str, content: bytes) -> None:
        """Put it where there is none. Raises `WorkspaceFailed`."""
        ...

    async def packed_work(self, order: CheckoutOrder, most_bytes: int) -> bytes | None:
        """What the agent's clone holds and GitHub was not seen to hold, in one piece; empty: there
        is nothing; None: it does not fit. The clone stays as it is. Raises `WorkspaceFailed`."""
        ...

    async def unpack_work(self, order: CheckoutOrder, content: bytes) -> None:
        """Make a clone that holds it, where there is none; what was not committed is committed in
        it. Raises `GitAway`; `WorkspaceFailed`, also if the branch on GitHub does not hold any more
        what the work rests on."""
        ...

    async def forget_session(self, agent: str) -> None:
        """Delete the agent's conversation and home directory. A repeat changes nothing."""
        ...
