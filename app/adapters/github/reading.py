"""From GitHub's JSON to the values of the port: only what is used is looked at.

GitHub's answers differ from its own description now and then; whatever is not needed here can
neither be missing nor have a wrong type. What is needed and missing makes the call `Unreachable`.
"""

import base64
import binascii
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import datetime

from app.core.effects.check_run import CheckRun
from app.core.github.checks import FailedCheck
from app.core.github.redelivery import Attempt
from app.core.github.timeline import Mark
from app.core.rules.trust import Permission
from app.core.steering.feedback import Remark, Review, ReviewState
from app.ports import Head, Issue, Posted, PullRequest, RepositoryInfo, Said, Unreachable

GHOST = "ghost"
"""GitHub's own stand-in for the author of what a deleted account wrote."""


def dig(document: object, *path: str) -> object:
    """The value at the end of the path, None where the path ends early."""
    for key in path:
        document = document.get(key) if isinstance(document, dict) else None
    return document


def text(document: object, *path: str) -> str | None:
    """A string, or None."""
    value = dig(document, *path)
    return value if isinstance(value, str) else None


def needed_text(document: object, *path: str) -> str:
    """A string. Raises `Unreachable`."""
    value = text(document, *path)
    if value is None:
        raise _unintelligible(path)
    return value


def needed_number(document: object, *path: str) -> int:
    """A whole number. Raises `Unreachable`."""
    value = dig(document, *path)
    if not isinstance(value, int) or isinstance(value, bool):
        raise _unintelligible(path)
    return value


def needed_list(document: object, *path: str) -> list[object]:
    """A list. Raises `Unreachable`."""
    value = dig(document, *path)
    if not isinstance(value, list):
        raise _unintelligible(path)
    return value


def needed_instant(document: object, *path: str) -> datetime:
    """An instant with its offset from UTC. Raises `Unreachable`."""
    try:
        instant = datetime.fromisoformat(needed_text(document, *path))
    except ValueError:
        raise _unintelligible(path) from None
    if instant.tzinfo is None:
        raise _unintelligible(path)
    return instant


def same(one: str | None, other: str | None) -> bool:
    """Whether two names are one for GitHub, which ignores case in logins, labels, repositories."""
    return one is not None and other is not None and one.casefold() == other.casefold()


def is_marked(document: object, author: str, marker: str) -> bool:
    """Whether `author` wrote the marker into a body; anybody else may have pasted it."""
    return text(document, "user", "login") == author and marker in (text(document, "body") or "")


def repository_info(document: object) -> RepositoryInfo:
    """From `GET /repos/{owner}/{repo}`."""
    return RepositoryInfo(
        id=needed_number(document, "id"),
        full_name=needed_text(document, "full_name"),
        default_branch=needed_text(document, "default_branch"),
        is_archived=is_archived(document),
    )


def is_archived(document: object) -> bool:
    """From a repository's entry."""
    return dig(document, "archived") is True


def tip(document: object) -> str:
    """From a repository's entry: changes with each push, and with the default branch. One without
    a commit was never pushed to."""
    return f"{needed_text(document, 'default_branch')} {text(document, 'pushed_at') or ''}"


def permission(document: object) -> Permission:
    """From `GET /repos/{owner}/{repo}/collaborators/{username}/permission`."""
    return Permission.parse(text(document, "role_name"), text(document, "permission"))


def issue(document: object) -> Issue:
    """From any answer that holds an issue."""
    return Issue(
        number=needed_number(document, "number"),
        title=text(document, "title") or "",
        body=text(document, "body") or "",
        is_open=text(document, "state") == "open",
        labels=tuple(_names(document, "labels", "name")),
        assignees=tuple(_names(document, "assignees", "login")),
        author=text(document, "user", "login") or GHOST,
        is_pull_request=dig(document, "pull_request") is not None,
        url=needed_text(document, "html_url"),
        created_at=needed_instant(document, "created_at"),
        updated_at=needed_instant(document, "updated_at"),
        closed_at=None
        if dig(document, "closed_at") is None
        else needed_instant(document, "closed_at"),
        was_reopened=text(document, "state_reason") == "reopened",
    )


def marks(document: object) -> Iterator[Mark]:
    """From one entry of an issue's timeline: none where it is of another kind."""
    by, event = text(document, "actor", "login"), text(document, "event")
    if by is None:
        return
    about: str | None
    match event:
        case "labeled" | "unlabeled":
            about = text(document, "label", "name")
        case "assigned" | "unassigned":
            about = text(document, "assignee", "login")
        case "closed" | "reopened" | "ready_for_review":
            about = ""
        case _:
            return
    if about is not None:
        yield Mark(event, about, by, needed_instant(document, "created_at"))


def posted_issue(document: object) -> Posted:
    """An issue that we wrote."""
    return Posted(
        number=needed_number(document, "number"),
        url=needed_text(document, "html_url"),
        body=text(document, "body") or "",
        is_open=text(document, "state") == "open",
        at=needed_instant(document, "created_at"),
    )


def posted_comment(document: object) -> Posted:
    """A comment or a review that we wrote."""
    return Posted(
        number=needed_number(document, "id"),
        url=needed_text(document, "html_url"),
        body=text(document, "body") or "",
    )


def comment(document: object) -> Said:
    """A comment; its issue is known by its address alone."""
    thread = needed_text(document, "issue_url").rpartition("/")[2]
    if not thread.isdecimal():
        raise _unintelligible(("issue_url",))
    return _said(document, int(thread))


