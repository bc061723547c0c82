"""What is left of an agent that has ended: its branch, its needs-human issue, its place."""

from datetime import timedelta

import pytest

from app.core.agents.events import TakenAway
from tests.stories.happening import (
    ASKING,
    ASKS,
    AT_REVIEW,
    BLOCKED,
    CANCELLED,
    COMPLETED,
    FIXES,
    STOPPED,
)
from tests.support.people import REPOSITORY, Task, repository
from tests.support.steps import is_blocked, runs, thinks, writes
from tests.twins.story import Story, story

PLACES = {REPOSITORY: repository({"fixer": {}, "stopper": {"max_tool_calls": 1}, "docs": {}})}
HOW = pytest.mark.parametrize("how", ["told", "untold"])


def branches(squad: Story) -> list[str]:
    return [each["name"] for each in squad.sees(f"/repos/{REPOSITORY}/branches")]


def unlabels(squad: Story, task: Task) -> None:
    squad.does("maria", "DELETE", f"{task.path}/labels/squadron:{task.role}")


def is_stopped(squad: Story, title: str = "The answer is wrong") -> Task:
    """An agent that a limit has stopped."""
    task = squad.give("stopper", title, *(runs("true"),) * 2, *FIXES)
    assert squad.states(task) == [STOPPED]
    return task


def test_the_branch_goes_with_the_merge() -> None:
    with story(PLACES) as squad:
        task = squad.give("fixer", "The answer is wrong", *FIXES)
        squad.merge(task)
        squad.settle()
        assert branches(squad) == ["main"]


def test_the_branch_stays_that_another_pull_request_is_to_be_merged_into() -> None:
    with story(PLACES) as squad:
        task = squad.give("fixer", "The answer is wrong", *FIXES)
        other = squad.give("docs", "Say so", writes("new", "n\n"), *FIXES[1:])
        path = f"/repos/{REPOSITORY}/pulls/{squad.agent(other).pull_request}"
        squad.does("maria", "PATCH", path, {"base": task.branch})
        squad.merge(task)
        squad.settle()
        assert task.branch in branches(squad)


@HOW
def test_what_was_merged_before_the_label_went_is_completed(how: str) -> None:
    with story(PLACES) as squad:
        task = squad.give("fixer", "The answer is wrong", *FIXES)
        with squad.telling(how):
            squad.merge(task)
            unlabels(squad, task)
        assert squad.states(task) == [COMPLETED]


def handed_over(squad: Story) -> Task:
    """Work whose pull request, merged, leaves the issue open."""
    task = squad.give("fixer", "The answer is wrong", *FIXES)
    path = f"/repos/{REPOSITORY}/pulls/{squad.agent(task).pull_request}"
    squad.does("maria", "PATCH", path, {"body": "The answer."})
    squad.settle()
    return task


@HOW
def test_what_was_merged_after_the_label_had_gone_and_come_again_is_cancelled(how: str) -> None:
    with story(PLACES) as squad:
        task = handed_over(squad)
        with squad.telling(how):
            unlabels(squad, task)
            squad.clock.turn(timedelta(seconds=4))
            squad.label(task, "squadron:fixer")
            squad.merge(task)
        assert squad.states(task)[0] == CANCELLED


def test_what_came_first_counts_though_only_the_merge_is_told_of() -> None:
    with story(PLACES) as squad:
        task = handed_over(squad)
        with squad.trouble(kind="lost"):
            unlabels(squad, task)
            squad.clock.turn(timedelta(seconds=4))
            squad.label(task, "squadron:fixer")
        squad.merge(task)
        squad.settle()
        assert squad.states(task)[0] == CANCELLED


@HOW
def test_a_merge_that_is_followed_by_closing_the_issue_is_a_merge(how: str) -> None:
    with story(PLACES) as squad:
        task = squad.give("fixer", "The answer is wrong", *FIXES)
        with squad.telling(how):
            squad.merge(task)
            squad.close(task)
        assert squad.states(task) == [COMPLETED]


def test_a_merge_of_which_only_the_closed_issue_tells_is_a_merge() -> None:
    with story(PLACES) as squad:
        task = squad.give("fixer", "The answer is wrong", *FIXES)
        with squad.trouble(kind="lost", event="pull_request"):
            squad.merge(task)
            squad.settle()
        assert squad.states(task) == [COMPLETED]


