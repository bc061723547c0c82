"""The panic stop: `squadron pause` and `resume`, and `enabled: false`.

Issue 4, "Commands": nothing starts, running agents stop with their work kept, one line each says
why. What was held goes on with its counters.
"""

import json
import time
from collections.abc import Iterator
from dataclasses import replace
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from app.cli.main import app
from app.core.agents.agent import Agent
from app.core.agents.counters import Counters
from app.core.agents.events import Braked, BrakeLifted, SegmentStarted, Waits
from app.core.agents.lifecycle import State
from app.scripted.script import Answer, Call, Script
from tests.support.github import BOT, git
from tests.support.people import SUMMARY, Task, repository
from tests.support.squad import Squad, json_text, squad
from tests.support.steps import completes, is_blocked, runs, waits_for, writes
from tests.support.waiting import until

pytestmark = pytest.mark.full

DEMO, OTHER, WATCHED = "octo/demo", "octo/other", "octo/watched"
CONFIG = ".squadron/config.yaml"


@pytest.fixture(scope="module")
def team(tmp_path_factory: pytest.TempPathFactory, database_url: str | None) -> Iterator[Squad]:
    directory = tmp_path_factory.mktemp("brake")
    places = {name: repository({"docs": {}, "helper": {}}) for name in (DEMO, OTHER)}
    places[WATCHED] = repository({"docs": {}}, {"triggers": {"events": {"issues.opened": "docs"}}})
    with squad(directory, places, database_url=database_url) as team:
        yield team


def begins(team: Squad, name: str, where: str = DEMO) -> Task:
    """An agent in the middle of a shell, with a commit and with something uncommitted."""
    begun = team.signal(f"{name}-begun")
    task = team.give(
        "docs",
        f"Something long: {name}",
        runs(
            "echo 1 > one.txt && git add --all && git commit --quiet --message One &&"
            f" echo 2 > two.txt; setsid sleep 300 & echo > {begun}; sleep 300"
        ),
        waits_for(team.signal(name)),
        completes("Both are there."),
        repository=where,
    )
    until(begun.exists, "the shell runs", failing=team.check_alive)
    return task


def operator(team: Squad, *arguments: str, exit_code: int = 0) -> str:
    """A command of the operator, and what it says; it knows nothing of the running service."""
    done = CliRunner().invoke(app, [*arguments], env=dict(team.service.environment))
    assert done.exit_code == exit_code, done.output
    return done.output


def until_held(team: Squad, task: Task, words: str) -> Agent:
    """The agent, once it waits in the queue, nothing of it runs, and all that was done is there."""
    held = team.agent(task).id
    until(  # not only queued again: whose runtime or process has died is that as well
        lambda: isinstance(team.registry.log(held)[-1], Braked),
        f"{task} is held",
        failing=team.check_alive,
    )
    agent = team.registry.agent(held)
    assert (agent.state, team.processes(held)) == (State.QUEUED, {})
    for name in ("one.txt", "two.txt"):
        file = f"/repos/{task.repository}/contents/{name}?ref={agent.sha}"
        assert team.github.sees(file)["name"] == name, "its work is kept and pushed"
    said = team.until_comment(task, "The agent is held: ")
    [line] = [line for line in said.splitlines() if "The agent is held: " in line]
    assert words in line
    check = team.until_titled(task, f"The agent is held: {words}")
    assert (check["status"], check["conclusion"]) == ("in_progress", None)
    return agent


def used(counters: Counters) -> tuple[float, ...]:
    """What must never become less, and what time under a brake must not add to."""
    return counters.tool_calls, counters.turns, counters.model_calls, counters.tokens


def finishes(team: Squad, task: Task, before: Counters, name: str) -> Agent:
    """The agent goes on where it was, and its counters with it."""
    team.go(name)
    agent = team.until_handed_over(task)
    after = team.registry.counters(agent.id)
    assert all(old <= new for old, new in zip(used(before), used(after), strict=True))
    assert len(team.agents(task)) == len(team.comments(task)) == 1
    return agent


