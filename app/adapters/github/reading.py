"""From GitHub's JSON to the values of the port: only what is used is looked at.

GitHub's answers differ from its own description now and then; whatever is not needed here can
neither be missing nor have a wrong type. What is needed and missing makes the call `Unreachable`.
"""

import base64
import binascii
from collections.abc import Iterator
from datetime import datetime

from app.core.trust import Permission
from app.ports import Issue, Posted, PullRequest, RepositoryInfo, Said, Unreachable

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
        default_branch=needed_text(document, "default_branch"),
        is_archived=dig(document, "archived") is True,
    )


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
    )


def posted_issue(document: object) -> Posted:
    """An issue that we wrote."""
    return Posted(
        number=needed_number(document, "number"),
        url=needed_text(document, "html_url"),
        body=text(document, "body") or "",
        is_open=text(document, "state") == "open",
    )


def posted_comment(document: object) -> Posted:
    """A comment that we wrote."""
    return Posted(
        number=needed_number(document, "id"),
        url=needed_text(document, "html_url"),
        body=text(document, "body") or "",
    )


def said(document: object, instant: str) -> Said:
    """A comment or a review; `instant` is the field that says when it was written."""
    author = text(document, "user", "login") or ""
    return Said(
        author=author,
        is_bot=text(document, "user", "type") != "User" or author.endswith("[bot]"),
        body=text(document, "body") or "",
        at=needed_instant(document, instant),
    )


def posted_check(document: object) -> Posted:
    """A check run that we wrote; its body is the summary."""
    return Posted(
        number=needed_number(document, "id"),
        url=text(document, "html_url") or "",
        body=text(document, "output", "summary") or "",
    )


def pull_request(document: object) -> PullRequest:
    """From any answer that holds a pull request; lists have no `merged`."""
    return PullRequest(
        number=needed_number(document, "number"),
        url=needed_text(document, "html_url"),
        is_open=text(document, "state") == "open",
        is_merged=text(document, "merged_at") is not None,
        head_sha=needed_text(document, "head", "sha"),
    )


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
