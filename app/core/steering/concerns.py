"""Which deliveries concern an agent, and what a new agent's branch is called."""

import re
from collections.abc import Collection
from typing import Final, assert_never

from app.core.commands.grammar import may_hold_commands
from app.core.github.hints import (
    BranchPushed,
    ButtonPressed,
    Commented,
    CommentEdited,
    CommitFailed,
    DefaultBranchPushed,
    IssueAssigned,
    IssueChangedHands,
    IssueClosed,
    IssueLabelled,
    IssueOpened,
    PullRequestClosed,
    PullRequestJudged,
    PullRequestLabelled,
    PullRequestPushed,
    Signal,
)
from app.core.rules.plan import RepositoryPlan

MOST_SLUG: Final = 40
BY_PLAN: Final = (IssueLabelled, PullRequestLabelled, IssueAssigned, IssueOpened)
"""Signals of which a repository's plan says whether they start anything."""
_NOT_IN_A_SLUG: Final = re.compile(r"[^a-z0-9]+")


def concerns(
    signal: Signal, repositories_at_work: Collection[str], plan: RepositoryPlan | None = None
) -> bool:
    """Whether work has to be done for a signal.

    Whatever may start an agent by the repository's `plan` does, and where nobody knows that plan
    (None) whatever may start one by any; whatever can only reach an agent does where there is one.
    Which bots may speak, the repository says: that is read later.
    """
    match signal:
        case IssueLabelled(label=label) | PullRequestLabelled(label=label):
            return plan is None or plan.role_of_label(label) is not None
        case IssueAssigned(labels=labels):
            may_start = plan is None or any(plan.role_of_label(label) for label in labels)
            return may_start or signal.repository in repositories_at_work
        case IssueOpened(event=event):
            return plan is None or event in plan.events
        case Commented(body=body) | CommentEdited(body=body) if may_hold_commands(body):
            return True  # is answered wherever it is written
        case PullRequestJudged(words=Commented(body=body)) if may_hold_commands(body):
            return True
        case CommentEdited():  # an answer that is edited was heard when it was written
            return False
        case IssueClosed():  # also where only a needs-human issue is left
            return True
        case (
            Commented()
            | IssueChangedHands()
            | PullRequestClosed()
            | PullRequestJudged()
            | CommitFailed()
            | BranchPushed()
        ):
            return signal.repository in repositories_at_work
        case DefaultBranchPushed() | PullRequestPushed() | ButtonPressed():
            return True
        case _:
            assert_never(signal)


def branch_name(naming: str, role: str, issue: int, title: str) -> str:
    """The agent's branch by the repository's `branch_naming`."""
    slug = _NOT_IN_A_SLUG.sub("-", title.lower()).strip("-")[:MOST_SLUG].rstrip("-")
    return naming.format(role=role, issue=issue, slug=slug or "work")


def head_of_pull_request(number: int) -> str:
    """What a reviewer has in place of a branch of its own: GitHub's reference to what it reads."""
    return f"pull/{number}/head"
