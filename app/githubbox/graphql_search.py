"""Which issues and pull requests of a repository a list of GraphQL asks for."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from datetime import datetime
from typing import Any

from app.githubbox.state import Issue, Pull, Repository


def issues_asked(repository: Repository, asked: Mapping[str, Any]) -> list[Issue]:
    """By the arguments of `Repository.issues`."""
    by = asked.get("filterBy") or {}
    states = by.get("states") or asked.get("states")
    labels = by.get("labels") or asked.get("labels") or ()
    found = [
        one
        for one in repository.issues.values()
        if one.pull is None
        and (not states or one.state.upper() in states)
        and _has_labels(one, labels)
        and by.get("createdBy") in (None, one.author.login)
        and by.get("assignee") in (None, "*", *(user.login for user in one.assignees))
        and (not by.get("mentioned") or f"@{by['mentioned']}" in (one.body or ""))
        and (not by.get("since") or one.updated_at >= datetime.fromisoformat(by["since"]))
    ]
    _sort(found, asked.get("orderBy"))
    return found


def pulls_asked(repository: Repository, asked: Mapping[str, Any]) -> list[Issue]:
    """By the arguments of `Repository.pullRequests`."""
    states = asked.get("states")
    found = [
        issue
        for issue, pull in repository.pulls()
        if (not states or state_of(issue, pull) in states)
        and _has_labels(issue, asked.get("labels") or ())
        and asked.get("headRefName") in (None, pull.head)
        and asked.get("baseRefName") in (None, pull.base)
    ]
    _sort(found, asked.get("orderBy"))
    return found


def _sort(issues: list[Issue], order: Mapping[str, str] | None) -> None:
    field = (order or {}).get("field", "CREATED_AT")
    keys: Mapping[str, Callable[[Issue], Any]] = {
        "CREATED_AT": lambda one: one.number,
        "UPDATED_AT": lambda one: one.updated_at,
        "COMMENTS": lambda one: len(one.comments),
    }
    issues.sort(key=keys[field], reverse=(order or {}).get("direction") == "DESC")


def state_of(issue: Issue, pull: Pull) -> str:
    """Of a pull request."""
    return "MERGED" if pull.merged_at else issue.state.upper()


def _has_labels(issue: Issue, wanted: Collection[str]) -> bool:
    """Whether it has one of them, or none is wanted."""
    has = {label.name.casefold() for label in issue.labels}
    return not wanted or any(name.casefold() in has for name in wanted)
