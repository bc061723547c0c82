"""The world of the box: what a GitHub would keep in its database.

Everything here changes while the box runs, so these are plain mutable records; who may change
them and who is told lies elsewhere. Commits and branches are not kept: git is asked for them.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from enum import IntEnum
from itertools import count
from typing import Any, Literal, Protocol

from app.githubbox.git import GitRepository

Json = dict[str, Any]
Account = Literal["User", "Bot", "Organization"]


class Role(IntEnum):
    """What a person may do in a repository; the order is GitHub's, from nothing to everything."""

    NONE = 0
    READ = 1
    TRIAGE = 2
    WRITE = 3
    MAINTAIN = 4
    ADMIN = 5

    @classmethod
    def named(cls, name: str) -> Role:
        """The role of that lower-case name; ValueError names the possible ones."""
        try:
            return cls[name.upper()]
        except KeyError:
            known = ", ".join(role.label for role in cls)
            raise ValueError(f"{name!r} is no permission; the permissions are {known}") from None

    @property
    def label(self) -> str:
        return self.name.lower()

    @property
    def legacy(self) -> str:
        """The old `permission` field, in which maintain reads as write and triage as read."""
        return {Role.MAINTAIN: "write", Role.TRIAGE: "read"}.get(self, self.label)


NO_DRAFTS = "Draft pull requests are not supported in this repository."
"""GitHub's words where the plan has none."""


@dataclass(slots=True, eq=False)
class User:
    id: int
    login: str
    kind: Account = "User"
    role: Role = Role.NONE
    created_at: datetime = datetime(2020, 1, 1, tzinfo=UTC)


@dataclass(slots=True, eq=False)
class Label:
    id: int
    name: str
    color: str
    description: str | None = None


@dataclass(slots=True, eq=False)
class Reaction:
    id: int
    user: User
    content: str
    created_at: datetime


@dataclass(slots=True, eq=False)
class Comment:
    id: int
    author: User
    body: str
    created_at: datetime
    updated_at: datetime
    reactions: list[Reaction] = field(default_factory=list)


@dataclass(slots=True, eq=False)
class Review:
    id: int
    author: User
    state: Literal["APPROVED", "CHANGES_REQUESTED", "COMMENTED", "PENDING"]
    """`PENDING`: its author has not submitted it, and nobody else sees it."""
    body: str
    commit_id: str
    submitted_at: datetime | None


@dataclass(slots=True, eq=False)
class LineComment:
    """A comment on one line of a pull request's diff; it belongs to a review."""

    id: int
    review_id: int
    author: User
    path: str
    line: int
    side: str
    """`LEFT`: the line as it was; `RIGHT`: as it is now."""
    body: str
    commit_id: str
    diff_hunk: str
    created_at: datetime
    updated_at: datetime
    reactions: list[Reaction] = field(default_factory=list)


@dataclass(slots=True, eq=False)
class Pull:
    """What an issue has in addition when it is a pull request."""

    id: int
    head: str
    """Name of the branch that is to be merged; its SHA is asked of git while the branch exists."""
    base: str
    last_head_sha: str
    """The head as last seen: all that is left once the branch is deleted or merged."""
    base_sha: str
    draft: bool = False
    merged_at: datetime | None = None
    merged_by: User | None = None
    merge_commit_sha: str | None = None
    reviews: list[Review] = field(default_factory=list)
    line_comments: list[LineComment] = field(default_factory=list)
    asked_for: tuple[str, str] | None = None
    """Head and base for which somebody has asked whether they can be merged."""
    source: Repository | None = None
    """The fork whose branch the head is; None: it is one of the repository itself."""

    @property
    def submitted(self) -> list[Review]:
        """The reviews that everybody sees."""
        return [one for one in self.reviews if one.state != "PENDING"]

    @property
    def shown_comments(self) -> list[LineComment]:
        """The comments on lines that everybody sees."""
        seen = {one.id for one in self.submitted}
        return [one for one in self.line_comments if one.review_id in seen]

    async def head_sha(self, repository: Repository) -> str | None:
        """What is to be merged as of now; None: the branch is gone."""
        home = self.source or repository
        return (await home.git.refs()).get(f"refs/heads/{self.head}")

    def head_label(self, repository: Repository) -> str:
        """Whose branch the head is: `octo:fix`."""
        return f"{(self.source or repository).owner.login}:{self.head}"


@dataclass(frozen=True, slots=True)
class TimelineEvent:
    """What somebody did to an issue: an entry of its timeline."""

    id: int
    action: str
    """`labeled`, `unlabeled`, `assigned`, `unassigned`, `closed` or `reopened`."""
    actor: User
    at: datetime
    about: Label | User | None = None


@dataclass(frozen=True, slots=True)
class TextEdit:
    """That somebody changed the title or the body of an issue."""

    what: Literal["title", "body"]
    actor: User
    at: datetime


@dataclass(slots=True, eq=False)
class Issue:
    id: int
    number: int
    title: str
    body: str | None
    author: User
    created_at: datetime
    updated_at: datetime
    state: Literal["open", "closed"] = "open"
    state_reason: str | None = None
    closed_at: datetime | None = None
    closed_by: User | None = None
    locked: bool = False
    labels: list[Label] = field(default_factory=list)
    assignees: list[User] = field(default_factory=list)
    comments: list[Comment] = field(default_factory=list)
    reactions: list[Reaction] = field(default_factory=list)
    blocked_by: list[Issue] = field(default_factory=list)
    sub_issues: list[Issue] = field(default_factory=list)
    timeline: list[TimelineEvent] = field(default_factory=list)
    edits: list[TextEdit] = field(default_factory=list)
    pull: Pull | None = None

    @property
    def node_id(self) -> str:
        """Its global id: a pull request has that of its own, also where it is shown as an issue."""
        return f"I_{self.id}" if self.pull is None else f"PR_{self.pull.id}"


