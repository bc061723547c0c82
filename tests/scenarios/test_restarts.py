"""The service is stopped, killed and started again; GitHub goes on meanwhile."""

import shutil
from collections.abc import Iterator
from datetime import timedelta
from typing import Any

import pytest

from app.core.agents.agent import Agent
from app.core.agents.counters import Counters
from app.core.agents.events import SegmentStarted, Waits
from app.core.agents.lifecycle import State
from tests.support.people import Task, repository
from tests.support.squad import Squad, squad
from tests.support.steps import (
    commits,
    completes,
    is_blocked,
    runs,
    runs_at_once,
    thinks,
    waits_for,
    writes,
)
from tests.support.waiting import until

pytestmark = pytest.mark.both_databases
FIFTY_MINUTES = timedelta(minutes=50)


@pytest.fixture(scope="module")
def team(tmp_path_factory: pytest.TempPathFactory, database_url: str | None) -> Iterator[Squad]:
    directory = tmp_path_factory.mktemp("restarts")
    roles = {
        "docs": {"tests": "none"},
        "release": {},
        "broken": {"max_tool_cals": 3},
        "caller": {"max_tool_calls": 1, "summary_wait": 5},
        "reviewed": {"max_review_wait": 1},
    }
    demo = repository(roles)
    with squad(directory, {"octo/demo": demo}, database_url=database_url) as team:
        yield team


def used(counters: Counters) -> tuple[float, ...]:
    """What must never become less."""
    return (
        counters.tool_calls,
        counters.turns,
        counters.model_calls,
        counters.input_tokens + counters.output_tokens,
        counters.active.total_seconds(),
    )


def in_the_middle(team: Squad, name: str, shell_seconds: int) -> tuple[Task, Agent]:
    """An agent with a commit, with something uncommitted, and with a shell that runs."""
    begun = team.signal(f"{name}-begun")
    task = team.give(
        "docs",
        f"Something long: {name}",
        writes("one.txt", "committed\n"),
        commits("One"),
        writes("two.txt", "not committed\n"),
        runs(f"setsid sleep 300 & echo > {begun}; sleep {shell_seconds}"),
        waits_for(team.signal(name)),
        commits("Two"),
        completes("Both are there."),
    )
    until(begun.exists, "the shell runs", failing=team.check_alive)
    return task, team.agent(task)


def finishes(team: Squad, task: Task, before: Counters, name: str) -> Agent:
    """The agent goes on where it was, and its counters with it."""
    team.go(name)
    agent = team.until_handed_over(task)
    after = team.registry.counters(agent.id)
    pairs = zip(used(before), used(after), strict=True)
    assert all(earlier <= later for earlier, later in pairs), (before, after)
    files = team.github.lists(f"/repos/octo/demo/pulls/{agent.pull_request}/files")
    assert {one["filename"] for one in files} == {"one.txt", "two.txt"}
    assert len(team.agents(task)) == len(team.comments(task)) == 1
    return agent


def test_peers_09_a_stop_keeps_the_work_and_the_next_start_goes_on(team: Squad) -> None:
    """docs/design.md, promises 2 and 5; issue, "Engine": `SIGTERM` drains; peers, scenario 9."""
    task, agent = in_the_middle(team, "drain", shell_seconds=2)
    before = team.registry.counters(agent.id)
    team.service.stop()
    assert team.processes(agent.id) == {}
    stopped = team.agent(task)
    assert (stopped.state, stopped.segment) == (State.QUEUED, agent.segment + 1)
    subjects = [one["commit"]["message"] for one in team.github.commits("octo/demo", task.branch)]
    assert "One" in subjects and len(subjects) == 4, "what was not committed is pushed as well"
    team.service.start()
    finishes(team, task, before, "drain")


def test_peers_09_after_kill_9_the_same_segment_goes_on_in_the_same_workspace(team: Squad) -> None:
    """docs/design.md, promise 2; peers, scenario 9."""
    task, agent = in_the_middle(team, "kill", shell_seconds=300)
    before = team.registry.counters(agent.id)
    running = team.processes(agent.id)
    assert any("sleep 300" in command for command in running.values()), running
    team.service.kill()
    until(lambda: not team.processes(agent.id), "nothing outlives the service")
    team.service.start()
    again = finishes(team, task, before, "kill")
    assert again.segment == agent.segment
    starts = [one for one in team.registry.log(again.id) if isinstance(one, SegmentStarted)]
    assert [(one.segment, one.attempt) for one in starts] == [(0, 1), (0, 2)]


