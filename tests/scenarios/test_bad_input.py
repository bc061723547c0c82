"""Bad input gets a clear answer or a quiet no, and never a 5xx (issue, "How it is judged")."""

from collections.abc import Iterator
from typing import Any

import pytest

from app.core.agents.events import Waits
from app.core.agents.lifecycle import State
from tests.support.deliveries import deliver
from tests.support.people import Task, repository
from tests.support.squad import Squad, squad
from tests.support.steps import completes, runs
from tests.support.waiting import until

pytestmark = pytest.mark.full

LONGEST = 65_536
"""Characters of a comment, by GitHub."""


@pytest.fixture(scope="module")
def team(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Squad]:
    directory = tmp_path_factory.mktemp("bad")
    roles: dict[str, Any] = {"short": {"max_tool_calls": 1, "on_limit": "pause"}}
    operator = {"ceilings": {"max_tool_calls": 3}}
    with squad(
        directory, {"octo/demo": repository(roles)}, reconciliation_seconds=3600, operator=operator
    ) as team:
        yield team


@pytest.fixture(scope="module")
def paused(team: Squad) -> Task:
    steps = [runs(f"echo {number} > a{number}.txt") for number in range(9)]
    task = team.give("short", "Waits for more", *steps, completes("Done."))
    team.until(task, State.PAUSED, Waits.RAISE)
    team.until_comment(task, "[squadron:short] The agent is paused: ")
    # From here on nothing is added by itself.
    return task


def answers(team: Squad, task: Task) -> list[str]:
    bodies = [comment["body"] for comment in team.comments(task)]
    return [body for body in bodies if "<!-- squadron:answer:" in body]


@pytest.mark.parametrize(
    ("body", "answer"),
    [
        ("/squadron frobnicate", "`/squadron frobnicate` was not understood; expected one of"),
        ("/squadron raise max_cows +3", "max_cows"),
        ("/squadron raise max_tool_calls +0", "max_tool_calls"),
        ("/squadron raise max_tool_calls +1e400", "was not understood"),
        ("/squadron stop nobody", "nobody"),
        ("/squadron " + "x" * (LONGEST - 10), "was not understood"),
        (("/squadron stop\n" * LONGEST)[: LONGEST - 1], ""),
    ],
)
def test_a_wrong_command_is_answered_once_and_does_nothing(
    team: Squad, paused: Task, body: str, answer: str
) -> None:
    before = len(answers(team, paused))
    team.comment(paused, body)
    found = until(lambda: answers(team, paused)[before:], "an answer", failing=team.check_alive)
    team.settle()
    assert len(answers(team, paused)) == before + 1
    assert answer in found[0] and len(found[0]) < 3_000
    assert team.agent(paused).state is State.PAUSED


@pytest.mark.parametrize("part", ["x", "> ", "`", "@"])
def test_a_long_comment_without_a_command_is_left_alone(
    team: Squad, paused: Task, part: str
) -> None:
    before = len(team.comments(paused))
    team.comment(paused, part * (LONGEST // len(part)))
    team.settle()
    assert len(team.comments(paused)) == before
    assert team.agent(paused).state is State.PAUSED


def test_deliveries_that_make_no_sense_are_taken_and_change_nothing(
    team: Squad, paused: Task
) -> None:
    team.settle()
    [real, *_] = [
        one["payload"]
        for one in team.github.exchanges()
        if one.get("webhook") == "issues" and one["action"] == "labeled"
    ]
    label = {**real["label"], "name": "squadron:short"}
    many = [{**label, "name": f"label-{number}" * 5} for number in range(500)]
    strange: list[dict[str, Any]] = [
        {"issue": {**real["issue"], "labels": many}, "label": many[0]},
        {"issue": {**real["issue"], "labels": [*many, "x", None, 7, {}]}, "action": "assigned"},
        {"issue": {**real["issue"], "number": -1}},
        {"issue": {**real["issue"], "number": 10**40}},
        {"issue": {**real["issue"], "title": None, "body": 7, "updated_at": "yesterday"}},
        {"label": {"name": "squadron:" + "x" * 500}},
        {"label": {"name": "squadron:../../etc"}},
        {"label": {"name": "squadron:"}},
        {"sender": {"login": "../" * 50, "type": "User"}},
        {"sender": {"login": "", "type": None}},
        {"repository": {**real["repository"], "full_name": "octo/demo/../other"}},
        {"repository": {**real["repository"], "full_name": ""}},
        {"installation": {"id": 10**30}},
    ]
    team.tolerates("delivery given up: No access to")
    for number, changes in enumerate(strange):
        answer = deliver(team, "issues", {**real, **changes}, f"strange-{number}")
        assert answer.status_code < 500, changes
    team.settle()
    assert [agent.id.issue for agent in team.registry.agents("octo/demo")] == [paused.number]
    assert team.service.http.get("/readyz").status_code == 200


def test_more_than_the_ceiling_is_granted_up_to_it_and_said(team: Squad, paused: Task) -> None:
    team.comment(paused, "/squadron raise max_tool_calls +9")
    until(
        lambda: [one for one in answers(team, paused) if "that is its ceiling" in one],
        "the ceiling is named",
        failing=team.check_alive,
    )