def _said(document: object, thread: int, at: str = "created_at") -> Said:
    author, since = text(document, "user", "login") or "", needed_instant(document, at)
    changed = text(document, "updated_at")
    edited_at = None if changed is None else needed_instant(document, "updated_at")
    return Said(
        number=needed_number(document, "id"),
        author=author,
        is_bot=text(document, "user", "type") != "User" or author.endswith("[bot]"),
        body=text(document, "body") or "",
        at=since,
        edited_at=edited_at if edited_at is not None and edited_at > since else None,
        thread=thread,
        link=text(document, "html_url") or "",
    )


def said_on_lines(document: object, pull_request: int) -> Said:
    """A comment on lines of a pull request."""
    review = dig(document, "pull_request_review_id")
    return replace(
        _said(document, pull_request),
        kind="review_comment",
        review=review if isinstance(review, int) else None,
    )


def said_by_review(document: object, pull_request: int) -> Said:
    """The words of a review as a whole."""
    said = _said(document, pull_request, at="submitted_at")
    return replace(said, kind="review", review=said.number)


_REVIEW_STATES: Mapping[str, ReviewState] = {
    "APPROVED": "approved",
    "CHANGES_REQUESTED": "changes_requested",
    "COMMENTED": "commented",
    "DISMISSED": "dismissed",
}


def is_submitted(document: object) -> bool:
    """Whether a review is more than a draft of its author."""
    return text(document, "state") in _REVIEW_STATES


def review(document: object, remarks: Sequence[object]) -> Review:
    """A review with those of a pull request's comments on lines that belong to it."""
    number = needed_number(document, "id")
    author = text(document, "user", "login") or GHOST
    return Review(
        number=number,
        author=author,
        is_bot=text(document, "user", "type") != "User" or author.endswith("[bot]"),
        state=_REVIEW_STATES[needed_text(document, "state")],
        body=text(document, "body") or "",
        at=needed_instant(document, "submitted_at"),
        link=needed_text(document, "html_url"),
        remarks=tuple(
            _remark(each) for each in remarks if dig(each, "pull_request_review_id") == number
        ),
    )


def _remark(document: object) -> Remark:
    line = dig(document, "line")
    return Remark(
        path=needed_text(document, "path"),
        line=line if isinstance(line, int) and not isinstance(line, bool) else None,
        body=text(document, "body") or "",
        link=needed_text(document, "html_url"),
    )


def failed_check(document: object) -> FailedCheck:
    """A check run of another App."""
    return FailedCheck(
        name=needed_text(document, "name"),
        app=text(document, "app", "slug") or GHOST,
        conclusion=needed_text(document, "conclusion"),
        title=text(document, "output", "title") or "",
        summary=text(document, "output", "summary") or "",
    )


def failed_status(document: object) -> FailedCheck:
    """A status of a commit."""
    return FailedCheck(
        name=needed_text(document, "context"),
        app=None,
        conclusion=needed_text(document, "state"),
        title=text(document, "description") or "",
        summary=text(document, "target_url") or "",
    )


def check_run(document: object) -> CheckRun:
    """A check run that we wrote."""
    is_completed = needed_text(document, "status") == "completed"
    return CheckRun(
        number=needed_number(document, "id"),
        url=text(document, "html_url") or "",
        external_id=text(document, "external_id") or "",
        conclusion=needed_text(document, "conclusion") if is_completed else None,
    )


def pull_request(document: object) -> PullRequest:
    """From any answer that holds a pull request; lists have no `merged`, and no `mergeable`."""
    mergeable = dig(document, "mergeable")
    return PullRequest(
        number=needed_number(document, "number"),
        url=needed_text(document, "html_url"),
        is_open=text(document, "state") == "open",
        is_merged=text(document, "merged_at") is not None,
        head_sha=needed_text(document, "head", "sha"),
        head=text(document, "head", "label") or "",
        base=needed_text(document, "base", "ref"),
        is_mergeable=mergeable if isinstance(mergeable, bool) else None,
        closed_at=None
        if dig(document, "closed_at") is None
        else needed_instant(document, "closed_at"),
        is_draft=dig(document, "draft") is True,
        body=text(document, "body") or "",
    )


def head(document: object, repository: str) -> Head:
    """From an entry of `GET /repos/{owner}/{repo}/pulls`."""
    return Head(
        pull_request=needed_number(document, "number"),
        sha=needed_text(document, "head", "sha"),
        is_here=same(repository, text(document, "head", "repo", "full_name")),
    )


def branch_head(document: object) -> tuple[str, str]:
    """The name of a branch, and the commit that it is at."""
    name = needed_text(document, "ref").removeprefix("refs/heads/")
    return name, needed_text(document, "object", "sha")


def attempt(document: object) -> Attempt:
    """From an entry of `GET /app/hook/deliveries`."""
    return Attempt(
        number=needed_number(document, "id"),
        guid=needed_text(document, "guid"),
        at=needed_instant(document, "delivered_at"),
    )


def changed_paths(document: object) -> Iterator[str]:
    """From an entry of `GET …/pulls/{number}/files`: the file's name now, and before."""
    yield needed_text(document, "filename")
    if (before := text(document, "previous_filename")) is not None:
        yield before


def file_content(document: object) -> bytes:
    """From `GET /repos/{owner}/{repo}/contents/{path}` of a file. Raises `Unreachable`."""
    try:
        return base64.b64decode(needed_text(document, "content"))
    except binascii.Error:
        raise _unintelligible(("content",)) from None


def _names(document: object, list_name: str, name: str) -> Iterator[str]:
    """Labels may be plain strings; assignees of deleted accounts are null."""
    entries = dig(document, list_name)
    for entry in entries if isinstance(entries, list) else ():
        found = entry if isinstance(entry, str) else text(entry, name)
        if found is not None:
            yield found


def _unintelligible(path: tuple[str, ...]) -> Unreachable:
    where = ".".join(path) or "the answer itself"
    return Unreachable(f"GitHub's answer makes no sense: {where} is missing or of a wrong type")
