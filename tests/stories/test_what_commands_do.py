"""Commands in comments, by people with permission (issue 4): status, stop, wake, retry, explain."""

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from app.core.agents.agent import Agent
from app.core.agents.events import Waits, Woken
from app.core.agents.lifecycle import State
from app.scripted.script import Answer, Conversation, Speaker
from tests.support.people import Task, repository
from tests.support.squad import Squad, json_text
from tests.support.steps import completes, is_blocked, runs, waits_for
from tests.support.waiting import until
from tests.twins.squad import squad

pytestmark = pytest.mark.full

ROLES: dict[str, Any] = {"docs": {}, "short": {"max_tool_calls": 1}, "second": {}}


@pytest.fixture(scope="module")
def team() -> Iterator[Squad]:
    with squad({"octo/demo": repository(ROLES)}, reconciliation_seconds=3600) as team:
        yield team


def tells(team: Squad, task: Task, body: str, by: str = "maria") -> str:
    """Somebody comments; the comment's path."""
    said = team.github.does(by, "POST", f"{task.path}/comments", {"body": body})
    return f"/repos/{task.repository}/issues/comments/{said['id']}"


def reactions(team: Squad, comment: str) -> dict[str, int]:
    shown = team.github.sees(comment)["reactions"]
    return {name: shown[name] for name in ("eyes", "rocket", "confused") if shown[name]}


def until_done(team: Squad, comment: str) -> None:
    until(lambda: reactions(team, comment) == {"eyes": 1, "rocket": 1}, "it is done")


def until_refused(team: Squad, comment: str) -> None:
    until(lambda: reactions(team, comment) == {"eyes": 1, "confused": 1}, "it is refused")


def answers(team: Squad, task: Task) -> list[str]:
    """What was answered to commands, oldest first."""
    bodies = [comment["body"] for comment in team.comments(task)]
    return [body for body in bodies if "<!-- squadron:answer:" in body]


def test_stop_takes_the_work_away_and_keeps_it(team: Squad) -> None:
    wait = waits_for(team.signal("never"))
    task = team.give("docs", "Stop", runs("echo half > half.txt"), wait, completes("Late."))
    agent = team.until(task, State.ACTIVE)
    until((team.workspace(agent.id) / "half.txt").exists, "the agent has begun")
    until_done(team, tells(team, task, "Enough.\n\n/squadron stop"))
    agent = team.until(task, State.CANCELLED)
    until(lambda: not team.processes(agent.id), "nothing of it runs")
    team.until_check(task, "cancelled")
    team.until_comment(task, "The agent is cancelled: maria stopped it by `/squadron stop`.")
    assert answers(team, task) == [], "the progress comment says enough"
    file = f"/repos/octo/demo/contents/half.txt?ref={agent.sha}"
    assert team.github.sees(file)["name"] == "half.txt"
    until_refused(team, tells(team, task, "/squadron stop"))
    assert "`docs` has ended (cancelled) already." in answers(team, task)[0]


def test_a_stranger_commands_nothing_and_is_not_answered(team: Squad) -> None:
    wait = waits_for(team.signal("stranger"))
    task = team.give("docs", "Strangers", wait, completes("Done."))
    team.until(task, State.ACTIVE)
    said = [tells(team, task, "/squadron stop", by=who) for who in ("noel", "tom", "rita")]
    quoted = tells(team, task, "> /squadron stop\n\n`/squadron stop`\n<!--\n/squadron stop\n-->")
    team.settle()
    assert [reactions(team, each) for each in said] == [{}] * 3
    assert reactions(team, quoted) == {"eyes": 1}, "no command, but words for the agent"
    assert team.agent(task).state is State.ACTIVE
    team.go("stranger")
    team.until(task, State.COMPLETED)
    assert answers(team, task) == []


def test_status_and_explain_tell_and_change_nothing(team: Squad) -> None:
    wait = waits_for(team.signal("told"))
    task = team.give("docs", "Tell me", wait, completes("Done."))
    team.until(task, State.ACTIVE)
    until_done(team, tells(team, task, "/squadron status"))
    [status] = answers(team, task)
    assert "**`docs`**: The agent works." in status
    assert "| `max_tool_calls` |" in status
    until_done(team, tells(team, task, "/squadron explain"))
    assert f"    octo/demo#{task.number}/docs/1 is" in answers(team, task)[1]
    team.go("told")
    team.until(task, State.COMPLETED)


def test_help_shows_every_command_and_a_wrong_one_gets_one_line(team: Squad) -> None:
    task = team.issue("Help").by("docs")
    until_done(team, tells(team, task, "/squadron help"))
    assert "- `/squadron retry [ROLE] [raise LIMIT +AMOUNT]`:" in answers(team, task)[0]
    until_refused(team, tells(team, task, "/squadron restart"))
    answer = answers(team, task)[1]
    assert "`/squadron restart` was not understood. Did you mean `retry`?" in answer
    until_refused(team, tells(team, task, "/squadron stop"))
    assert "No agent works on this issue." in answers(team, task)[2]


def test_wake_lets_a_sleeping_agent_go_on(team: Squad) -> None:
    task = team.give("docs", "Asleep", is_blocked("Which colour?"), completes("Then none."))
    team.until(task, State.SLEEPING, Waits.ANSWER)
    until_done(team, tells(team, task, "/squadron wake"))
    team.until(task, State.COMPLETED)
    until_refused(team, tells(team, task, "/squadron wake"))
    assert "`docs` does not sleep, it is completed." in answers(team, task)[0]


