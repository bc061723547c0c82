"""Agents that wait for other issues, told by webhooks alone: reconciliation never comes by."""

from collections.abc import Iterator

import pytest

from app.core.agents.events import Slept, Waits, Woken
from app.core.agents.lifecycle import State
from app.scripted.script import Answer, Conversation
from tests.support.deliveries import deliver
from tests.support.people import Task, repository
from tests.support.squad import Squad
from tests.support.steps import completes, is_blocked, runs, says, writes
from tests.support.waiting import until
from tests.twins.squad import squad


@pytest.fixture(scope="module")
def team() -> Iterator[Squad]:
    demo = repository({"docs": {}, "code": {}})
    with squad({"octo/demo": demo}, reconciliation_seconds=3600) as team:
        yield team


def test_a_blocked_agent_sleeps_wakes_when_the_issue_is_closed_and_hears_the_news(
    team: Squad,
) -> None:
    """Issue, "Sleep and wake"; what it does when it is done, 4."""
    code = team.give("code", "Code", writes("code.txt", "code\n"), completes("Code."))
    team.until_handed_over(code)
    docs = team.give(
        "docs",
        "Describe the code",
        is_blocked("There is no code yet.", code.number),
        runs("git merge --quiet origin/main && cat code.txt > docs.txt"),
        completes("Described."),
    )
    asleep = team.until(docs, State.SLEEPING, Waits.BLOCKER)
    team.until_comment(docs, f"The agent sleeps until #{code.number} is closed.")
    assert team.processes(asleep.id) == {}
    team.merge(code)
    team.until_handed_over(docs)
    log = team.registry.log(asleep.id)
    slept = [event for event in log if isinstance(event, Slept)]
    assert [(one.waits_for, one.blocked_by) for one in slept] == [
        (Waits.BLOCKER, (code.number,)),
        (Waits.REVIEW, ()),
    ]
    prompts = [
        message.text
        for message in team.prompts(docs)[-1].conversation.messages
        if "You go on with issue" in message.text
    ]
    assert len(prompts) == 1
    assert f"Closed meanwhile: #{code.number}" in prompts[0]
    assert "code.txt" in prompts[0], "what changed on the default branch is told"


def slow_beside(closing: Answer) -> Answer:
    """A closing tool, and beside it a command that ends only after it."""
    return Answer("", (*closing.calls, *runs("sleep 1; touch late.txt").calls))


def tells_again(team: Squad, task: Task) -> int:
    """Everything that GitHub has ever told about an issue and its pull request comes once more, as
    new to the inbox; how much that was."""
    numbers = {task.number, team.agent(task).pull_request}
    told = [
        one
        for one in team.github.exchanges()
        if (one.get("webhook") in ("issues", "issue_comment")
            and one["payload"]["issue"]["number"] in numbers)
        or (one.get("webhook") == "pull_request" and one["payload"]["number"] in numbers)
    ]  # fmt: skip
    for number, one in enumerate(told):
        name = f"late-{task.number}-{number}"
        assert deliver(team, one["webhook"], one["payload"], name).json()["accepted"]
    team.settle()
    return len(told)


@pytest.mark.full
def test_peers_15_nothing_late_sets_a_reported_blocker_back(team: Squad) -> None:
    """Peers, scenario 15: a tool that ends after the report, and old webhooks once more. Hooks of a
    segment that was taken over: `tests/contract/test_hook_crowds.py`."""
    blocker = team.issue("Not yet")
    task = team.give("docs", "Blocked", slow_beside(is_blocked("Later.", blocker.number)))
    team.until(task, State.SLEEPING, Waits.BLOCKER)
    team.settle()
    asleep, log = team.agent(task), team.registry.log(team.agent(task).id)
    assert asleep.blocked_by == (blocker.number,)
    assert tells_again(team, task) >= 2
    assert team.agents(task) == [asleep]
    assert team.registry.log(asleep.id) == log
    assert team.processes(asleep.id) == {}


@pytest.mark.full
def test_peers_15_nothing_late_sets_an_open_pull_request_back(team: Squad) -> None:
    """Peers, scenario 15."""
    task = team.give("docs", "Handed over", writes("h.txt", "h\n"), slow_beside(completes("Look.")))
    team.until_handed_over(task)
    team.settle()
    waits, log = team.agent(task), team.registry.log(team.agent(task).id)
    assert tells_again(team, task) >= 3
    assert team.agents(task) == [waits]
    assert team.registry.log(waits.id) == log


def test_peers_22_two_blockers_wake_after_both(team: Squad) -> None:
    """Peers, scenario 22."""
    first, second = team.issue("First"), team.issue("Second")
    task = team.give(
        "docs", "Third", is_blocked("Both.", first.number, second.number), completes("Done.")
    )
    asleep = team.until(task, State.SLEEPING, Waits.BLOCKER)
    team.close(first)
    team.settle()
    assert team.agent(task).state is State.SLEEPING
    team.close(second)
    team.until(task, State.COMPLETED)
    assert len([one for one in team.registry.log(asleep.id) if isinstance(one, Woken)]) == 1


def test_peers_22_a_blocker_that_is_closed_already_wakes_at_once(team: Squad) -> None:
    """Peers, scenario 22."""
    closed = team.issue("Long done")
    team.close(closed)
    task = team.give("docs", "Go", is_blocked("That one.", closed.number), completes("Done."))
    agent = team.until(task, State.COMPLETED)
    [woken] = [one for one in team.registry.log(agent.id) if isinstance(one, Woken)]
    assert woken.why == f"Closed meanwhile: #{closed.number}."


def test_peers_22_waiting_for_oneself_is_refused_and_escalated(team: Squad) -> None:
    """Peers, scenario 22."""

    def for_itself(_: Conversation) -> Answer:
        return is_blocked("I wait for me.", task.number)

    task = team.issue("Myself", for_itself).by("docs")
    team.label(task, "squadron:docs")
    agent = team.until_escalated(task)
    assert agent.failure is not None
    assert agent.failure.cause == "blocked_in_circle"
    assert agent.failure.reason == f"The agent waits for its own issue #{task.number}."
    assert [check["conclusion"] for check in team.checks(task)] == ["failure"]


def test_peers_22_waiting_in_a_circle_is_refused_and_escalated(team: Squad) -> None:
    """Peers, scenario 22."""
    third = team.issue("C")
    first = team.give("docs", "A", is_blocked("For C.", third.number), says("Never."))
    team.until(first, State.SLEEPING, Waits.BLOCKER)
    second = team.give("docs", "B", is_blocked("For A.", first.number))
    team.until(second, State.SLEEPING, Waits.BLOCKER)
    closing = team.issue("C's agent", is_blocked("For B.", second.number))
    body = team.github.sees(closing.path)["body"]
    team.github.does("maria", "PATCH", third.path, {"body": body})
    until(lambda: team.github.sees(third.path)["body"] == body, "the story of C")
    last = third.by("docs")
    team.label(last, "squadron:docs")
    agent = team.until_escalated(last)
    assert agent.failure is not None
    assert agent.failure.reason == (
        f"The agents wait for each other in a circle: #{third.number} waits for #{second.number},"
        f" #{second.number} waits for #{first.number}, #{first.number} waits for #{third.number}."
    )
    assert team.agent(first).state is team.agent(second).state is State.SLEEPING
