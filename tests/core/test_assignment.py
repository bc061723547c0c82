"""Which deliveries concern an agent, and what a branch is called."""

from dataclasses import replace
from datetime import datetime
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.core.github.hints import (
    BranchPushed,
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
)
from app.core.rules.plan import RepositoryPlan
from app.core.rules.trust import Sender
from app.core.steering.concerns import (
    BY_PLAN,
    MOST_SLUG,
    branch_name,
    concerns,
    head_of_pull_request,
)
from tests.core.strategies import EXAMPLES

HERE: dict[str, Any] = {
    "repository": "octo/demo",
    "installation_id": 1,
    "sender": Sender("mona", is_bot=False),
}
BY_A_BOT = {**HERE, "sender": Sender("renovate[bot]", is_bot=True)}
NEVER: datetime | None = None
AT_WORK, ELSEWHERE = {"octo/demo"}, {"octo/other"}

STARTING = [
    IssueClosed(issue=1, **BY_A_BOT),  # also where only a needs-human issue is left
    IssueLabelled(at=NEVER, issue=1, label="bug", title="", body="", **BY_A_BOT),
    IssueAssigned(
        at=NEVER, issue=1, assignee="squadron[bot]", labels=(), title="", body="", **BY_A_BOT
    ),
    IssueOpened(event="issues.opened", at=NEVER, issue=1, title="", body="", **BY_A_BOT),
    DefaultBranchPushed(**BY_A_BOT),
]
REACHING = [
    IssueChangedHands(issue=1, **BY_A_BOT),
    PullRequestClosed(number=2, **BY_A_BOT),
    CommitFailed(branches=("squadron/bug-fix/issue-1",), **BY_A_BOT),
    BranchPushed(branch="squadron/bug-fix/issue-1", **BY_A_BOT),
]


def comment(body: str, by: dict[str, Any] = HERE) -> Commented:
    return Commented(issue=1, comment=5, at=NEVER, body=body, **by)


@pytest.mark.parametrize("signal", STARTING, ids=lambda each: type(each).__name__)
def test_what_may_start_an_agent_always_concerns_us(signal: Any) -> None:
    assert concerns(signal, set()) and concerns(signal, ELSEWHERE)


PLAN = RepositoryPlan(labels={"Bug": "bug-fix"}, events={"issues.reopened": "triage"})


@pytest.mark.parametrize(
    ("label", "starts"), [("bug", True), ("squadron:whatever", True), ("wontfix", False)]
)
def test_the_last_plan_says_whether_a_label_starts_anybody(label: str, starts: bool) -> None:
    text: dict[str, Any] = {"at": NEVER, "title": "", "body": "", **HERE}
    labelled = IssueLabelled(issue=1, label=label, **text)
    on_a_pull_request = PullRequestLabelled(number=2, label=label, **text)
    handed = IssueAssigned(issue=1, assignee="ada", labels=("other", label), **text)
    for signal in (labelled, on_a_pull_request, handed):
        assert concerns(signal, set(), PLAN) is starts
        assert isinstance(signal, BY_PLAN)
    assert concerns(handed, AT_WORK, PLAN), "it may be taken away from whoever works on it"


@pytest.mark.parametrize(("event", "starts"), [("opened", False), ("reopened", True)])
def test_the_last_plan_says_whether_an_issue_starts_anybody(event: str, starts: bool) -> None:
    opened = IssueOpened(event=f"issues.{event}", at=NEVER, issue=1, title="", body="", **HERE)
    assert concerns(opened, AT_WORK, PLAN) is starts
    assert isinstance(opened, BY_PLAN)


@pytest.mark.parametrize("signal", REACHING, ids=lambda each: type(each).__name__)
def test_what_can_only_reach_an_agent_does_where_there_is_one(signal: Any) -> None:
    assert concerns(signal, AT_WORK)
    assert not concerns(signal, ELSEWHERE) and not concerns(signal, set())


@pytest.mark.parametrize("said", [comment("Use UTC."), PullRequestJudged(numbers=(2,), **BY_A_BOT)])
def test_what_people_say_reaches_an_agent_where_there_is_one(said: Any) -> None:
    assert concerns(said, AT_WORK)
    assert not concerns(said, ELSEWHERE)


@pytest.mark.parametrize("body", ["Use UTC.", "/squadron resume"])
@pytest.mark.parametrize("at_work", [AT_WORK, ELSEWHERE])
def test_what_a_bot_says_is_looked_at_as_what_a_person_says(body: str, at_work: set[str]) -> None:
    """It may be one that the repository lists."""
    assert concerns(comment(body, BY_A_BOT), at_work) == concerns(comment(body), at_work)


def test_a_command_is_answered_wherever_it_is_written() -> None:
    assert concerns(comment("/squadron resume"), set())
    assert concerns(comment("please\n/Squadron raise max_turns +5"), ELSEWHERE)
    judged = PullRequestJudged(numbers=(2,), words=comment("/squadron retry"), **HERE)
    assert concerns(judged, set())
    assert not concerns(replace(judged, words=comment("Use UTC.")), ELSEWHERE)


def test_an_edited_answer_was_heard_when_it_was_written() -> None:
    edited = CommentEdited(
        issue=1, comment=5, at=NEVER, body="Use UTC.", before="Use U", author=HERE["sender"], **HERE
    )
    assert concerns(edited, AT_WORK) is False
    assert concerns(replace(edited, body="/squadron stop"), ELSEWHERE)


def test_a_reviewer_reads_githubs_own_reference_to_a_head() -> None:
    assert head_of_pull_request(7) == "pull/7/head"


@pytest.mark.parametrize(
    ("title", "slug"),
    [
        ("Login fails", "login-fails"),
        ("  --Login: it says 500!--  ", "login-it-says-500"),
        ("Ünïcode & more", "n-code-more"),
        ("", "work"),
        ("???", "work"),
        ("a" * 60, "a" * 40),
        ("a" * 39 + " b", "a" * 39),
    ],
)
def test_a_branch_is_named_after_role_issue_and_title(title: str, slug: str) -> None:
    name = branch_name("squadron/{role}/issue-{issue}-{slug}", "bug-fix", 12, title)
    assert name == f"squadron/bug-fix/issue-12-{slug}"


@EXAMPLES
@given(st.text())
def test_a_slug_is_always_good_for_a_branch(title: str) -> None:
    slug = branch_name("{slug}", "pm", 1, title)
    assert 0 < len(slug) <= MOST_SLUG
    assert slug.replace("-", "a").isalnum() and slug.isascii() and slug == slug.strip("-").lower()