def test_what_is_said_beside_wake_reaches_the_agent(team: Squad) -> None:
    task = team.give("docs", "Asked", is_blocked("Which colour?"), completes("Blue it is."))
    team.until(task, State.SLEEPING, Waits.ANSWER)
    until_done(team, tells(team, task, "Blue, please.\n\n/squadron wake"))
    agent = team.until(task, State.COMPLETED)
    [woken] = [event for event in team.registry.log(agent.id) if isinstance(event, Woken)]
    assert woken.why.startswith("maria woke it by `/squadron wake`. maria commented:\n\nBlue,")
    assert "Blue, please." in json_text(team.prompts(task)[-1])


def test_a_command_that_no_webhook_told_of_is_obeyed_once() -> None:
    """Promise 10."""
    with squad({"octo/demo": repository(ROLES)}, reconciliation_seconds=1) as team:
        task = team.give("docs", "Unheard", is_blocked("Which colour?"), completes("None."))
        team.until(task, State.SLEEPING, Waits.ANSWER)
        body = {"body": "/squadron status\n/squadron stop"}
        team.github.silently("maria", "POST", f"{task.path}/comments", body)
        team.until(task, State.CANCELLED)
        team.reconciles(2)
        assert len(answers(team, task)) == 1
        working = team.give("docs", "Unheard at work", waits_for(team.signal("never-heard")))
        agent = team.until(working, State.ACTIVE)
        until(lambda: team.registry.counters(agent.id).tool_calls, "it works")
        team.github.silently("maria", "POST", f"{working.path}/comments", body)
        team.until(working, State.CANCELLED)
        team.reconciles(2)
        assert len(answers(team, working)) == 1


@pytest.mark.parametrize("where", ["the issue", "its needs-human issue"])
def test_retry_starts_a_fresh_agent_on_the_same_branch(team: Squad, where: str) -> None:
    def goes_on(conversation: Conversation) -> Answer:
        is_first = "This is what I did." not in conversation.said_by(Speaker.USER)[0]
        return runs("echo two") if is_first else completes("Done.")

    task = team.give("short", f"Retry on {where}", runs("echo one > one.txt"), goes_on)
    stopped = team.until_escalated(task)
    [escalation] = team.github.escalations("octo/demo", task.number)
    thread = task.number if where == "the issue" else escalation["number"]
    until_done(team, tells(team, Task("octo/demo", thread, "short"), "/squadron retry"))
    fresh = until(lambda: [*team.agents(task)][1:], "a fresh agent starts")[0]
    assert (fresh.predecessor, fresh.branch) == (str(stopped.id), stopped.branch)
    assert fresh.started_by == "maria"
    assert team.github.sees(f"/repos/octo/demo/issues/{escalation['number']}")["state"] == "closed"
    told = Task("octo/demo", escalation["number"], "short")
    until_done(team, tells(team, told, "/squadron explain"))
    assert f"    octo/demo#{task.number}/short/2 is" in answers(team, told)[-1], "the one after it"
    team.until(task, State.SLEEPING, Waits.REVIEW)


def until_a_second_after(agent: Agent) -> None:
    """GitHub tells whole seconds: who says something within that of the start said it before."""
    until(lambda: datetime.now(UTC) > agent.created_at + timedelta(seconds=1), "a second is over")


def test_commands_of_one_comment_are_obeyed_one_after_the_other(team: Squad) -> None:
    task = team.give("docs", "In turn", waits_for(team.signal("in-turn")), completes("Late."))
    first = team.until(task, State.ACTIVE)
    until_a_second_after(first)
    until_done(team, tells(team, task, "/squadron stop\n/squadron retry\n/squadron status"))
    [old, fresh] = team.agents(task)
    assert (old.state, fresh.predecessor) == (State.CANCELLED, str(first.id))
    [told] = answers(team, task)
    assert "has not ended" not in told and "**`docs`**: " in told
    until_done(team, tells(team, task, "/squadron stop"))
    team.until(task, State.CANCELLED)
    until_a_second_after(fresh)
    until_done(team, tells(team, task, "/squadron retry\n/squadron stop"))
    team.until(task, State.CANCELLED)
    assert len(team.agents(task)) == 3 and len(answers(team, task)) == 1


def test_what_was_refused_is_answered_though_github_fails_after_the_next_was_obeyed(
    team: Squad,
) -> None:
    """What died between obeying and answering is done again: one answer, and it tells all."""
    task = team.give("docs", "Cut off", waits_for(team.signal("cut-off")), completes("Late."))
    team.until(task, State.ACTIVE)
    until(lambda: team.comments(task), "it has said that it works")
    comment = tells(team, task, "Well.")
    with team.github.trouble(kind="error", method="POST", path=f"{task.path}/comments", count=1):
        edit = {"body": "/squadron wake\n/squadron stop"}
        team.github.does("maria", "PATCH", comment, edit)
        until(team.github.fired, "GitHub refuses the answer", failing=team.check_alive)
    team.until(task, State.CANCELLED)
    until_refused(team, comment)
    team.settle()
    [answer] = answers(team, task)
    assert "Squadron could not obey `/squadron wake` when its turn came" in answer


def test_of_several_agents_one_has_to_be_named(team: Squad) -> None:
    wait = waits_for(team.signal("several"))
    task = team.issue("Several", wait, completes("Done.")).by("docs")
    team.label(task, "squadron:docs", "squadron:second")
    for role in ("docs", "second"):
        team.until(task.by(role), State.ACTIVE)
    until_refused(team, tells(team, task, "/squadron stop"))
    words = "say which one, as in `/squadron stop docs` or `/squadron stop second`"
    assert words in answers(team, task)[0]
    until_done(team, tells(team, task, "/squadron stop second"))
    team.until(task.by("second"), State.CANCELLED)
    assert team.agent(task).state is State.ACTIVE
    team.go("several")
    team.until(task, State.COMPLETED)