@dataclass(slots=True, eq=False)
class CheckRun:
    id: int
    name: str
    head_sha: str
    status: str
    started_at: datetime
    conclusion: str | None = None
    completed_at: datetime | None = None
    external_id: str = ""
    details_url: str | None = None
    title: str | None = None
    summary: str | None = None
    text: str | None = None
    annotations: list[Json] = field(default_factory=list)
    actions: list[Json] = field(default_factory=list)
    app_slug: str | None = None
    """Of another App that made it; None: the box's own."""


@dataclass(frozen=True, slots=True)
class CheckSuite:
    """All runs of one App on one commit."""

    id: int
    head_sha: str
    app_slug: str | None
    """As `CheckRun.app_slug`."""
    created_at: datetime


@dataclass(slots=True, eq=False)
class Status:
    id: int
    sha: str
    state: str
    context: str
    description: str | None
    target_url: str | None
    creator: User
    created_at: datetime


@dataclass(slots=True, eq=False)
class Repository:
    id: int
    owner: User
    name: str
    git: GitRepository
    created_at: datetime
    pushed_at: datetime
    private: bool = False
    archived: bool = False
    has_drafts: bool = True
    """Whether its plan has draft pull requests."""
    has_issues: bool = True
    installed: bool = True
    """Is it one of the repositories for which the App is installed?"""
    default_branch: str = "main"
    protected: set[str] = field(default_factory=set)
    """Names of branches to which every push is refused."""
    required: dict[str, list[str]] = field(default_factory=dict)
    """By branch: the names of the checks without which nothing is merged into it."""
    labels: list[Label] = field(default_factory=list)
    issues: dict[int, Issue] = field(default_factory=dict)
    checks: dict[int, CheckRun] = field(default_factory=dict)
    statuses: list[Status] = field(default_factory=list)
    suites: dict[tuple[str, str | None], CheckSuite] = field(default_factory=dict)
    """By commit and App, as `CheckRun.app_slug` names it."""
    last_number: int = 0
    deleted: set[int] = field(default_factory=set)
    """Numbers of deleted issues: they stay used, and REST answers 410 for them."""
    transferred: dict[int, tuple[Repository, int]] = field(default_factory=dict)
    """Where issues went that were here once: REST redirects there."""
    installation_id: int | None = None
    """Of the App at a further account; None: the box's first installation."""
    parent: Repository | None = None
    """What it is a fork of."""

    @property
    def full_name(self) -> str:
        return f"{self.owner.login}/{self.name}"

    def role(self, user: User) -> Role:
        """What a person may do here; the owner may do everything."""
        return Role.ADMIN if user is self.owner else user.role

    def label(self, name: str) -> Label | None:
        """GitHub compares label names without regard to case."""
        return next((one for one in self.labels if one.name.lower() == name.lower()), None)

    def pulls(self) -> list[tuple[Issue, Pull]]:
        """Those there are now, so that who asks git between two of them meets no change."""
        return [(issue, issue.pull) for issue in self.issues.values() if issue.pull]

    def next_number(self) -> int:
        """Issues and pull requests share one row of numbers, and a deleted number stays used."""
        self.last_number += 1
        return self.last_number


class Clock(Protocol):
    """The time that all of GitHub goes by."""

    def now(self) -> datetime: ...

    async def sleep(self, seconds: float) -> None: ...


class MachineClock:
    """This machine's time."""

    def now(self) -> datetime:
        return datetime.now(UTC)

    async def sleep(self, seconds: float) -> None:
        await asyncio.sleep(seconds)


@dataclass(slots=True, eq=False)
class World:
    """All accounts and repositories, one clock and one row of ids."""

    clock: Clock
    wall: Callable[[], datetime]
    """The time by which clients sign their tokens, whatever the clock says."""
    ahead: timedelta = timedelta()
    """By how much GitHub's time differs from both."""
    users: dict[str, User] = field(default_factory=dict)
    repositories: dict[str, Repository] = field(default_factory=dict)
    former: dict[str, Repository] = field(default_factory=dict)
    """By the names that they had before they were renamed or transferred, in lower case."""
    teams: dict[str, list[User]] = field(default_factory=dict)
    """Who is in a team, by `org/slug` in lower case."""
    ids: Iterator[int] = field(default_factory=lambda: count(1001))

    def now(self) -> datetime:
        """GitHub tells time in whole seconds."""
        return (self.clock.now() + self.ahead).astimezone(UTC).replace(microsecond=0)

    def next_id(self) -> int:
        return next(self.ids)

    def user(self, login: str) -> User | None:
        return self.users.get(login.lower())

    def add_user(self, login: str, role: Role = Role.NONE, kind: Account = "User") -> User:
        """The account of that name with that role from now on; made if there is none."""
        user = self.users.setdefault(login.lower(), User(self.next_id(), login, kind))
        user.role = role
        return user

    def give_up_login(self, user: User) -> User:
        """The account under another login; its own is nobody's now."""
        del self.users[user.login.lower()]
        user.login = f"{user.login}-before"
        self.users[user.login.lower()] = user
        return user

    def team(self, org: str, slug: str) -> list[User]:
        """The members of that team; nobody where there is no such team."""
        return self.teams.get(f"{org}/{slug}".lower(), [])

    def repository(self, full_name: str) -> Repository | None:
        return self.repositories.get(full_name.lower())

    def moved(self, full_name: str) -> Repository | None:
        """The repository that once had this name, unless another one has taken it."""
        name = full_name.lower()
        return None if name in self.repositories else self.former.get(name)
