"""What follows when references move, by a push, by REST or by a merge."""

from __future__ import annotations

import re
from collections.abc import Mapping
from datetime import datetime

from app.githubbox.events import Events
from app.githubbox.git import NOTHING
from app.githubbox.state import Issue, Pull, Repository, User

_CLOSES = re.compile(
    r"\b(?:close[sd]?|fix(?:e[sd])?|resolve[sd]?):?\s+"
    r"(?:(?P<repository>[\w.-]+/[\w.-]+)?#|https?://\S+?/(?P<linked>[\w.-]+/[\w.-]+)/issues/)"
    r"(?P<number>\d+)\b",
    re.IGNORECASE,
)
_COMMENT = re.compile(r"<!--.*?-->", re.DOTALL)


def closes(repository: Repository, text: str) -> list[Issue]:
    """The issues of this repository that a pull request with that text closes when it is merged."""
    found = []
    for match in _CLOSES.finditer(_COMMENT.sub("", text)):
        named = match["repository"] or match["linked"] or repository.full_name
        issue = repository.issues.get(int(match["number"]))
        same = named.lower() == repository.full_name.lower()
        if same and issue and not issue.pull and issue not in found:
            found.append(issue)
    return found


async def moved(
    repository: Repository, before: Mapping[str, str], events: Events, who: User, now: datetime
) -> None:
    """Tell about every reference that differs from `before`, and let pull requests follow."""
    after = await repository.git.refs()
    for ref in sorted(set(before) | set(after)):
        old, new = before.get(ref, NOTHING), after.get(ref, NOTHING)
        if old == new:
            continue
        repository.pushed_at = now
        await events.push(repository, ref, old, new, who)
        if ref.startswith("refs/heads/"):
            await _pulls_follow(
                repository, ref.removeprefix("refs/heads/"), old, new, events, who, now
            )


async def _pulls_follow(
    repository: Repository,
    branch: str,
    old: str,
    new: str,
    events: Events,
    who: User,
    now: datetime,
) -> None:
    """Those of the repository whose branch it is, and of the one that this is a fork of."""
    parent = repository.parent
    upstream = [(parent, *pair) for pair in parent.pulls()] if parent else []
    for into, issue, pull in [(repository, *pair) for pair in repository.pulls()] + upstream:
        if issue.state == "closed":
            continue
        is_head = pull.head == branch and (pull.source or into) is repository
        if is_head and new == NOTHING:
            pull.last_head_sha = old
            shut(issue, who, now)
            await events.pull_request("closed", into, issue, pull, who)
        elif is_head:
            if pull.source is not None:
                await into.git.take(pull.source.git, new)
            pull.last_head_sha = new
            await into.git.set_pull(issue.number, new)
            issue.updated_at = now
            await events.pull_request("synchronize", into, issue, pull, who, before=old, after=new)
        elif into is repository and pull.base == branch and new != NOTHING:
            head = await pull.head_sha(repository)
            if head and await repository.git.contains(new, head):
                pull.last_head_sha, pull.base_sha = head, old
                await merged(repository, issue, pull, new, events, who, now)


async def merged(
    repository: Repository,
    issue: Issue,
    pull: Pull,
    commit: str,
    events: Events,
    who: User,
    now: datetime,
) -> None:
    """The pull request's work is on its base now: it is closed, and so is what it fixes."""
    pull.merged_at, pull.merged_by, pull.merge_commit_sha = now, who, commit
    shut(issue, who, now)
    await events.pull_request("closed", repository, issue, pull, who)
    if pull.base != repository.default_branch:
        return
    for fixed in closes(repository, issue.body or ""):
        if fixed.state == "open":
            shut(fixed, who, now, "completed")
            events.issues("closed", repository, fixed, who)


def shut(issue: Issue, who: User, now: datetime, reason: str | None = None) -> None:
    issue.state, issue.state_reason = "closed", reason
    issue.closed_at, issue.closed_by, issue.updated_at = now, who, now