def test_all_stop_nothing_starts_and_all_goes_on(team: Squad) -> None:
    one, two = begins(team, "one"), begins(team, "two", OTHER)
    sleeper = team.give("docs", "Ask", is_blocked("Which?"), completes("Nothing to do."))
    team.until(sleeper, State.SLEEPING, Waits.ANSWER)
    told = team.service.commands("pause", "--all", "--by", "ada", "--reason", "a leak")
    assert (told.returncode, "2 at work now" in told.stdout) == (0, True), told
    held = [until_held(team, task, "ada paused all agents at ") for task in (one, two)]
    assert "(a leak)" in team.until_comment(one, "The agent is held: ")
    before = [team.registry.counters(agent.id) for agent in held]

    late = team.give("docs", "Late", completes("Nothing to do."))
    assert "The agent has not started yet: ada paused all agents" in team.until_comment(
        late, "not started"
    )
    team.comment(sleeper, "The blue one.")
    team.until_comment(sleeper, "The agent is held: ada paused all agents")
    shown = json.loads(operator(team, "pause", "--json"))
    assert (shown["changed"], [brake["by"] for brake in shown["brakes"]]) == (False, ["ada"])
    team.reconciles(2)
    assert team.repairs(2) == [], "nobody is pushed on"
    assert (team.agents(late), len(team.comments(late))) == ([], 1)
    assert [team.agent(task) for task in (one, two)] == held
    assert [team.registry.counters(agent.id) for agent in held] == before
    team.comment(one, "/squadron status")
    answer = until(lambda: team.comments(one)[1:], "a command is answered")[0]
    assert "The agent is held: ada" in answer["body"]

    operator(team, "resume", "--all", "--by", "ada")
    team.until(sleeper, State.COMPLETED)
    team.until(late, State.COMPLETED)
    for task, agent, counters, name in zip((one, two), held, before, ("one", "two"), strict=True):
        if task is one:
            team.github.does("ada", "DELETE", f"/repos/{DEMO}/issues/comments/{answer['id']}")
        assert finishes(team, task, counters, name).id == agent.id
        log = team.registry.log(agent.id)
        assert sum(isinstance(event, Braked) for event in log) == 1
        assert sum(isinstance(event, BrakeLifted) for event in log) == 1
    assert "nothing to resume" in operator(team, "resume", exit_code=1)


def test_a_repository_alone_and_a_process_that_dies_while_it_brakes(team: Squad) -> None:
    """Promise 2: neither the brake nor what it holds is forgotten."""
    free, braked = begins(team, "free"), begins(team, "braked", OTHER)
    operator(team, "pause", "--repo", "Octo/Other", "--by", "ada")
    team.service.kill()
    team.service.start()
    held = until_held(team, braked, "ada paused all agents of octo/other at ")
    assert team.until(free, State.ACTIVE)
    told = operator(team, "resume", "--all", exit_code=1)
    assert "squadron resume --repo octo/other" in told, "what would help is named"
    before = team.registry.counters(held.id)
    finishes(team, free, team.registry.counters(team.agent(free).id), "free")
    assert team.registry.counters(held.id).active == before.active
    operator(team, "resume", "--repo", OTHER, "--by", "ada")
    finishes(team, braked, before, "braked")
    starts = [one for one in team.registry.log(held.id) if isinstance(one, SegmentStarted)]
    assert starts[-1].segment > starts[0].segment


