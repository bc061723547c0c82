"""A required check on a GitHub that keeps completed runs: a stopped agent blocks the merge."""

from collections.abc import Iterator
from typing import Any

import pytest

from app.core.agents.lifecycle import State
from app.core.effects.check_run import RunId
from tests.support.people import Task, repository
from tests.support.squad import Squad
from tests.support.steps import completes, runs, says, writes
from tests.support.waiting import until
from tests.twins.squad import squad

pytestmark = pytest.mark.full

ROLES: dict[str, Any] = {
    "docs": {
        "tests": "none",
        "max_tool_calls": 2,
        "max_turns": 3,
        "on_limit": {"max_tool_calls": "pause"},
    }
}


@pytest.fixture(scope="module")
def team() -> Iterator[Squad]:
    with squad({"octo/demo": repository(ROLES)}) as team:
        yield team


def merging(team: Squad, task: Task) -> tuple[int, str]:
    """What GitHub answers to a person who merges the agent's pull request."""
    number = team.agent(task).pull_request
    path = f"/repos/{task.repository}/pulls/{number}/merge"
    answer = team.github.asks("maria", "PUT", path, {})
    return answer.status_code, answer.json()["message"]


def test_hand_over_review_pause_raise_and_trip_in_turn_on_one_head(team: Squad) -> None:
    check = "squadron/docs"
    team.github.orders("require", {"repository": "octo/demo", "branch": "main", "checks": [check]})
    task = team.give(
        "docs",
        "Write a guide",
        writes("GUIDE.md", "Guide.\n"),
        completes("A guide."),
        runs("cat GUIDE.md"),
        runs("cat README.md"),
        *(says(f"I think about it, for the {n}th time.") for n in range(4, 9)),
    )
    handed_over = team.until_handed_over(task)
    reviews = f"/repos/octo/demo/pulls/{handed_over.pull_request}/reviews"
    wish = {"event": "REQUEST_CHANGES", "body": "Longer, please."}
    team.github.does("maria", "POST", reviews, wish)
    team.until(task, State.PAUSED)
    team.until_check(task, "action_required")
    assert merging(team, task) == (405, f'Required status check "{check}" has not passed.')

    team.comment(task, "/squadron raise max_tool_calls +5", by="maria")
    stopped = team.until_escalated(task)
    newest = team.until_check(task, "failure")[0]
    assert stopped.sha == handed_over.sha == newest["head_sha"]
    assert newest["output"]["title"].startswith("Squadron stopped the agent: max_turns")
    assert merging(team, task) == (405, f'Required status check "{check}" has not passed.')

    runs_of_check = team.checks(task)[::-1]
    said = [one["conclusion"] for one in runs_of_check]
    assert said == ["success", "action_required", "failure"]
    ids = [RunId.parse(one["external_id"]) for one in runs_of_check]
    assert [(each.agent, each.sha, each.n) for each in ids if each] == [
        (stopped.id, stopped.sha, n) for n in (1, 2, 3)
    ]
    until(lambda: not team.processes(stopped.id), "nothing of it runs")


def test_a_run_that_lands_late_never_has_the_last_word(team: Squad) -> None:
    """A request was in flight when a process died, and came through after its successor's."""
    task = team.give("docs", "Stop", *(says(f"I think, for the {n}th time.") for n in range(4, 9)))
    team.until(task, State.SLEEPING)
    team.comment(task, "Do go on.", by="maria")
    agent = team.until_escalated(task)
    known = team.until_check(task, "failure")[0]
    late = {
        "name": known["name"],
        "head_sha": known["head_sha"],
        "output": {"title": "Handed over", "summary": "All is well."},
    }
    open_run = {**late, "external_id": known["external_id"], "status": "in_progress"}
    passed = {**late, "external_id": known["external_id"], "conclusion": "success"}
    for body in (open_run, passed):
        about = {"method": "POST", "path": "/repos/octo/demo/check-runs", "body": body}
        assert team.github.orders("silently", {"user": None, **about})["status"] == 201
    team.until_check(task, "failure")
    said = [(one["conclusion"], one["external_id"]) for one in team.checks(task)]
    assert said == [
        ("failure", str(RunId(agent.id, known["head_sha"], 3))),
        ("success", known["external_id"]),
        ("neutral", known["external_id"]),
        ("failure", known["external_id"]),
        ("action_required", str(RunId(agent.id, known["head_sha"], 1))),
    ]