def test_a_review_that_nobody_makes_ends_without_noise() -> None:
    keys = {"max_review_wait": 86_400}
    with story({REPOSITORY: repository({"fixer": keys})}) as squad:
        task = squad.give("fixer", "The answer is wrong", *FIXES)
        squad.passes(hours=23)
        assert squad.states(task) == [AT_REVIEW]
        squad.passes(hours=2)
        assert squad.states(task) == [COMPLETED]
        assert squad.needs_human(task) == []
        assert squad.sees(f"/repos/{REPOSITORY}/pulls")[0]["state"] == "open"


def test_time_under_a_brake_is_no_time_to_answer() -> None:
    keys = {"max_sleep_duration": 3_600}
    with story({REPOSITORY: repository({"fixer": keys})}) as squad:
        task = squad.give("fixer", "The answer is wrong", *ASKS, *FIXES)
        squad.brakes()
        squad.passes(hours=5)
        squad.lifts_the_brake()
        squad.passes(minutes=2)
        assert squad.states(task) == [ASKING]
        squad.passes(hours=1)
        assert squad.states(task) == [STOPPED]


@HOW
def test_nobody_has_to_decide_about_an_issue_that_is_closed(how: str) -> None:
    with story(PLACES) as squad:
        task = is_stopped(squad)
        with squad.telling(how):
            squad.close(task)
        assert squad.needs_human(task) == []
        assert squad.states(task) == [STOPPED]


@HOW
def test_a_label_alone_starts_nobody_while_a_human_is_called(how: str) -> None:
    with story(PLACES) as squad:
        task = is_stopped(squad)
        unlabels(squad, task)
        with squad.telling(how):
            squad.label(task, "squadron:stopper")
        assert squad.states(task) == [STOPPED]
        [human] = squad.needs_human(task)
        squad.close(Task(REPOSITORY, human["number"], ""))
        squad.passes(minutes=2)
        assert squad.states(task) == [STOPPED]
        unlabels(squad, task)
        squad.label(task, "squadron:stopper")
        squad.settle()
        assert len(squad.states(task)) == 2


def test_who_is_tried_again_needs_no_human_any_more() -> None:
    with story(PLACES) as squad:
        task = is_stopped(squad)
        squad.comment(task, "/squadron retry raise max_tool_calls +9")
        squad.settle()
        assert squad.states(task) == [STOPPED, AT_REVIEW]
        assert squad.needs_human(task) == []


@HOW
def test_whose_work_is_taken_away_while_it_works_keeps_it_and_ends_once(how: str) -> None:
    with story(PLACES) as squad:
        task = squad.give("fixer", "The answer is wrong", writes("new", "n\n"), thinks(600))
        with squad.telling(how):
            squad.close(task)
        squad.passes(seconds=2)
        assert squad.states(task) == [CANCELLED]
        assert squad.sees(f"/repos/{REPOSITORY}/contents/new?ref={task.branch}")["size"] == 2
        log = squad.log(squad.agent(task).id)
        assert sum(isinstance(event, TakenAway) for event in log) == 1


def test_what_has_ended_is_not_stopped_again() -> None:
    with story(PLACES) as squad:
        task = squad.give("fixer", "The answer is wrong", *FIXES)
        squad.merge(task)
        squad.settle()
        squad.comment(task, "/squadron stop")
        squad.settle()
        assert squad.states(task) == [COMPLETED]
        assert "has ended (completed) already" in squad.comments(task)[-1]


def test_who_waits_for_itself_is_stopped() -> None:
    with story(PLACES) as squad:
        task = squad.give("fixer", "The answer is wrong", is_blocked("There is no answer.", 1))
        assert squad.states(task) == [STOPPED]
        [human] = squad.needs_human(task)
        assert human["title"].endswith("stopped, blocked in circle")
        assert "The agent waits for its own issue #1." in human["body"]
        [comment] = squad.comments(task)
        assert "Squadron stopped the agent: The agent waits for its own issue #1." in comment
        assert "Circuit breaker" not in comment + human["body"], "no limit was reached"


def test_two_that_wait_for_each_other_are_not_left_to_it() -> None:
    with story(PLACES) as squad:
        first = squad.issue("The answer", is_blocked("The question first.", 2)).by("fixer")
        second = squad.issue("The question", is_blocked("The answer first.", 1)).by("fixer")
        for task in (first, second):
            squad.label(task, "squadron:fixer")
            squad.settle()
        assert squad.states(first) == [BLOCKED]
        assert squad.states(second) == [STOPPED]


def test_a_blocker_that_is_closed_already_holds_nobody_up() -> None:
    with story(PLACES) as squad:
        plan = squad.issue("The plan")
        squad.close(plan)
        task = squad.give("fixer", "The answer is wrong", is_blocked("No plan.", 1), *FIXES)
        assert squad.states(task) == [AT_REVIEW]
