"""What a delivery says, read leniently: the few fields that matter, all of them optional.

GitHub adds fields and actions at any time, and strict models refuse a third of its own example
payloads (`facts/github.md` section 9). A delivery is a hint: the state is read again from the API
before anything is done.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Final, TypedDict

from app.core.github.checks import FAILED, FAILED_STATES
from app.core.github.comment_kinds import CommentKind
from app.core.rules.trust import Sender


@dataclass(frozen=True, slots=True, kw_only=True)
class Heard:
    """What every signal has: where, and who set it in motion."""

    repository: str
    installation_id: int
    sender: Sender


@dataclass(frozen=True, slots=True, kw_only=True)
class IssueOpened(Heard):
    """An issue was opened or reopened; its labels arrive as `IssueLabelled` of their own."""

    event: str
    """`issues.opened` or `issues.reopened`, as `triggers.events` names it."""
    at: datetime | None
    """When, to the second; deliveries may come much later."""
    issue: int
    title: str
    body: str


@dataclass(frozen=True, slots=True, kw_only=True)
class IssueLabelled(Heard):
    """A label was set on an issue. Title and body are as they stood then (untrusted)."""

    at: datetime | None
    """When, to the second; deliveries may come much later."""
    issue: int
    label: str
    title: str
    body: str


@dataclass(frozen=True, slots=True, kw_only=True)
class IssueAssigned(Heard):
    """Somebody was assigned; matters when it is our bot."""

    at: datetime | None
    """When, to the second; deliveries may come much later."""
    issue: int
    assignee: str
    labels: tuple[str, ...]
    title: str
    body: str


@dataclass(frozen=True, slots=True, kw_only=True)
class IssueClosed(Heard):
    """An issue was closed, deleted or transferred: nobody waits for it or works on it now."""

    issue: int
    is_gone: bool = False
    """Whether GitHub will find it no more."""


@dataclass(frozen=True, slots=True, kw_only=True)
class IssueChangedHands(Heard):
    """A label was removed, of an issue or a pull request, or somebody is not assigned any more:
    the work may be taken away."""

    issue: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Commented(Heard):
    """A new comment on an issue or pull request, or in a review of it (untrusted text)."""

    issue: int
    comment: int
    """GitHub's id of it."""
    at: datetime | None
    """When, to the second; deliveries may come much later."""
    body: str
    kind: CommentKind = "comment"
    review: int | None = None
    """GitHub's id of the review that it is part of."""
    link: str = ""
    """To it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CommentEdited(Heard):
    """Somebody, the sender, edited a comment (untrusted text)."""

    issue: int
    comment: int
    """GitHub's id of it."""
    at: datetime | None
    """When, to the second; deliveries may come much later."""
    body: str
    before: str
    """The text before this edit."""
    author: Sender
    """Who wrote the comment."""
    kind: CommentKind = "comment"
    review: int | None = None
    """GitHub's id of the review that it is part of."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ButtonPressed(Heard):
    """Somebody pressed a button of a check run of ours."""

    check: int
    """GitHub's id of the check run."""
    external_id: str
    """Whose check it is, in our own words."""
    identifier: str


@dataclass(frozen=True, slots=True, kw_only=True)
class PullRequestPushed(Heard):
    """A pull request was opened or reopened, is ready for review, or its head moved. Title and
    body are as they stood then (untrusted)."""

    event: str
    """`pull_request.opened`, …, as `triggers.events` names it."""
    at: datetime | None
    """When, to the second; deliveries may come much later."""
    number: int
    author: str
    title: str
    body: str


@dataclass(frozen=True, slots=True, kw_only=True)
class PullRequestLabelled(Heard):
    """A label was set on a pull request. Title and body are as they stood then (untrusted)."""

    at: datetime | None
    """When, to the second; deliveries may come much later."""
    number: int
    label: str
    title: str
    body: str


@dataclass(frozen=True, slots=True, kw_only=True)
class PullRequestClosed(Heard):
    """A pull request was closed, merged or not."""

    number: int


