"""Roles that review: a pull request is read, never written, and a comment is what it comes to."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import pytest

from app.core.agents.events import Waits
from app.core.agents.lifecycle import State
from app.core.words.prompts import COMPACTION_MARK, SUMMARY_MARK
from app.scripted.script import Answer, Call, ComputedStep, Conversation, Script, Scripts, Step
from tests.support.github import BOT, git
from tests.support.people import REPOSITORY, Task, repository
from tests.support.squad import Squad, json_text, squad
from tests.support.steps import is_blocked, runs
from tests.support.waiting import until

pytestmark = pytest.mark.full

WATCHED = "octo/watched"
"""A repository in which pull requests are reviewed unasked, and where only admins are trusted."""
EVENTS = ("opened", "synchronize")


@pytest.fixture(scope="module")
def team(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Squad]:
    directory = tmp_path_factory.mktemp("reviewers")
    watched = {
        "triggers": {"events": {f"pull_request.{event}": "security-review" for event in EVENTS}},
        "trust": {"start": "admin"},
    }
    short = {"description": "Looks twice.", "kind": "review", "max_tool_calls": 2}
    repositories = {
        REPOSITORY: repository({"brief-review": short}),
        WATCHED: repository({}, watched),
    }
    with squad(directory, repositories) as team:
        yield team


@dataclass(frozen=True, slots=True)
class Change:
    """A pull request of a story, seen as the task of a role."""

    task: Task
    branch: str
    head: str

    @property
    def number(self) -> int:
        return self.task.number


def pushes(team: Squad, branch: str, text: str, by: str = "maria", where: str = REPOSITORY) -> str:
    """Somebody pushes a new version of `answer` to a branch; its head."""
    clone = team.github.clone(where)
    known = git("branch", "--remotes", cwd=clone).split()
    start = branch if f"origin/{branch}" in known else "main"
    git("switch", "--quiet", "--force-create", branch, f"origin/{start}", cwd=clone)
    (clone / "answer").write_text(text)
    git("commit", "--quiet", "--all", "--message", f"Answer {text.split()[0]}", cwd=clone)
    token = team.github.about["users"][by]
    url = f"{team.github.about['git_url']}/{where}.git".replace("://", f"://x:{token}@")
    git("push", "--quiet", url, branch, cwd=clone)
    return git("rev-parse", "HEAD", cwd=clone).strip()


def proposes(
    team: Squad,
    branch: str,
    role: str,
    *steps: Step | ComputedStep,
    by: str = "maria",
    where: str = REPOSITORY,
) -> Change:
    """Somebody opens a pull request; whoever reviews it takes these steps."""
    head = pushes(team, branch, f"42 for {branch}\n", by, where)
    name = f"review-{branch}"
    scripts = (*team.model.scripts.scripts, Script(name, steps, Answer("I read half of it.")))
    team.model.scripts = Scripts(scripts, (SUMMARY_MARK,), (COMPACTION_MARK,))
    about = {
        "title": f"Change {branch}",
        "body": f"SCENARIO:{name}\nIt answers.",
        "head": branch,
        "base": "main",
    }
    number = team.github.does(by, "POST", f"/repos/{where}/pulls", about)["number"]
    return Change(Task(where, number, role), branch, head)


def reviews(summary: str, *comments: tuple[str, int, str]) -> Answer:
    """The closing tool of a reviewer."""
    listed = [{"path": path, "line": line, "body": body} for path, line, body in comments]
    return Answer("", (Call("submit_review", {"summary": summary, "comments": listed}),))


def looks(path: str | None = None) -> Answer:
    return Answer("", (Call("diff", {"path": path}),))


def posted(team: Squad, change: Change) -> list[Any]:
    """Reviews of our App."""
    found = team.github.lists(f"/repos/{change.task.repository}/pulls/{change.number}/reviews")
    return [one for one in found if one["user"]["login"] == BOT]


def on_lines(team: Squad, change: Change) -> list[tuple[str, int, str]]:
    found = team.github.lists(f"/repos/{change.task.repository}/pulls/{change.number}/comments")
    return [(one["path"], one["line"], one["body"]) for one in found]


def conclusions(team: Squad, change: Change, head: str = "") -> set[str]:
    return {one["conclusion"] for one in team.checks(change.task, head or change.head)}


def until_concluded(team: Squad, change: Change, conclusion: str, head: str = "") -> None:
    until(
        lambda: conclusions(team, change, head) == {conclusion},
        f"the check on the head of #{change.number} says {conclusion}",
        failing=team.check_alive,
    )


def branches(team: Squad, where: str = REPOSITORY) -> str:
    return git("ls-remote", "--heads", cwd=team.github.clone(where))


def test_a_label_on_a_pull_request_brings_a_review_with_comments_on_lines(team: Squad) -> None:
    told: list[str] = []

    def says_what_it_saw(conversation: Conversation) -> Answer:
        told.append(conversation.last_tool_result)
        return reviews(
            "It answers, @maria. Fixes #1.",
            ("answer", 1, "Is 42 right, @octo/everybody?"),
            ("answer", 9, "There is no such line."),
            ("README.md", 1, "This file is not changed."),
        )

    change = proposes(team, "reviewed", "pr-review", looks(), looks("answer"), says_what_it_saw)
    team.label(change.task, "squadron:pr-review")
    agent = team.until(change.task, State.COMPLETED)

    [review] = posted(team, change)
    assert (review["state"], review["commit_id"]) == ("COMMENTED", change.head)
    assert on_lines(team, change) == [("answer", 1, "Is 42 right, @\u200bocto/everybody?")]
    for words in ("It answers, @\u200bmaria.", "There is no such line.", "This file is not chan"):
        assert words in review["body"]
    assert "@maria" not in review["body"] and "Fixes #1" not in review["body"]
    assert "+42 for reviewed" in told[0] and "-41" in told[0]

    until_concluded(team, change, "success")
    team.until_comment(change.task, "it has written its review")
    assert (agent.branch, agent.pull_request) == (f"pull/{change.number}/head", None)
    assert "squadron/" not in branches(team)
    first = json_text(team.prompts(change.task)[0])
    for words in ("Change reviewed", "octo:reviewed", "answer | +1 -1", "submit_review("):
        assert words in first, first


def test_a_review_that_github_refuses_is_told_and_stands_in_the_comment(team: Squad) -> None:
    said = reviews("It answers wrongly.", ("answer", 1, "43 is meant."))
    change = proposes(team, "refused", "pr-review", looks(), said)
    path = f"/pulls/{change.number}/reviews"
    with team.github.trouble(kind="error", method="POST", path=path, status=403):
        team.label(change.task, "squadron:pr-review")
        until_concluded(team, change, "failure")
        body = team.until_comment(
            change.task, "The agent is done, and GitHub does not take its review: "
        )
        assert posted(team, change) == [] and team.agent(change.task).state is State.COMPLETED
    assert "[ ] review submitted" in body and "It answers wrongly." in body
    assert "- `answer`, line 1: 43 is meant." in body


def test_a_reviewer_can_write_and_run_nothing(team: Squad) -> None:
    tools: list[str] = []

    def remembers(conversation: Conversation) -> Answer:
        tools.append(conversation.last_tool_result)
        return reviews("Nothing was tried.")

    steps = (runs("echo 43 > answer"), Answer("", (Call("report_complete", {"summary": "x"}),)))
    change = proposes(team, "read-only", "pr-review", *steps, remembers)
    team.label(change.task, "squadron:pr-review")
    agent = team.until(change.task, State.COMPLETED)
    assert "'report_complete'; there are: view, result, diff, submit_review" in tools[0]
    assert (team.workspace(agent.id) / "answer").read_text() == "42 for read-only\n"
    [review] = posted(team, change)
    assert "Nothing was tried." in review["body"]


def test_a_head_that_moves_under_review_loses_no_comment(team: Squad) -> None:
    moved: list[str] = []

    def moves(conversation: Conversation) -> Answer:
        moved.append(pushes(team, "moving", "\n" * 30 + "42\n"))
        return reviews("As it was.", ("answer", 1, "This line was there."))

    change = proposes(team, "moving", "pr-review", moves)
    team.label(change.task, "squadron:pr-review")
    team.until(change.task, State.COMPLETED)
    [review] = posted(team, change)
    assert review["commit_id"] == change.head
    said = review["body"] + "".join(body for _, _, body in on_lines(team, change))
    assert "As it was." in said and "This line was there." in said
    until_concluded(team, change, "success")
    team.reconciles()
    assert len(team.agents(change.task)) == 1 and not team.checks(change.task, moved[0])


def test_a_review_is_posted_once_though_github_says_it_failed(team: Squad) -> None:
    change = proposes(team, "doubtful", "pr-review", reviews("Said once."))
    path = rf"/pulls/{change.number}/reviews$"
    with team.github.trouble(kind="error", method="POST", path=path, phase="after", count=1):
        team.label(change.task, "squadron:pr-review")
        team.until(change.task, State.COMPLETED)
        until_concluded(team, change, "success")
        assert team.github.fired() == 1
    assert len(posted(team, change)) == 1


def test_a_label_that_no_webhook_told_of_is_found(team: Squad) -> None:
    change = proposes(team, "unheard", "pr-review", reviews("Found."))
    path = f"{change.task.path}/labels"
    team.github.silently("maria", "POST", path, {"labels": ["squadron:pr-review"]})
    team.until(change.task, State.COMPLETED)
    assert len(posted(team, change)) == 1


def test_a_pull_request_that_is_closed_needs_no_review(team: Squad) -> None:
    change = proposes(team, "closed", "pr-review", is_blocked("Which answer is meant?"))
    team.label(change.task, "squadron:pr-review")
    team.until(change.task, State.SLEEPING, Waits.ANSWER)
    team.close(change.task)
    agent = team.until(change.task, State.CANCELLED)
    assert not posted(team, change)
    until_concluded(team, change, "cancelled")
    team.until_comment(change.task, f"#{change.number} was closed")
    assert agent.pull_request is None


def test_a_reviewer_at_its_limit_calls_a_human(team: Squad) -> None:
    change = proposes(team, "endless", "brief-review", looks(), looks("answer"), looks())
    team.label(change.task, "squadron:brief-review")
    agent = team.until_escalated(change.task)
    assert agent.trip is not None and agent.trip.limit == "max_tool_calls"
    until_concluded(team, change, "failure")
    team.until_comment(change.task, "Circuit breaker")
    [escalation] = team.github.escalations(REPOSITORY, change.number)
    for words in (f"Under review: `pull/{change.number}/head`", "I read half", "label the pull"):
        assert words in escalation["body"]
    assert "git switch" not in escalation["body"]
    assert not posted(team, change)


def test_a_role_starts_only_on_what_it_works_on(team: Squad) -> None:
    change = proposes(team, "for-others", "feat-dev")
    issue = team.issue("Not a pull request").by("pr-review")
    team.label(change.task, "squadron:feat-dev")
    team.label(issue, "squadron:pr-review")
    team.until_logged("not started: the role does not work on a pull request", issue=change.number)
    team.until_logged("not started: the role does not work on an issue", issue=issue.number)
    team.settle()
    assert not team.agents(change.task) and not team.agents(issue)


def test_who_lacks_the_permission_brings_no_review(team: Squad) -> None:
    change = proposes(team, "by-label", "pr-review")
    team.label(change.task, "squadron:pr-review", by="tom")
    team.until_logged("not started: sender not trusted", issue=change.number, by="tom")
    team.settle()
    assert not team.agents(change.task)


def test_every_head_of_a_trusted_persons_pull_request_is_reviewed(team: Squad) -> None:
    both: Callable[[str], Answer] = reviews
    steps = (both("Safe."),)
    change = proposes(team, "watched", "security-review", *steps, by="ada", where=WATCHED)
    team.until(change.task, State.COMPLETED)
    second = pushes(team, "watched", "43 again\n", "ada", WATCHED)
    until(
        lambda: len(posted(team, change)) == 2,
        "the second head is reviewed",
        failing=team.check_alive,
    )
    first, later = team.agents(change.task)
    assert later.predecessor == str(first.id)
    assert [one["commit_id"] for one in posted(team, change)] == [change.head, second]
    until_concluded(team, change, "success", second)


def test_a_strangers_pull_request_starts_nothing_by_itself(team: Squad) -> None:
    """Not by opening it, and not by a trusted person's push to it."""
    change = proposes(team, "stranger", "security-review", by="maria", where=WATCHED)
    pushes(team, "stranger", "44 of ada\n", "ada", WATCHED)
    team.settle()
    team.reconciles()
    assert not team.agents(change.task)
