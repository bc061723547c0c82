"""New issues are looked at together, and what is thought of them is proposed, no more."""

from collections.abc import Iterator

import pytest

from app.core.agents.lifecycle import State
from app.scripted.script import Answer, Call, Conversation
from tests.support.people import REPOSITORY, Task, repository
from tests.support.squad import Squad, json_text
from tests.support.steps import completes, runs
from tests.support.waiting import until
from tests.twins.squad import squad

pytestmark = pytest.mark.full

CONFIG = {
    "triggers": {"events": {"issues.opened": "pm"}, "labels": {"bug": "bug-fix"}},
    "circuit_breakers": {"roles": {"pm": {"max_tool_calls": 4}}},
    "roles": {"pm": {"may_label": ["docs"]}},
}
STARTING = ["docs", "Needs-Human", "bug", "squadron:feat-dev", "good first issue"]


@pytest.fixture(scope="module")
def team() -> Iterator[Squad]:
    repositories = {REPOSITORY: repository({}, CONFIG)}
    with squad(repositories) as team:
        yield team


def proposes(issue: int, role: str, *labels: str) -> Call:
    """What a project manager says of one issue."""
    said = {"issue": issue, "role": role, "labels": [*labels], "why": "It is small, @maria."}
    return Call("propose_triage", said)


def labels(team: Squad, task: Task) -> set[str]:
    return {label["name"] for label in team.github.sees(task.path)["labels"]}


def test_issues_of_a_short_while_are_looked_at_by_one_agent(team: Squad) -> None:
    opened: list[int] = []

    def judges(conversation: Conversation) -> Answer:
        one, other = opened
        return Answer(
            "",
            (
                proposes(one, "feat-dev", "docs"),
                proposes(other, "bug-fix", *STARTING),
                proposes(other + 77, "bug-fix", "docs"),
            ),
        )

    steps = (judges, completes("Two issues."))
    first = team.issue("First", *steps, body="One.").by("pm")
    other = team.issue("Second", *steps, body="Two.").by("pm")
    opened += [first.number, other.number]
    worker = next(
        agent
        for agent in (team.until(task, State.COMPLETED) for task in (first, other))
        if agent.sha is not None
    )
    [own, taken] = sorted((first, other), key=lambda task: task.number != worker.id.issue)
    [idle] = team.agents(taken)
    assert (idle.state, idle.sha) == (State.COMPLETED, None)
    until(lambda: labels(team, first) == {"docs"}, "labels are set", failing=team.check_alive)
    until(lambda: labels(team, other) == {"docs"}, "labels are set", failing=team.check_alive)
    said = team.until_comment(taken, "**#")
    assert "@maria" not in said and "Labels set: `docs`." in said
    assert f"**#{own.number}**" in team.until_comment(own, "Two issues.")
    assert "Labels proposed: `Needs-Human`, `bug`, `squadron:feat-dev`" in (
        said if taken is other else team.until_comment(own, "Needs-Human")
    )
    prompt = json_text(team.prompts(other)[0])
    assert "Look at 2 issue(s)" in prompt and "One." in prompt and "Two." in prompt
    team.reconciles()
    for task in (first, other):
        assert len(team.comments(task)) == 1
        assert {agent.id.role for agent in team.registry.agents(REPOSITORY, task.number)} == {"pm"}


def test_at_its_limit_it_calls_nobody(team: Squad) -> None:
    calls = [Answer("", (Call("view", {"path": path}),)) for path in ("a", ".", "answer", "x", "y")]
    task = team.issue("Endless", *calls).by("pm")
    agent = team.until(task, State.ESCALATED)
    assert agent.trip is not None and agent.trip.limit == "max_tool_calls"
    team.until_check(task, "failure")
    team.until_comment(task, "Circuit breaker")
    team.reconciles()
    assert not team.github.escalations(REPOSITORY, task.number)


def test_after_its_limit_a_label_that_no_webhook_told_of_starts_another(team: Squad) -> None:
    """Promise 10: it left nothing behind that a human would have to close first."""
    task = team.issue("Again", *(runs(f"echo {number}") for number in range(5))).by("pm")
    stopped = team.until(task, State.ESCALATED)
    team.settle()
    body = {"labels": ["squadron:pm"]}
    team.github.silently("maria", "POST", f"{task.path}/labels", body)
    until(lambda: team.agents(task)[1:], "another one starts", failing=team.check_alive)
    assert team.agents(task)[1].predecessor == str(stopped.id)


def test_a_strangers_issue_starts_nobody(team: Squad) -> None:
    task = team.issue("Please", by="rita").by("pm")
    team.until_logged("not started: sender not trusted", issue=task.number, by="rita")
    assert not team.agents(task)