@dataclass(frozen=True, slots=True, kw_only=True)
class PullRequestJudged(Heard):
    """Pull requests were reviewed, commented on a line, or failed a check."""

    numbers: tuple[int, ...]
    words: Commented | None = None
    """What was written, if somebody wrote it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CommitFailed(Heard):
    """A status on a commit says that something failed."""

    branches: tuple[str, ...]
    """Some of those that hold the commit; GitHub names ten at most."""


@dataclass(frozen=True, slots=True, kw_only=True)
class BranchPushed(Heard):
    """Another branch than the default one moved, or is new."""

    branch: str


@dataclass(frozen=True, slots=True, kw_only=True)
class DefaultBranchPushed(Heard):
    """The default branch moved: the configuration may have changed."""


Signal = (
    IssueOpened
    | IssueLabelled
    | IssueAssigned
    | IssueClosed
    | IssueChangedHands
    | Commented
    | CommentEdited
    | ButtonPressed
    | PullRequestPushed
    | PullRequestLabelled
    | PullRequestClosed
    | PullRequestJudged
    | CommitFailed
    | BranchPushed
    | DefaultBranchPushed
)


def dig(document: object, *path: str) -> object:
    """The value at `path`, or None wherever the document has another shape."""
    for key in path:
        document = document.get(key) if isinstance(document, Mapping) else None
    return document


def read(event: str, payload: object) -> Signal | None:
    """The signal in a delivery; None for everything that is of no concern. Never raises."""
    repository = _text(dig(payload, "repository", "full_name"))
    installation_id = _whole(dig(payload, "installation", "id"))
    login = _text(dig(payload, "sender", "login"))
    if repository is None or installation_id is None or login is None:
        return None
    where = _Where(repository, installation_id, _sender(payload, "sender", login=login))
    match event, _text(dig(payload, "action")):
        case "issues", str(action):
            return _of_issue(where, action, payload)
        case "issue_comment", "created":
            return _commented(where, payload)
        case "issue_comment", "edited":
            return _edited(where, payload)
        case "check_run", "requested_action":
            return _pressed(where, payload)
        case "pull_request", str(action):
            return _of_pull_request(where, action, payload)
        case ("pull_request_review", "submitted") | ("pull_request_review_comment", "created"):
            number = _whole(dig(payload, "pull_request", "number"))
            words = _commented(where, payload, _KINDS[event])
            judged = PullRequestJudged(numbers=(number or 0,), words=words, **where.fields())
            return judged if number is not None else None
        case (("pull_request_review" | "pull_request_review_comment"), "edited"):
            return _edited(where, payload, _KINDS[event])
        case "check_run", "completed":
            return _checked(where, payload)
        case "status", None:
            return _commit_failed(where, payload)
        case "push", None:
            return _pushed(where, payload)
        case _:
            return None


@dataclass(frozen=True, slots=True)
class _Where:
    repository: str
    installation_id: int
    sender: Sender

    def fields(self) -> "_Fields":
        return {
            "repository": self.repository,
            "installation_id": self.installation_id,
            "sender": self.sender,
        }


class _Fields(TypedDict):
    repository: str
    installation_id: int
    sender: Sender


_BRANCHES: Final = "refs/heads/"


def _pushed(where: _Where, payload: object) -> Signal | None:
    ref = _text(dig(payload, "ref")) or ""
    branch = ref.removeprefix(_BRANCHES)
    if not ref.startswith(_BRANCHES) or dig(payload, "deleted") is True:
        return None
    if branch == dig(payload, "repository", "default_branch"):
        return DefaultBranchPushed(**where.fields())
    return BranchPushed(branch=branch, **where.fields())


def _of_issue(where: _Where, action: str, payload: object) -> Signal | None:
    issue = _whole(dig(payload, "issue", "number"))
    if issue is None:
        return None
    title = _text(dig(payload, "issue", "title")) or ""
    body = _text(dig(payload, "issue", "body")) or ""
    at = _instant(dig(payload, "issue", "updated_at"))
    match action:
        case "opened" | "reopened":
            event = f"issues.{action}"
            return IssueOpened(
                event=event, at=at, issue=issue, title=title, body=body, **where.fields()
            )
        case "labeled":
            label = _text(dig(payload, "label", "name"))
            if label is None:
                return None
            return IssueLabelled(
                at=at, issue=issue, label=label, title=title, body=body, **where.fields()
            )
        case "assigned":
            assignee = _text(dig(payload, "assignee", "login"))
            if assignee is None:
                return None
            return IssueAssigned(
                at=at,
                issue=issue,
                assignee=assignee,
                labels=_names(dig(payload, "issue", "labels")),
                title=title,
                body=body,
                **where.fields(),
            )
        case "closed" | "deleted" | "transferred":
            return IssueClosed(issue=issue, is_gone=action != "closed", **where.fields())
        case "unlabeled" | "unassigned":
            return IssueChangedHands(issue=issue, **where.fields())
        case _:
            return None


def _of_pull_request(where: _Where, action: str, payload: object) -> Signal | None:
    number = _whole(dig(payload, "pull_request", "number"))
    if number is None:
        return None
    title = _text(dig(payload, "pull_request", "title")) or ""
    body = _text(dig(payload, "pull_request", "body")) or ""
    at = _instant(dig(payload, "pull_request", "updated_at"))
    match action:
        case "opened" | "reopened" | "ready_for_review" | "synchronize":
            return PullRequestPushed(
                event=f"pull_request.{action}",
                at=at,
                number=number,
                author=_text(dig(payload, "pull_request", "user", "login")) or "",
                title=title,
                body=body,
                **where.fields(),
            )
        case "labeled":
            label = _text(dig(payload, "label", "name"))
            if label is None:
                return None
            return PullRequestLabelled(
                at=at, number=number, label=label, title=title, body=body, **where.fields()
            )
        case "unlabeled":
            return IssueChangedHands(issue=number, **where.fields())
        case "closed":
            return PullRequestClosed(number=number, **where.fields())
        case _:
            return None


_KINDS: Mapping[str, CommentKind] = {
    "pull_request_review": "review",
    "pull_request_review_comment": "review_comment",
}


def _commented(where: _Where, payload: object, kind: CommentKind = "comment") -> Commented | None:
    thread, words = _keys(kind)
    issue = _whole(dig(payload, thread, "number"))
    comment = _whole(dig(payload, words, "id"))
    body = _text(dig(payload, words, "body"))
    if issue is None or comment is None or body is None:
        return None
    at = _instant(dig(payload, words, "submitted_at" if kind == "review" else "created_at"))
    return Commented(
        issue=issue,
        comment=comment,
        at=at,
        body=body,
        kind=kind,
        review=_review_of(payload, kind),
        link=_text(dig(payload, words, "html_url")) or "",
        **where.fields(),
    )


def _keys(kind: CommentKind) -> tuple[str, str]:
    """Under which keys of a payload the thread and the words stand."""
    return ("issue" if kind == "comment" else "pull_request"), (
        "review" if kind == "review" else "comment"
    )


def _review_of(payload: object, kind: CommentKind) -> int | None:
    match kind:
        case "comment":
            return None
        case "review":
            return _whole(dig(payload, "review", "id"))
        case "review_comment":
            return _whole(dig(payload, "comment", "pull_request_review_id"))


def _edited(where: _Where, payload: object, kind: CommentKind = "comment") -> Signal | None:
    thread, words = _keys(kind)
    issue = _whole(dig(payload, thread, "number"))
    comment = _whole(dig(payload, words, "id"))
    body = _text(dig(payload, words, "body"))
    before = _text(dig(payload, "changes", "body", "from"))
    author = _text(dig(payload, words, "user", "login"))
    if issue is None or comment is None or body is None or before is None or author is None:
        return None
    return CommentEdited(
        issue=issue,
        comment=comment,
        at=_instant(dig(payload, words, "updated_at")),
        body=body,
        before=before,
        author=_sender(payload, words, "user", login=author),
        kind=kind,
        review=_review_of(payload, kind),
        **where.fields(),
    )


def _pressed(where: _Where, payload: object) -> Signal | None:
    check = _whole(dig(payload, "check_run", "id"))
    external_id = _text(dig(payload, "check_run", "external_id"))
    identifier = _text(dig(payload, "requested_action", "identifier"))
    if check is None or external_id is None or identifier is None:
        return None
    return ButtonPressed(
        check=check, external_id=external_id, identifier=identifier, **where.fields()
    )


def _sender(payload: object, *path: str, login: str) -> Sender:
    is_bot = dig(payload, *path, "type") != "User" or login.endswith("[bot]")
    return Sender(login, is_bot)


def _checked(where: _Where, payload: object) -> Signal | None:
    """Of a check that went well there is nothing to tell an agent."""
    if _text(dig(payload, "check_run", "conclusion")) not in FAILED:
        return None
    pulls = dig(payload, "check_run", "pull_requests")
    numbers = (_whole(dig(each, "number")) for each in (pulls if isinstance(pulls, list) else ()))
    known = tuple(number for number in numbers if number is not None)
    return PullRequestJudged(numbers=known, **where.fields()) if known else None


def _commit_failed(where: _Where, payload: object) -> Signal | None:
    """The same of a status."""
    branches = _names(dig(payload, "branches"))
    if _text(dig(payload, "state")) not in FAILED_STATES or not branches:
        return None
    return CommitFailed(branches=branches, **where.fields())


def _names(things: object) -> tuple[str, ...]:
    if not isinstance(things, list):
        return ()
    names = (_text(dig(each, "name")) for each in things)
    return tuple(name for name in names if name is not None)


def _instant(value: object) -> datetime | None:
    try:
        at = datetime.fromisoformat(value) if isinstance(value, str) else None
    except ValueError:
        return None
    return at if at is not None and at.tzinfo is not None else None


def _text(value: object) -> str | None:
    return value if isinstance(value, str) else None


def _whole(value: object) -> int | None:
    """A number or an id as GitHub gives them, which a database can hold."""
    if not isinstance(value, int) or isinstance(value, bool):
        return None
    return value if 0 <= value < 2**63 else None
