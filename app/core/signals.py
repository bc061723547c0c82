"""What a delivery says, read leniently: the few fields that matter, all of them optional.

GitHub adds fields and actions at any time, and strict models refuse a third of its own example
payloads (`facts/github.md` section 9). A delivery is a hint: the state is read again from the API
before anything is done.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import TypedDict

from app.core.trust import Sender


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

    issue: int
    assignee: str
    labels: tuple[str, ...]
    title: str
    body: str


@dataclass(frozen=True, slots=True, kw_only=True)
class IssueClosed(Heard):
    """An issue was closed, deleted or transferred: nobody waits for it or works on it now."""

    issue: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Commented(Heard):
    """A new comment on an issue or pull request (untrusted text)."""

    issue: int
    body: str


@dataclass(frozen=True, slots=True, kw_only=True)
class PullRequestClosed(Heard):
    """A pull request was closed, merged or not."""

    number: int


@dataclass(frozen=True, slots=True, kw_only=True)
class ChangesRequested(Heard):
    """A review asks for changes (untrusted text)."""

    number: int
    body: str


@dataclass(frozen=True, slots=True, kw_only=True)
class DefaultBranchPushed(Heard):
    """The default branch moved: the configuration may have changed."""


Signal = (
    IssueOpened
    | IssueLabelled
    | IssueAssigned
    | IssueClosed
    | Commented
    | PullRequestClosed
    | ChangesRequested
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
    is_bot = dig(payload, "sender", "type") != "User" or login.endswith("[bot]")
    where = _Where(repository, installation_id, Sender(login, is_bot))
    match event, _text(dig(payload, "action")):
        case "issues", str(action):
            return _of_issue(where, action, payload)
        case "issue_comment", "created":
            return _commented(where, payload)
        case "pull_request", "closed":
            number = _whole(dig(payload, "pull_request", "number"))
            return None if number is None else PullRequestClosed(number=number, **where.fields())
        case "pull_request_review", "submitted":
            return _reviewed(where, payload)
        case "push", None:
            branch = _text(dig(payload, "repository", "default_branch"))
            moved = branch is not None and dig(payload, "ref") == f"refs/heads/{branch}"
            return DefaultBranchPushed(**where.fields()) if moved else None
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


def _of_issue(where: _Where, action: str, payload: object) -> Signal | None:
    issue = _whole(dig(payload, "issue", "number"))
    if issue is None:
        return None
    title = _text(dig(payload, "issue", "title")) or ""
    body = _text(dig(payload, "issue", "body")) or ""
    match action:
        case "opened" | "reopened":
            return IssueOpened(
                event=f"issues.{action}", issue=issue, title=title, body=body, **where.fields()
            )
        case "labeled":
            label = _text(dig(payload, "label", "name"))
            if label is None:
                return None
            at = _instant(dig(payload, "issue", "updated_at"))
            return IssueLabelled(
                at=at, issue=issue, label=label, title=title, body=body, **where.fields()
            )
        case "assigned":
            assignee = _text(dig(payload, "assignee", "login"))
            if assignee is None:
                return None
            return IssueAssigned(
                issue=issue,
                assignee=assignee,
                labels=_label_names(dig(payload, "issue", "labels")),
                title=title,
                body=body,
                **where.fields(),
            )
        case "closed" | "deleted" | "transferred":
            return IssueClosed(issue=issue, **where.fields())
        case _:
            return None


def _commented(where: _Where, payload: object) -> Signal | None:
    issue = _whole(dig(payload, "issue", "number"))
    body = _text(dig(payload, "comment", "body"))
    if issue is None or body is None:
        return None
    return Commented(issue=issue, body=body, **where.fields())


def _reviewed(where: _Where, payload: object) -> Signal | None:
    number = _whole(dig(payload, "pull_request", "number"))
    state = _text(dig(payload, "review", "state"))
    if number is None or state is None or state.lower() != "changes_requested":
        return None
    body = _text(dig(payload, "review", "body")) or ""
    return ChangesRequested(number=number, body=body, **where.fields())


def _label_names(labels: object) -> tuple[str, ...]:
    if not isinstance(labels, list):
        return ()
    names = (_text(dig(label, "name")) for label in labels)
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
    return value if isinstance(value, int) and not isinstance(value, bool) else None
