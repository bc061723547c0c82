"""What was asked for and did not start: `squadron agents` and the API tell why.

Issue 4, "How it is judged": `squadron agents` and the log tell why something did not start.
"""

import json
from collections.abc import Iterator
from typing import Any

import pytest
from typer.testing import CliRunner

from app.cli.main import app
from app.core.agents.lifecycle import State
from tests.support.people import Task, repository
from tests.support.squad import Squad, squad
from tests.support.steps import completes, runs
from tests.support.waiting import until

pytestmark = pytest.mark.full

ROLES = {
    "docs": {},
    "small": {"max_tool_calls": 1},
    "broken": {"max_tool_cals": 3},
    "dear": {"max_cost_usd": 2.0},
}
CONFIG = {
    "budgets": [{"scope": "role", "name": "dear", "window": "total", "max_cost_usd": 1}],
    "triggers": {"labels": {"documentation": "docs"}},
}
OPERATOR = {"pricing": {"scripted": {"input": 2.0, "output": 10.0}}}


@pytest.fixture(scope="module")
def team(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Squad]:
    directory = tmp_path_factory.mktemp("not-started")
    places = {"octo/demo": repository(ROLES, CONFIG)}
    with squad(directory, places, operator=OPERATOR) as team:
        yield team


def not_started(team: Squad, task: Task) -> list[Any]:
    told = team.asks_api("GET", "/api/agents").json()["not_started"]
    return [one for one in told if (one["issue"], one["role"]) == (task.number, task.role)]


def until_told(team: Squad, task: Task, words: str) -> Any:
    [told] = until(
        lambda: [one for one in not_started(team, task) if words in one["reason"]],
        f"{task}: it is told that {words}",
        failing=team.check_alive,
    )
    return told


@pytest.mark.parametrize(
    ("role", "words"),
    [
        ("nobody", "there is no role `nobody`"),
        ("broken", ".squadron/agents/broken.md:2:"),
        ("dear", "the budget `role:octo/demo:dear` ($1.00 in all) has $1.00 left"),
    ],
)
def test_a_role_that_cannot_start(team: Squad, role: str, words: str) -> None:
    told = until_told(team, team.give(role, role), words)
    assert (told["repository"], told["by"], told["times"]) == ("octo/demo", "maria", 1)


def test_who_may_not_start_is_told_what_is_needed_until_somebody_may(team: Squad) -> None:
    task = team.issue("Please", completes("Nothing to do.")).by("docs")
    team.label(task, "squadron:docs", by="tom")
    words = "tom has the permission triage, and write is needed"
    first = until_told(team, task, words)
    team.until_logged("not started: sender not trusted", issue=task.number, by="tom", why=words)
    team.reconciles(2)
    assert not_started(team, task) == [first], "to be found again is not to be asked again"

    here = CliRunner().invoke(app, ["agents"], env=dict(team.service.environment))
    assert here.exit_code == 0, here.output
    [line] = [line for line in here.output.splitlines() if f"#{task.number}/docs" in line]
    assert "tom" in line
    shown = CliRunner().invoke(app, ["agents", "--json"], env=dict(team.service.environment))
    assert first in json.loads(shown.output)["not_started"]

    team.label(task, "documentation")
    team.until(task, State.COMPLETED)
    assert not_started(team, task) == []


def test_a_label_that_starts_nothing_is_no_refusal(team: Squad) -> None:
    task = team.issue("Just a label")
    team.label(task, "question")
    team.settle()
    assert not_started(team, task) == []


def test_a_closed_issue_and_an_open_escalation(team: Squad) -> None:
    closed = team.issue("Closed").by("docs")
    team.close(closed)
    team.label(closed, "squadron:docs")
    until_told(team, closed, "the issue is closed")
    stopped = team.give("small", "Stopped", *(runs(f"echo {n}") for n in range(3)))
    team.until_escalated(stopped)
    team.github.does("maria", "DELETE", f"{stopped.path}/labels/squadron:small")
    team.label(stopped, "squadron:small")
    until_told(team, stopped, "the needs-human issue of the agent before is still open")