@pytest.mark.full
def test_peers_10_after_37_calls_and_50_minutes_no_budget_is_given_away(team: Squad) -> None:
    """docs/design.md, promise 2; peers, scenario 10. The minutes are put into the stored log
    while the service is dead: its first events, the start among them, happened so much earlier."""
    task = team.give(
        "docs",
        "Long",
        runs_at_once(*(f"true {number}" for number in range(36))),
        waits_for(team.signal("long")),
        completes("Nothing to change."),
    )
    agent = team.agent(task)
    until(
        lambda: team.registry.counters(agent.id).tool_calls == 37 and team.processes(agent.id),
        "its 37th call runs",
        failing=team.check_alive,
    )
    team.service.kill()
    team.registry.began_earlier(agent.id, FIFTY_MINUTES)
    before = team.registry.counters(agent.id)
    assert before.tool_calls == 37 and before.active >= FIFTY_MINUTES
    team.service.start()
    team.go("long")
    team.until(task, State.COMPLETED)
    after = team.registry.counters(agent.id)
    assert all(then <= now for then, now in zip(used(before), used(after), strict=True))
    shown = team.asks_api("GET", "/api/agents").json()["agents"]
    [limits] = [one["limits"] for one in shown if one["id"] == str(agent.id)]
    assert limits["max_tool_calls"]["observed"] >= 37
    assert limits["max_active_duration"]["observed"] >= FIFTY_MINUTES.total_seconds()


@pytest.mark.full
def test_peers_11_a_restart_leaves_the_ended_as_they_are(team: Squad) -> None:
    """Peers, scenario 11: final agents with open issues and an open pull request."""
    tasks = [
        team.give("docs", "Nothing", completes("Nothing to change.")),
        team.give("reviewed", "Unread", writes("u.txt", "u\n"), completes("Look.")),
        team.give("caller", "Too much", runs("true"), runs("true")),
        team.give("docs", "Not mine", waits_for(team.signal("never-mine"))),
    ]
    last = team.until(tasks[-1], State.ACTIVE)
    until(lambda: team.registry.counters(last.id).tool_calls, "it has a workspace to work in")
    team.github.does("maria", "DELETE", f"{tasks[-1].path}/labels/squadron:docs")
    states = (State.COMPLETED, State.COMPLETED, State.ESCALATED, State.CANCELLED)
    for task, state in zip(tasks, states, strict=True):
        team.until(task, state)
        assert team.github.sees(task.path)["state"] == "open"
    team.until_escalated(tasks[2])
    until(lambda: team.agent(tasks[1]).pull_request, "its pull request is noted")
    conclusions = ("success", "neutral", "failure", "cancelled")
    for task, conclusion in zip(tasks, conclusions, strict=True):
        team.until_check(task, conclusion)
    ends = ("is done", "is done", "Circuit breaker", "is cancelled")
    for task, words in zip(tasks, ends, strict=True):
        team.until_comment(task, words)
    team.settle()
    team.reconciles(1)

    def everything() -> object:
        issues = team.github.lists("/repos/octo/demo/issues?state=all")
        return (
            [(one["number"], one["state"], one["body"]) for one in issues],
            [[one["body"] for one in team.comments(task)] for task in tasks],
            [[one["id"] for one in team.checks(task)] for task in tasks],
            [[team.registry.log(one.id) for one in team.agents(task)] for task in tasks],
        )

    before = everything()
    team.service.kill()
    team.service.start()
    assert team.repairs(2) == []
    assert everything() == before


def test_peers_26_what_happened_while_nobody_listened_is_found_in_one_pass(team: Squad) -> None:
    """docs/design.md, promise 10; peers, scenario 26."""
    blocker = team.issue("First this")
    sleeper = team.give(
        "release", "Then that", is_blocked("Later.", blocker.number), completes("Nothing to do.")
    )
    team.until(sleeper, State.SLEEPING, Waits.BLOCKER)
    merged = team.give("docs", "Merge me", writes("m.txt", "m\n"), completes("Merge."))
    team.until_handed_over(merged)
    gone = team.give("docs", "Close me", is_blocked("Later.", blocker.number))
    team.until(gone, State.SLEEPING, Waits.BLOCKER)
    new = team.issue("Label me", completes("Nothing to do.")).by("docs")
    team.settle()

    team.service.stop()
    number = team.agent(merged).pull_request
    for login, method, path, content in (
        ("maria", "PATCH", gone.path, {"state": "closed"}),
        ("maria", "PATCH", blocker.path, {"state": "closed"}),
        ("maria", "PUT", f"/repos/octo/demo/pulls/{number}/merge", {}),
        ("maria", "POST", f"{new.path}/labels", {"labels": ["squadron:docs"]}),
    ):
        team.github.silently(login, method, path, content)
    lines_before = len(team.service.lines())
    team.service.start()
    for task, state in (
        (sleeper, State.COMPLETED),
        (merged, State.COMPLETED),
        (gone, State.CANCELLED),
        (new, State.COMPLETED),
    ):
        team.until(task, state)
    assert team.agent(new).started_by == "maria"

    def said(message: str) -> list[dict[str, Any]]:
        lines = team.service.lines()[lines_before:]
        return [line for line in lines if line["message"] == message]

    until(lambda: said("reconciled"), "a pass has ended", failing=team.check_alive)
    repairs = [line["repair"] for line in said("repaired")]
    assert sorted(one for one in repairs if not one.startswith("effects of ")) == sorted(
        [
            f"woken: {team.agent(sleeper).id}",
            f"review ended: {team.agent(merged).id}",
            f"cancelled: {team.agent(gone).id}",
            f"started octo/demo#{new.number}/docs",
        ]
    )
    assert team.repairs(2) == [], "nothing is left to repair"
    for task, words in (
        (sleeper, "The agent is done"),
        (merged, "The agent is done"),
        (gone, "The agent is cancelled"),
        (new, "The agent is done"),
    ):
        team.until_comment(task, words)
        assert len(team.comments(task)) == len(team.agents(task)) == 1


