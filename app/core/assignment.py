"""Which deliveries concern an agent, and what a new agent's branch is called."""

import re
from collections.abc import Collection
from typing import Final, assert_never

from app.core.signals import (
    ChangesRequested,
    Commented,
    DefaultBranchPushed,
    IssueAssigned,
    IssueClosed,
    IssueLabelled,
    IssueOpened,
    PullRequestClosed,
    Signal,
)

MOST_SLUG: Final = 40
_NOT_IN_A_SLUG: Final = re.compile(r"[^a-z0-9]+")


def concerns(signal: Signal, repositories_at_work: Collection[str]) -> bool:
    """Whether work has to be done for a signal.

    Whatever may start an agent does; whatever can only reach an agent does where there is one.
    """
    match signal:
        case IssueLabelled() | IssueAssigned() | IssueOpened():
            return True
        case Commented() | ChangesRequested():
            return not signal.sender.is_bot and signal.repository in repositories_at_work
        case IssueClosed() | PullRequestClosed():
            return signal.repository in repositories_at_work
        case DefaultBranchPushed():
            return True
        case _:
            assert_never(signal)


def branch_name(naming: str, role: str, issue: int, title: str) -> str:
    """The agent's branch by the repository's `branch_naming`."""
    slug = _NOT_IN_A_SLUG.sub("-", title.lower()).strip("-")[:MOST_SLUG].rstrip("-")
    return naming.format(role=role, issue=issue, slug=slug or "work")
