"""GitHub, as one App sees it."""

from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from datetime import datetime
from typing import Literal, Protocol

from app.core.agents.events import LineComment
from app.core.commands.buttons import Button
from app.core.effects.check_run import CheckRun, Conclusion
from app.core.github.checks import FailedCheck
from app.core.github.comment_kinds import CommentKind
from app.core.github.timeline import Mark
from app.core.rules.trust import Permission
from app.core.steering.feedback import Review
from app.ports.blame import Blame, PortFailed


@dataclass(frozen=True, slots=True)
class Repository:
    """A repository as one installation of the App sees it."""

    full_name: str
    """`owner/name`."""
    installation_id: int


class GitHubFailed(PortFailed):
    """Base of what GitHub answers instead of what was asked for."""

    blame = Blame.GITHUB


class RateLimited(GitHubFailed):
    """A primary or secondary limit; nothing was written. Try again at `resets_at`."""

    def __init__(self, message: str, resets_at: datetime) -> None:
        super().__init__(message)
        self.resets_at = resets_at


class Paced(RateLimited):
    """Not sent, to keep below GitHub's limits: there may be room at `resets_at`."""


class Refused(GitHubFailed):
    """A 4xx that repeating does not cure: missing permission, gone, locked, invalid."""

    def __init__(self, message: str, status: int) -> None:
        super().__init__(message)
        self.status = status


class NoAccess(Refused):
    """The App does not reach the repository at present: it was uninstalled or suspended, or the
    repository is not one of the installation's. That can change again."""

    blame = Blame.PEOPLE

    def __init__(self, message: str) -> None:
        super().__init__(message, 403)


class Unreadable(Refused):
    """What is there is not read: there is too much of it, or it is no plain file."""

    blame = Blame.CONFIGURATION

    def __init__(self, path: str, message: str) -> None:
        super().__init__(f"{path} {message}", 422)
        self.path = path
        """Of what is wrong, in the repository."""
        self.message = message


class Unreachable(GitHubFailed):
    """No answer, a time-out, or a 5xx: the write may or may not have happened."""


@dataclass(frozen=True, slots=True)
class Listed:
    """What the App can see."""

    repositories: Mapping[int, Repository]
    """By GitHub's id."""
    tips: Mapping[str, str]
    """By full name: changes whenever somebody pushes to the repository, or another branch becomes
    the default one. To the second, as GitHub tells it."""
    archived: frozenset[str]
    """By full name: nothing can be written there."""
    unlisted: Mapping[int, GitHubFailed]
    """Installations whose repositories GitHub did not list, and why: about these nothing is
    known."""


@dataclass(frozen=True, slots=True)
class RepositoryInfo:
    """What must be known of a repository before an agent starts there."""

    id: int
    """It stays the same wherever the repository moves."""
    full_name: str
    """Where it is now; whoever asks by a former name is sent there."""
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
    created_at: datetime
    updated_at: datetime
    """Whatever happens to it or is written below it moves this, to the second."""
    closed_at: datetime | None
    was_reopened: bool = False
    """Whether an open issue was closed before. GitHub does not say it of pull requests."""


@dataclass(frozen=True, slots=True)
class Edit:
    """That somebody changed an issue, or set a label on it."""

    by: str
    """Login; of an App with `[bot]`."""
    is_bot: bool
    at: datetime
    """To the second, as GitHub tells it."""


@dataclass(frozen=True, slots=True)
class Posted:
    """Something our own App wrote: a comment, an issue or a review."""

    number: int
    """Comment id, issue number, or review id."""
    url: str
    body: str
    is_open: bool = True
    """Of an issue."""
    at: datetime | None = None
    """When an issue was opened, to the second."""


@dataclass(frozen=True, slots=True)
class PullRequest:
    """A pull request of an agent's branch."""

    number: int
    url: str
    is_open: bool
    is_merged: bool
    head_sha: str
    head: str = ""
    """Owner and branch, `octo:fix`: a fork's owner is another one."""
    base: str = ""
    """The branch that it is to be merged into."""
    is_mergeable: bool | None = None
    """False: it conflicts with its base. None: GitHub has not worked it out yet, or a list was
    asked, which does not say."""
    closed_at: datetime | None = None
    """Or merged."""
    is_draft: bool = False
    body: str = ""


@dataclass(frozen=True, slots=True)
class Head:
    """What a pull request is about to merge, as of now."""

    pull_request: int
    sha: str
    is_here: bool
    """Whether its branch is in the repository itself, rather than in a fork."""


@dataclass(frozen=True, slots=True)
class Annotation:
    """A failure that a check shows on a line of a file."""

    path: str
    """From the repository's root."""
    line: int
    """From 1."""
    message: str


@dataclass(frozen=True, slots=True)
class CheckText:
    """What a check run shows. `conclusion` None: in progress."""

    conclusion: Conclusion | None
    title: str
    summary: str
    annotations: tuple[Annotation, ...] = ()
    """At most 50. GitHub adds them to those that the check has, so give them once."""
    buttons: tuple[Button, ...] = ()
    """At most three."""