def test_what_people_wrote_while_nobody_listened_is_heard(team: Squad) -> None:
    """docs/design.md, promises 6 and 10."""
    asked = team.give("docs", "Ask me", is_blocked("Which colour?"), completes("Nothing to do."))
    team.until(asked, State.SLEEPING, Waits.ANSWER)
    ignored = team.give("docs", "Ask them", is_blocked("Which size?"))
    team.until(ignored, State.SLEEPING, Waits.ANSWER)
    reviewed = team.give(
        "docs", "Review me", writes("r.txt", "r\n"), completes("Look."), completes("Looked again.")
    )
    number = team.until_handed_over(reviewed).pull_request
    team.settle()

    team.service.stop()
    team.github.silently("maria", "POST", f"{asked.path}/comments", {"body": "The blue one."})
    team.github.silently("tom", "POST", f"{ignored.path}/comments", {"body": "The big one."})
    review = {"event": "REQUEST_CHANGES", "body": "A word is missing."}
    team.github.silently("maria", "POST", f"/repos/octo/demo/pulls/{number}/reviews", review)
    team.service.start()
    team.until(asked, State.COMPLETED)
    until(lambda: team.agent(reviewed).segment == 1, "the review is heard")
    team.until_handed_over(reviewed)
    assert "The blue one." in team.prompts(asked)[-1].conversation.messages[-1].text
    assert "A word is missing." in team.prompts(reviewed)[-1].conversation.messages[-1].text
    assert team.agent(ignored).state is State.SLEEPING, "tom may only read"
    team.close(ignored)
    team.until(ignored, State.CANCELLED)


def test_an_answer_survives_the_death_of_the_process_that_was_told(team: Squad) -> None:
    """docs/design.md, promise 2."""
    task = team.give("docs", "Ask", is_blocked("Which?"), thinks(600), completes("Nothing to do."))
    team.until(task, State.SLEEPING, Waits.ANSWER)
    before = len(team.prompts(task))
    team.comment(task, "The blue one.")
    until(lambda: len(team.prompts(task)) > before, "the model is asked")
    team.service.kill()
    team.service.start()
    until(lambda: len(team.prompts(task)) > before + 1, "the model is asked again")
    assert "The blue one." in team.prompts(task)[-1].conversation.messages[-1].text
    team.close(task)
    team.until(task, State.CANCELLED)


def test_without_its_session_an_agent_is_told_everything_again(team: Squad) -> None:
    """A worker on another machine, or a lost disk: the issue and the answer, not "go on"."""
    task = team.give("docs", "Ask about cheese", is_blocked("Which?"), completes("Nothing to do."))
    agent = team.until(task, State.SLEEPING, Waits.ANSWER)
    team.settle()
    shutil.rmtree(team.workspace(agent.id).parent / "session")
    team.comment(task, "Gouda.")
    until(
        lambda: any(
            "Gouda." in message.text and "Ask about cheese" in message.text
            for request in team.prompts(task)
            for message in request.conversation.messages
        ),
        "it is told everything",
    )
    team.close(task)
    team.until(task, State.CANCELLED)


def test_a_label_of_a_broken_role_that_nobody_told_of_is_answered_once(team: Squad) -> None:
    """docs/design.md, promises 8 and 10."""
    task = team.issue("Broken").by("broken")
    team.github.silently("maria", "POST", f"{task.path}/labels", {"labels": ["squadron:broken"]})
    until(lambda: team.comments(task), "it is answered")
    team.reconciles(2)
    [comment] = team.comments(task)
    assert ".squadron/agents/broken.md:2:" in comment["body"]
    assert team.agents(task) == []