def test_a_start_that_waits_is_told_of_and_can_be_stopped(team: Squad) -> None:
    """It is not made when the brake is lifted; what is asked for after that is."""
    operator(team, "pause", "--repo", DEMO, "--by", "ada", "--reason", "a leak")
    idle = completes("Nothing to do.")
    stopped, anew, kept = (team.give("docs", title, idle) for title in ("No", "Yet", "Yes"))
    for task in (stopped, anew, kept):
        team.until_comment(task, "The agent has not started yet: ada paused all agents")
    team.comment(kept, "/squadron status")
    team.until_comment(
        kept, "**`docs`**: The agent waits to start: ada paused all agents of octo/demo"
    )
    for task in (stopped, anew):
        team.comment(task, "/squadron stop")
        team.until_comment(task, "`docs` had not begun: the agent waited to start")
    team.comment(stopped, "/squadron status")
    team.until_comment(stopped, "No agent works on this issue.")
    until(lambda: time.time() > told_at(team, anew) + 1, "the next second")
    team.github.does("maria", "DELETE", f"{anew.path}/labels/squadron:docs")
    team.label(anew, "squadron:docs")
    until(
        lambda: "paused" in json.dumps(not_started(team, anew)),
        "it waits once more",
        failing=team.check_alive,
    )
    team.settle()
    operator(team, "resume", "--repo", DEMO, "--by", "ada")
    for task in (anew, kept):
        team.until(task, State.COMPLETED)
    team.reconciles(2)
    assert [len(team.agents(task)) for task in (stopped, anew, kept)] == [0, 1, 1]
    [why] = not_started(team, stopped)
    assert why["reason"] == "maria stopped it before it began"


def not_started(team: Squad, task: Task) -> list[Any]:
    """Why nothing has begun on the issue, as the API tells it."""
    told = team.asks_api("GET", "/api/agents").json()["not_started"]
    where = (task.repository, task.number)
    return [one for one in told if (one["repository"], one["issue"]) == where]


def told_at(team: Squad, task: Task) -> float:
    """When the last comment on the issue was written, whoever did; in seconds."""
    comments = team.github.lists(f"{task.path}/comments")
    return max(datetime.fromisoformat(one["created_at"]).timestamp() for one in comments)


def switches(team: Squad, where: str, *, enabled: bool) -> None:
    """Maria pushes a configuration that says so."""
    clone = team.github.clone(where)
    config = json.loads((clone / CONFIG).read_text())
    pushes_configuration(clone, json.dumps({**config, "enabled": enabled}))


def pushes_configuration(clone: Path, content: str) -> None:
    """Maria pushes `config.yaml` to the default branch."""
    (clone / CONFIG).write_text(content)
    git("commit", "--quiet", "--all", "--message", "Configure", cwd=clone)
    git("push", "--quiet", "origin", "main", cwd=clone)


@pytest.mark.parametrize("is_told", [True, False], ids=["told", "untold"])
def test_a_repository_switches_itself_off(team: Squad, is_told: bool) -> None:
    """By a push, and where no webhook told of it (promise 10)."""
    name = f"off-{is_told}"
    task = begins(team, name)
    if is_told:
        switches(team, DEMO, enabled=False)
    else:
        team.service.kill()
        switches(team, DEMO, enabled=False)
        team.service.start()
    held = until_held(team, task, "the repository's configuration says `enabled: false`")
    if not is_told:
        team.comment(task, "/squadron stop", by="ada")
        assert team.until(task, State.CANCELLED).sha == held.sha, "people are obeyed all the same"
        switches(team, DEMO, enabled=True)
        return
    quiet = team.give("docs", "Quiet", completes("Nothing to do."))
    team.until_logged(
        "not started: the repository's configuration says `enabled: false`", issue=quiet.number
    )
    team.settle()
    assert (team.comments(quiet), team.agents(quiet)) == ([], []), "whoever switched it off knows"
    told = operator(team, "resume", "--repo", DEMO, exit_code=1)
    assert "set `enabled: true` on its default branch" in told
    switches(team, DEMO, enabled=True)
    finishes(team, task, team.registry.counters(held.id), name)
    team.until(quiet, State.COMPLETED)