@dataclass(frozen=True, slots=True)
class Said:
    """What somebody wrote to an agent in a comment. Untrusted text."""

    number: int
    """Comment id."""
    author: str
    is_bot: bool
    body: str
    at: datetime
    """To the second, as GitHub tells it."""
    thread: int
    """The issue or pull request that it stands under."""
    edited_at: datetime | None = None
    """When the text was last edited, as far as that is told; None: never."""
    kind: CommentKind = "comment"
    review: int | None = None
    """GitHub's id of the review that it is part of."""
    link: str = ""
    """To the comment."""

    @property
    def is_edited(self) -> bool:
        """Whether it was edited, or may have been: of reviews GitHub does not say."""
        return self.edited_at is not None or self.kind == "review"


@dataclass(slots=True)
class Spent:
    """What a piece of work has cost in requests so far."""

    requests: int = 0
    """All, token requests left out."""
    unchanged: int = 0
    """Of these: answered with 304, which count against no rate limit."""
    for_tokens: int = 0


Reaction = Literal["eyes", "rocket", "confused"]
"""To a comment with commands: seen, done, not done (GitHub: create reaction, `content`)."""


class GitHub(Protocol):
    """GitHub as one App sees it; every call is bounded and made once (retries are decided above).

    Every method may raise `RateLimited`, `Refused` or `Unreachable`. Look-ups by marker see
    only items that our own App wrote, and read every page.
    """

    def urgently(self) -> "GitHub":
        """The same, for writes that must not wait behind what is routine."""
        ...

    def page(self, repository: Repository) -> str:
        """The address of a repository in a browser."""
        ...

    async def bot_login(self) -> str:
        """`<slug>[bot]`, the author of everything we write."""
        ...

    async def bot_email(self) -> str:
        """The noreply address under which the bot's commits are shown as its own."""
        ...

    async def noreply_email(self, repository: Repository, login: str) -> str:
        """The same of anybody, for the App as it is installed in that repository."""
        ...

    async def repositories(self) -> Listed:
        """Every repository of every installation that is not suspended. Raises `GitHubFailed`
        only if GitHub does not even list the installations."""
        ...

    async def whereabouts(self, repository: Repository) -> tuple[int, str] | None:
        """Id and present `owner/name` of a repository that was renamed or transferred, maybe to
        where the App is not installed. Raises `NoAccess` if it is where it was, or nowhere to be
        seen, and the App is not let in any more."""
        ...

    async def repository(self, repository: Repository) -> RepositoryInfo: ...

    async def configuration(
        self, repository: Repository, commit: str | None = None
    ) -> Mapping[str, bytes]:
        """Files below `.squadron/`: `config.yaml`, `agents/<role>.md`; of the default branch's
        head, or of a commit."""
        ...

    async def configuration_changed_at(self, repository: Repository) -> datetime | None:
        """When the newest commit of the default branch was made that changed `.squadron/`; None:
        there is none."""
        ...

    async def parted(self, repository: Repository, commit: str) -> str | None:
        """The commit at which a line of work left the default branch; None: it never was on it."""
        ...

    async def account(self, repository: Repository, login: str) -> int | None:
        """The id of whoever has the login now, person or bot; None: nobody. The installation of
        the repository asks."""
        ...

    async def permission(self, repository: Repository, login: str) -> Permission:
        """NONE for somebody unknown."""
        ...

    async def is_team_member(self, repository: Repository, team: str, login: str) -> bool:
        """Whether `login` is an active member of `team` (`org/slug`), which the installation of
        the repository sees. Needs the App's permission to read members."""
        ...

    async def issue(self, repository: Repository, number: int) -> Issue | None:
        """None when it was deleted, transferred, or never existed."""
        ...

    def counted(self) -> AbstractContextManager[Spent]:
        """Counts the requests that are made within, by this task and those that it starts."""
        ...

    async def edits(self, repository: Repository, number: int) -> Sequence[Edit]:
        """Changes of an issue's title and body, oldest first; `ghost` where GitHub names nobody."""
        ...

    async def threads(
        self, repository: Repository, since: datetime | None = None
    ) -> Sequence[Issue]:
        """Issues and pull requests: the open ones, or all that have changed since then."""
        ...

    async def marks(self, repository: Repository, number: int) -> Sequence[Mark]:
        """Who labelled, assigned, took that back, closed, opened again or readied it (its
        timeline), oldest first."""
        ...

    async def comments(self, repository: Repository, number: int, marker: str) -> Sequence[Posted]:
        """Our comments on an issue that contain `marker`, oldest first."""
        ...

    async def said(self, repository: Repository, since: datetime) -> Sequence[Said]:
        """Comments of others on all issues and pull requests that were written or edited from
        `since` on, oldest first."""
        ...

    async def said_in_reviews(
        self, repository: Repository, number: int, since: datetime
    ) -> Sequence[Said]:
        """What others wrote in reviews of a pull request and on its lines from `since` on, oldest
        first."""
        ...

    async def reviews_by_others(
        self, repository: Repository, number: int, since: datetime
    ) -> Sequence[Review]:
        """Reviews of a pull request with their comments on lines, from `since` on, oldest first."""
        ...

    async def failed_checks(self, repository: Repository, sha: str) -> Sequence[FailedCheck]:
        """The newest check run of each name that another App made on a commit, and the newest
        status of each context, if it failed."""
        ...

    async def comment(self, repository: Repository, number: int, body: str) -> Posted: ...

    async def edit_comment(self, repository: Repository, comment: int, body: str) -> Posted: ...

    async def delete_comment(self, repository: Repository, comment: int) -> None: ...

    async def react(
        self,
        repository: Repository,
        comment: int,
        reaction: Reaction,
        *,
        is_on_lines: bool = False,
    ) -> None:
        """The quietest answer to somebody's comment, which may be one on lines of a pull request.
        A repeat changes nothing."""
        ...

    async def add_labels(self, repository: Repository, number: int, labels: Sequence[str]) -> None:
        """Set labels beside those that an issue has. A repeat changes nothing."""
        ...

    async def remove_label(self, repository: Repository, number: int, label: str) -> None:
        """Take a label off an issue. One that is not on it is nothing."""
        ...

    async def marked_issues(
        self, repository: Repository, label: str, marker: str
    ) -> Sequence[Posted]:
        """Our issues, open and closed, with `label` whose body contains `marker`, oldest first."""
        ...

    async def own_issues(self, repository: Repository, since: datetime) -> Sequence[Posted]:
        """Our issues, open and closed, that have changed since then, oldest first."""
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

    async def checks(self, repository: Repository, sha: str, name: str) -> Sequence[CheckRun]:
        """Our check runs of that name on a commit, oldest first."""
        ...

    async def create_check(
        self, repository: Repository, sha: str, name: str, external_id: str, check: CheckText
    ) -> CheckRun: ...

    async def change_check(self, repository: Repository, number: int, check: CheckText) -> CheckRun:
        """A run that is open. GitHub keeps the conclusion of one that has completed, and answers
        as if nothing was wrong: look at what is returned."""
        ...

    async def reword_check(self, repository: Repository, number: int, check: CheckText) -> CheckRun:
        """Only what is to be read and pressed, whether the run has completed or not."""
        ...

    async def pull_request(self, repository: Repository, number: int) -> PullRequest: ...

    async def commentable_lines(
        self, repository: Repository, number: int
    ) -> Mapping[str, frozenset[int]]:
        """By path: the lines of a pull request's files, as it leaves them, that a review may
        comment on."""
        ...

    async def reviews(self, repository: Repository, number: int, marker: str) -> Sequence[Posted]:
        """Our reviews of a pull request that contain `marker`, oldest first."""
        ...

    async def submit_review(
        self,
        repository: Repository,
        number: int,
        commit: str,
        body: str,
        comments: Sequence[LineComment],
    ) -> Posted:
        """Review a pull request as it was at `commit`: a comment, never an approval. `Refused`
        with 422 if one of the comments is on a line that GitHub does not show."""
        ...

    async def changed_files(self, repository: Repository, number: int) -> Sequence[str] | None:
        """Paths that a pull request adds, changes, removes or renames (both names). None: they are
        more than GitHub lists, so that nothing is known of the rest."""
        ...

    async def pull_requests(self, repository: Repository, branch: str) -> Sequence[PullRequest]:
        """Pull requests, open and closed, whose head is `branch` of this repository."""
        ...

    async def branch_head(self, repository: Repository, branch: str) -> str | None:
        """The commit that a branch of this repository is at; None: there is no such branch."""
        ...

    async def branch_heads(self, repository: Repository, beginning: str) -> Mapping[str, str]:
        """The commits of all branches of this repository whose names begin so, in one request."""
        ...

    async def open_heads(self, repository: Repository) -> Sequence[Head]:
        """Of all open pull requests."""
        ...

    async def is_base(self, repository: Repository, branch: str) -> bool:
        """Whether an open pull request is to be merged into `branch`."""
        ...

    async def open_pull_requests(
        self, repository: Repository, prefix: str
    ) -> Sequence[PullRequest]:
        """Open pull requests of ours whose head is a branch here that begins with `prefix`."""
        ...

    async def open_pull_request(
        self,
        repository: Repository,
        *,
        branch: str,
        base: str,
        title: str,
        body: str,
        is_draft: bool = False,
    ) -> PullRequest: ...

    async def set_draft(self, repository: Repository, number: int, *, is_draft: bool) -> None:
        """Turn a pull request into a draft, or say that it is none any more."""
        ...
