"""What people push to an agent's branch while it rests has a check at once."""

from typing import Any

import pytest

from app.core.agents.lifecycle import State
from tests.stories.happening import AGAIN, AT_REVIEW, FIXES, PAUSED, ROLES, TOLD, pull, reviews
from tests.support.people import REPOSITORY, Task, repository
from tests.support.steps import is_blocked, runs
from tests.twins.story import Story, story

PLACES = {REPOSITORY: repository({"fixer": {}, "short": ROLES["pauser"]})}


def on_head(squad: Story, task: Task, head: str) -> list[Any]:
    """The check runs of the agent on a commit, newest first."""
    where = f"/repos/{task.repository}/commits/{head}/check-runs"
    return list(squad.sees(f"{where}?filter=all&check_name=squadron/{task.role}")["check_runs"])


@pytest.mark.parametrize("how", TOLD)
@pytest.mark.parametrize("rest", ["review", "answer", "blocker", "paused"])
def test_a_head_that_people_push_while_it_rests_has_its_check(rest: str, how: str) -> None:
    with story(PLACES) as squad:
        task = at_rest(squad, rest)
        before, [old, *_] = squad.states(task), squad.checks(task)
        with squad.telling(how):
            head = squad.pushes({"notes": "By hand.\n"}, task.branch)
            squad.settle()
        assert squad.states(task) == before, "it is not woken by that"
        assert squad.agent(task).sha == head
        [run] = on_head(squad, task, head)
        assert run["conclusion"] == old["conclusion"]
        assert run["output"]["title"] == old["output"]["title"]
        squad.passes(minutes=5)
        assert len(on_head(squad, task, head)) == 1


def at_rest(squad: Story, what: str) -> Task:
    match what:
        case "review":
            return squad.give("fixer", "The answer is wrong", *FIXES)
        case "answer":
            return squad.give("fixer", "Which?", is_blocked("Which colour?"))
        case "blocker":
            blocker = squad.issue("First")
            return squad.give("fixer", "Then", is_blocked("After that.", blocker.number))
        case _:
            task = squad.give("short", "Long", runs("true"), runs("true"))
            assert squad.states(task) == [PAUSED]
            return task


def test_it_goes_on_with_what_was_pushed_beside_it() -> None:
    with story(PLACES) as squad:
        task = squad.give("fixer", "The answer is wrong", *FIXES, runs("cat notes"), *AGAIN)
        squad.pushes({"notes": "By hand.\n"}, task.branch)
        squad.settle()
        reviews(event="COMMENT", body="And more, please.")(squad, task)
        squad.settle()
        assert squad.states(task) == [AT_REVIEW]
        assert squad.was_told(task, "By hand.")
        head = squad.sees(pull(squad, task))["head"]["sha"]
        assert squad.agent(task).sha == head
        assert [run["conclusion"] for run in on_head(squad, task, head)] == ["success"]


def test_the_branch_of_who_has_ended_is_left_alone() -> None:
    with story(PLACES) as squad:
        task = squad.give("fixer", "The answer is wrong", *FIXES)
        squad.does("maria", "PATCH", task.path, {"state": "closed"})
        squad.settle()
        assert squad.state(task) == (State.CANCELLED, None)
        head = squad.pushes({"notes": "By hand.\n"}, task.branch)
        squad.passes(minutes=5)
        assert on_head(squad, task, head) == []


@pytest.mark.parametrize("turns", range(0, 60, 6))
def test_a_head_has_its_check_whoever_dies_in_between(turns: int) -> None:
    with story(PLACES) as squad:
        task = squad.give("fixer", "The answer is wrong", *FIXES)
        head = squad.pushes({"notes": "By hand.\n"}, task.branch)
        squad.dies_after(turns)
        squad.passes(minutes=5)
        assert squad.agent(task).sha == head
        assert [run["conclusion"] for run in on_head(squad, task, head)] == ["success"]


@pytest.mark.parametrize("rest", ["review", "answer"])
def test_a_head_that_comes_back_has_its_check_again(rest: str) -> None:
    """Somebody takes a push back, and thinks better of it."""
    with story(PLACES) as squad:
        task = at_rest(squad, rest)
        [old, *_], ours = squad.checks(task), squad.agent(task).sha
        assert ours is not None
        theirs = squad.pushes({"notes": "By hand.\n"}, task.branch)
        squad.settle()
        for head in (ours, theirs, ours):
            ref = f"/repos/{task.repository}/git/refs/heads/{task.branch}"
            squad.does("maria", "PATCH", ref, {"sha": head, "force": True})
            squad.settle()
            squad.passes(minutes=2)
            assert squad.agent(task).sha == head
            [newest, *_] = on_head(squad, task, head)
            assert (newest["status"], newest["conclusion"]) == (old["status"], old["conclusion"])
