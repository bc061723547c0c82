"""Workspaces: real git between GitHub and an agent that is not trusted."""

from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from app.ports.github import Repository


class WorkspaceFailed(Exception):
    """git or the file system refused; the text says what, where and what to do. No secrets."""


@dataclass(frozen=True, slots=True)
class CheckoutOrder:
    """What a workspace is prepared for."""

    agent: str
    """The agent's id."""
    repository: Repository
    default_branch: str
    branch: str
    """The agent's own branch; created on GitHub with an empty commit if it is not there."""
    author_name: str
    author_email: str
    """The App's bot identity."""


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


@dataclass(frozen=True, slots=True)
class KeptWork:
    """What became of the work when it was taken out of the workspace."""

    sha: str | None
    """The commit that holds all of it, or None if there was no workspace."""
    is_pushed: bool
    """Whether the remote's branch was read back and is `sha`."""
    problem: str = ""
    """What could not be kept or pushed, and where it is; empty if all went well."""
    has_changes: bool = False
    """Whether the branch differs in content from where it left the default branch."""
    commits: tuple[str, ...] = ()
    """Subjects of the agent's commits, oldest first, at most 50."""


class Workspace(Protocol):
    """Real git: a mirror per repository that only Squadron writes, a clone per agent.

    Host git never runs inside a clone that an agent has written (`facts/security.md` section 4).
    """

    async def prepare(self, order: CheckoutOrder) -> Checkout:
        """Make or reopen the agent's clone and make sure its branch exists on GitHub.

        An existing clone is kept as the agent left it. Raises `WorkspaceFailed`.
        """
        ...

    async def fingerprint(self, directory: Path) -> str:
        """Identify the content of the workspace, untracked files included, ignored ones not."""
        ...

    async def keep(self, order: CheckoutOrder, message: str) -> KeptWork:
        """Commit what is uncommitted, push the branch, read the remote's SHA back.

        Never raises for what git or GitHub refuse: that is `KeptWork.problem`.
        """
        ...

    async def news(self, order: CheckoutOrder, since_sha: str) -> str:
        """What changed on the default branch since `since_sha`, for people; empty if nothing.

        The new commits are made available in the clone as `refs/remotes/origin/<default>`.
        """
        ...

    async def remove(self, agent: str) -> bool:
        """Delete the agent's clone if all of its work is on GitHub; False if it was kept."""
        ...
