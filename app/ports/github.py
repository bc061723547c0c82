"""GitHub, as one App sees it."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Protocol

from app.core.escalation import Conclusion
from app.core.trust import Permission


@dataclass(frozen=True, slots=True)
class Repository:
    """A repository as one installation of the App sees it."""

    full_name: str
    """`owner/name`."""
    installation_id: int


class GitHubFailed(Exception):
    """Base of what GitHub answers instead of what was asked for. The text holds no secret."""


class RateLimited(GitHubFailed):
    """A primary or secondary limit; nothing was written. Try again at `resets_at`."""

    def __init__(self, message: str, resets_at: datetime) -> None:
        super().__init__(message)
        self.resets_at = resets_at


class Refused(GitHubFailed):
    """A 4xx that repeating does not cure: missing permission, gone, locked, invalid."""

    def __init__(self, message: str, status: int) -> None:
        super().__init__(message)
        self.status = status


class Unreachable(GitHubFailed):
    """No answer, a time-out, or a 5xx: the write may or may not have happened."""


@dataclass(frozen=True, slots=True)
class RepositoryInfo:
    """What must be known of a repository before an agent starts there."""

    default_branch: str
    is_archived: bool


@dataclass(frozen=True, slots=True)
class Issue:
    """An issue (or a pull request seen as one). Title and body are untrusted text."""

    number: int
    title: str
    body: str
    is_open: bool
    labels: tuple[str, ...]
    assignees: tuple[str, ...]
    author: str
    is_pull_request: bool
    url: str


@dataclass(frozen=True, slots=True)
class Posted:
    """Something our own App wrote: a comment, an issue or a check run."""

    number: int
    """Comment id, issue number, or check run id."""
    url: str
    body: str
    is_open: bool = True
    """Of an issue."""


@dataclass(frozen=True, slots=True)
class PullRequest:
    """A pull request of an agent's branch."""

    number: int
    url: str
    is_open: bool
    is_merged: bool
    head_sha: str


@dataclass(frozen=True, slots=True)
class CheckText:
    """What a check run shows. `conclusion` None: in progress."""

    name: str
    external_id: str
    conclusion: Conclusion | None
    title: str
    summary: str


@dataclass(frozen=True, slots=True)
class Said:
    """What somebody wrote to an agent: a comment or a review. Untrusted text."""

    author: str
    is_bot: bool
    body: str
    at: datetime
    """To the second, as GitHub tells it."""


class GitHub(Protocol):
    """GitHub as one App sees it; every call is bounded and made once (retries are decided above).

    Every method may raise `RateLimited`, `Refused` or `Unreachable`. Look-ups by marker see
    only items that our own App wrote, and read every page.
    """

    async def bot_login(self) -> str:
        """`<slug>[bot]`, the author of everything we write."""
        ...

    async def bot_email(self) -> str:
        """The noreply address under which the bot's commits are shown as its own."""
        ...

    async def repositories(self) -> Sequence[Repository]:
        """Every repository of every installation that is not suspended."""
        ...

    async def repository(self, repository: Repository) -> RepositoryInfo: ...

    async def configuration(self, repository: Repository) -> Mapping[str, bytes]:
        """Files below `.squadron/` on the default branch: `config.yaml`, `agents/<role>.md`."""
        ...

    async def permission(self, repository: Repository, login: str) -> Permission:
        """NONE for somebody unknown."""
        ...

    async def issue(self, repository: Repository, number: int) -> Issue | None:
        """None when it was deleted, transferred, or never existed."""
        ...

    async def issues(
        self, repository: Repository, *, label: str | None = None, assignee: str | None = None
    ) -> Sequence[Issue]:
        """Open issues, pull requests left out, with that label or assignee."""
        ...

    async def labeller(self, repository: Repository, number: int, label: str) -> str | None:
        """Login of who set `label` on the issue last (its timeline), None if nobody did."""
        ...

    async def comments(self, repository: Repository, number: int, marker: str) -> Sequence[Posted]:
        """Our comments on an issue that contain `marker`, oldest first."""
        ...

    async def replies(self, repository: Repository, number: int, since: datetime) -> Sequence[Said]:
        """Comments of others on an issue from `since` on, oldest first."""
        ...

    async def change_requests(
        self, repository: Repository, number: int, since: datetime
    ) -> Sequence[Said]:
        """Reviews of a pull request that ask for changes, from `since` on, oldest first."""
        ...

    async def comment(self, repository: Repository, number: int, body: str) -> Posted: ...

    async def edit_comment(self, repository: Repository, comment: int, body: str) -> Posted: ...

    async def delete_comment(self, repository: Repository, comment: int) -> None: ...

    async def marked_issues(
        self, repository: Repository, label: str, marker: str
    ) -> Sequence[Posted]:
        """Our issues, open and closed, with `label` whose body contains `marker`, oldest first."""
        ...

    async def open_issue(
        self,
        repository: Repository,
        title: str,
        body: str,
        labels: Sequence[str],
        assignees: Sequence[str],
    ) -> Posted:
        """Labels that do not exist are created; people who cannot be assigned are left out."""
        ...

    async def edit_issue(
        self, repository: Repository, number: int, *, body: str | None = None, close: bool = False
    ) -> Posted: ...

    async def checks(
        self, repository: Repository, sha: str, name: str, external_id: str
    ) -> Sequence[Posted]:
        """Our check runs of that name on a commit with that `external_id`, oldest first."""
        ...

    async def create_check(self, repository: Repository, sha: str, check: CheckText) -> Posted: ...

    async def update_check(
        self, repository: Repository, number: int, check: CheckText
    ) -> Posted: ...

    async def pull_request(self, repository: Repository, number: int) -> PullRequest: ...

    async def pull_requests(self, repository: Repository, branch: str) -> Sequence[PullRequest]:
        """Pull requests, open and closed, whose head is `branch` of this repository."""
        ...

    async def open_pull_request(
        self, repository: Repository, *, branch: str, base: str, title: str, body: str
    ) -> PullRequest: ...