def test_a_repository_switches_itself_off_with_a_mistake_in_the_same_file(team: Squad) -> None:
    """Whoever stops in a hurry does not mend what else is wrong; the issue about it says so."""
    task = begins(team, "off-broken")
    clone = team.github.clone(DEMO)
    sound = (clone / CONFIG).read_text()
    broken = {**json.loads(sound), "enabled": False, "limitz": 3}
    pushes_configuration(clone, json.dumps(broken))
    held = until_held(team, task, "the repository's configuration says `enabled: false`")
    [trouble] = until(
        lambda: team.github.lists(f"/repos/{DEMO}/issues?labels=squadron-config&state=open"),
        "the mistake is told of",
        failing=team.check_alive,
    )
    assert "limitz" in trouble["body"]
    assert "`enabled: false` is in force all the same" in trouble["body"]
    pushes_configuration(clone, sound)
    finishes(team, task, team.registry.counters(held.id), "off-broken")
    until(
        lambda: team.github.sees(f"/repos/{DEMO}/issues/{trouble['number']}")["state"] == "closed",
        "it is closed",
        failing=team.check_alive,
    )


def test_sub_agents_stop_with_their_parent(team: Squad) -> None:
    begun = team.signal("child-begun")
    steps: tuple[Any, ...] = (
        writes("child.txt", "half\n"),
        runs(f"echo > {begun}; sleep 300"),
        completes("Too late."),
    )
    scripts = (*team.model.scripts.scripts, Script("the-child", steps, SUMMARY))
    team.model.scripts = replace(team.model.scripts, scripts=scripts)
    arguments = {"role": "helper", "prompt": "SCENARIO:the-child\nDo it.", "limits": {}}
    task = team.give(
        "docs", "Delegate", Answer("", (Call("task", arguments),)), completes("Enough.")
    )
    until(begun.exists, "the sub-agent works", failing=team.check_alive)
    operator(team, "pause", "--repo", DEMO, "--by", "ada")
    held = until(
        lambda: next((a for a in team.agents(task) if a.state is State.QUEUED), None),
        "the parent is queued again",
    )
    [child] = [
        agent for agent in team.registry.agents(DEMO, task.number) if agent.parent == str(held.id)
    ]
    assert (child.state, team.processes(held.id)) == (State.CANCELLED, {})
    file = f"/repos/{DEMO}/contents/child.txt?ref={held.sha}"
    assert team.github.sees(file)["name"] == "child.txt"
    operator(team, "resume", "--repo", DEMO, "--by", "ada")
    team.until_handed_over(task)


def test_what_was_asked_for_meanwhile_starts_afterwards_once_and_as_it_was_asked(
    team: Squad,
) -> None:
    """By an event or an assignment, of which nothing is to be seen on the issue any more."""
    idle = completes("Nothing to do.")
    again, withdrawn = (team.give("docs", title, idle) for title in ("Again", "Withdrawn"))
    for task in (again, withdrawn):
        team.until(task, State.COMPLETED)
    operator(team, "pause", "--all", "--by", "ada")
    opened = team.issue("Opened", idle, body="As it was.", repository=WATCHED).by("docs")
    us = {"assignees": [BOT]}
    for task in (again, withdrawn):
        team.github.does("maria", "POST", f"{task.path}/assignees", us)
    for task in (opened, again, withdrawn):
        team.until_comment(task, "The agent has not started yet: ada paused all agents")
    words = team.github.sees(opened.path)["body"].replace("As it was.", "As it is now.")
    team.github.does("maria", "PATCH", opened.path, {"body": words})
    team.github.does("maria", "DELETE", f"{withdrawn.path}/assignees", us)
    team.settle()
    team.service.kill()
    team.service.start()
    team.reconciles(1)
    assert [len(team.agents(task)) for task in (opened, again, withdrawn)] == [0, 1, 1]

    operator(team, "resume", "--all", "--by", "ada")
    team.until(opened, State.COMPLETED)
    until(lambda: len(team.agents(again)) == 2, "it is started", failing=team.check_alive)
    team.until(again, State.COMPLETED)
    prompt = json_text(team.prompts(opened)[0])
    assert "As it was." in prompt and "As it is now." not in prompt
    team.reconciles(2)
    assert [len(team.agents(task)) for task in (opened, again, withdrawn)] == [1, 2, 1]
