"""What people tell Squadron to do, by comments, by edits of them, and by the buttons of checks."""

from typing import Any

import pytest

from app.core.agents.events import Raised
from tests.stories.happening import (
    ASKING,
    ASKS,
    AT_REVIEW,
    CANCELLED,
    FIXES,
    PAUSED,
    STOPPED,
)
from tests.support.people import REPOSITORY, Task, repository
from tests.support.steps import runs, thinks
from tests.twins.story import Story, story

PLACES = {
    REPOSITORY: repository(
        {
            "fixer": {},
            "pauser": {"max_tool_calls": 1, "on_limit": "pause"},
            "stopper": {"max_tool_calls": 1},
        }
    )
}
WORKS = (runs("true"),) * 4
RATE = {"rate": {"starts_per_user_per_hour": 2}}


def is_paused(squad: Story) -> Task:
    """An agent that waits for a raise."""
    task = squad.give("pauser", "The answer is wrong", *WORKS, *FIXES)
    assert squad.states(task) == [PAUSED]
    return task


def edits(squad: Story, task: Task, body: str, by: str = "maria") -> None:
    """Somebody changes the newest comment that a person wrote."""
    said = [one for one in squad.sees(f"{task.path}/comments") if one["user"]["type"] == "User"]
    squad.does(by, "PATCH", f"/repos/{REPOSITORY}/issues/comments/{said[-1]['id']}", {"body": body})


def presses(squad: Story, task: Task, identifier: str, by: str = "maria") -> None:
    """Somebody presses a button of the agent's newest check."""
    about: dict[str, Any] = {"check_run_id": squad.checks(task)[0]["id"], "identifier": identifier}
    squad.orders("check_action", repository=REPOSITORY, user=by, **about)


def raises(squad: Story, task: Task) -> int:
    return sum(isinstance(event, Raised) for event in squad.log(squad.agent(task).id))


@pytest.mark.parametrize("how", ["told", "untold"])
def test_an_edit_runs_what_it_adds_and_nothing_anew(how: str) -> None:
    with story(PLACES) as squad:
        task = is_paused(squad)
        squad.comment(task, "/squadron raise max_tool_calls +1")
        squad.settle()
        assert (squad.states(task), raises(squad, task)) == ([PAUSED], 1)
        with squad.telling(how):
            edits(squad, task, "/squadron raise max_tool_calls +1\nPlease.")
        assert (squad.states(task), raises(squad, task)) == ([PAUSED], 1)
        with squad.telling(how):
            edits(squad, task, "/squadron raise max_tool_calls +1\n/squadron stop")
        assert (squad.states(task), raises(squad, task)) == ([CANCELLED], 1)


def test_what_was_obeyed_is_not_obeyed_again_in_another_process() -> None:
    with story(PLACES) as squad:
        task = is_paused(squad)
        squad.comment(task, "/squadron raise max_tool_calls +1")
        squad.settle()
        squad.restart()
        squad.passes(minutes=2)
        assert (squad.states(task), raises(squad, task)) == ([PAUSED], 1)


def test_whoever_is_too_quick_can_still_stop() -> None:
    with story(PLACES, operator=RATE) as squad:
        task = squad.give("fixer", "The answer is wrong", *ASKS, *FIXES)
        for words in ("/squadron status", "/squadron status", "/squadron wake"):
            squad.comment(task, words)
            squad.settle()
        assert squad.states(task) == [ASKING]
        squad.comment(task, "/squadron stop")
        squad.settle()
        assert squad.states(task) == [CANCELLED]


def test_whoever_is_too_quick_wakes_nobody_by_answers() -> None:
    with story(PLACES, operator=RATE) as squad:
        task = squad.give("fixer", "The answer is wrong", *ASKS, *ASKS, *ASKS)
        for words in ("Blue.", "Red.", "Green."):
            squad.comment(task, words)
            squad.settle()
        assert squad.was_told(task, "Blue.") and not squad.was_told(task, "Red.")
        assert "2 times within an hour" in squad.comments(task)[-1]


@pytest.mark.parametrize("how", ["told", "told in vain"])
def test_a_button_does_what_it_says_once(how: str) -> None:
    with story(PLACES) as squad:
        task = is_paused(squad)
        with squad.telling(how):
            presses(squad, task, "resume")
        assert squad.states(task) == [PAUSED]
        assert raises(squad, task) == 1


def brings_again(squad: Story, action: str) -> None:
    """Somebody who has read a delivery brings its words under an id of their own: GitHub signs
    the words alone."""
    [told] = [each for each in squad.box.webhooks.list() if each.action == action]
    headers = {name.lower().encode(): value.encode() for name, value in told.headers.items()}
    delivery = squad.service.intake.verify({**headers, b"x-github-delivery": b"again"}, told.body)
    assert squad.run(squad.service.intake.accept(delivery))
    squad.service.dispatcher.notify()


def test_a_press_counts_once_under_whatever_id_it_is_brought_again() -> None:
    """The check of one that was stopped keeps its button, so a press of it stays possible."""
    with story(PLACES) as squad:
        task = squad.give("stopper", "The answer is wrong", *WORKS)
        presses(squad, task, "retry")
        squad.settle()
        assert squad.states(task) == [STOPPED, STOPPED]
        brings_again(squad, "requested_action")
        squad.settle()
        assert squad.states(task) == [STOPPED, STOPPED]
        presses(squad, task, "retry")
        squad.settle()
        assert squad.states(task) == [STOPPED] * 3, "a press of its own"


def test_a_stranger_presses_in_vain() -> None:
    with story(PLACES) as squad:
        task = is_paused(squad)
        presses(squad, task, "stop", by="tom")
        squad.settle()
        assert squad.states(task) == [PAUSED]


@pytest.mark.parametrize("how", ["told", "untold"])
def test_a_review_of_a_stranger_wakes_nobody(how: str) -> None:
    with story(PLACES) as squad:
        task = squad.give("fixer", "The answer is wrong", *FIXES, *ASKS)
        review = {"event": "REQUEST_CHANGES", "body": "Use Perl."}
        pull = f"/repos/{REPOSITORY}/pulls/{squad.agent(task).pull_request}"
        with squad.telling(how):
            squad.does("rita", "POST", f"{pull}/reviews", review)
        assert squad.states(task) == [AT_REVIEW]
        assert not squad.was_told(task, "Use Perl.")


def test_a_reviewer_who_is_too_quick_is_told_so() -> None:
    with story(PLACES, operator=RATE) as squad:
        task = squad.give("fixer", "The answer is wrong", *FIXES, *ASKS)
        for words in ("/squadron status", "/squadron status"):
            squad.comment(task, words, by="ada")
            squad.settle()
        review = {"event": "REQUEST_CHANGES", "body": "Use Perl."}
        pull = f"/repos/{REPOSITORY}/pulls/{squad.agent(task).pull_request}"
        squad.does("ada", "POST", f"{pull}/reviews", review)
        squad.settle()
        assert squad.states(task) == [AT_REVIEW]
        assert not squad.was_told(task, "Use Perl.")


@pytest.mark.parametrize("how", ["told", "untold"])
def test_a_stop_from_before_the_label_is_not_about_its_agent(how: str) -> None:
    with story(PLACES) as squad:
        task = squad.issue("The answer is wrong", *FIXES).by("fixer")
        with squad.telling(how):
            squad.comment(task, "/squadron stop")
            squad.label(task, "squadron:fixer")
        assert squad.states(task) == [AT_REVIEW]


def test_a_raise_for_one_that_is_not_paused_is_answered() -> None:
    with story(PLACES) as squad:
        task = squad.give("fixer", "The answer is wrong", *ASKS, *FIXES)
        squad.comment(task, "/squadron raise max_tool_calls +1")
        squad.settle()
        assert squad.states(task) == [ASKING]
        assert "waits for an answer" in squad.comments(task)[-1]


def test_a_raise_from_before_the_pause_that_is_told_of_late_is_not_about_it() -> None:
    with story(PLACES, operator={"reconciliation_interval": 3_600}) as squad:
        steps = (runs("true"), thinks(80), *WORKS)
        task = squad.give("pauser", "The answer is wrong", *steps)
        with squad.trouble(kind="late", seconds=90):
            squad.comment(task, "/squadron raise max_tool_calls +9")
            squad.passes(seconds=80)
            assert squad.states(task) == [PAUSED]
            squad.passes(seconds=20)
        assert squad.states(task) == [PAUSED]
        assert raises(squad, task) == 0


@pytest.mark.parametrize("how", ["late", "untold"])
def test_a_stop_that_is_told_before_its_label_takes_it_back(how: str) -> None:
    with story(PLACES) as squad:
        task = squad.issue("The answer is wrong", *FIXES).by("fixer")
        with squad.telling(how):
            squad.label(task, "squadron:fixer")
            squad.box.faults.clear()
            squad.passes(seconds=2)
            squad.comment(task, "/squadron stop")
            squad.settle()
        squad.passes(minutes=11)
        assert squad.agents(task) == []
        assert not any("no agent" in words for words in squad.comments(task))


def test_a_stop_from_before_a_label_that_nobody_told_of_takes_nothing_back() -> None:
    with story(PLACES) as squad:
        task = squad.issue("The answer is wrong", *FIXES).by("fixer")
        with squad.trouble(kind="late", seconds=90):
            squad.comment(task, "/squadron stop")
            squad.passes(seconds=2)
        with squad.trouble(kind="lost"):
            squad.label(task, "squadron:fixer")
        squad.passes(minutes=11)
        assert squad.states(task) == [AT_REVIEW]
        assert any("No agent works on this issue" in words for words in squad.comments(task))


def test_a_second_stop_takes_no_start_back() -> None:
    """The label is still there, and has had its agent."""
    with story(PLACES) as squad:
        task = squad.give("fixer", "The answer is wrong", *ASKS)
        for _ in range(2):
            squad.comment(task, "/squadron stop")
            squad.settle()
        assert squad.states(task) == [CANCELLED]
        assert "has ended" in squad.comments(task)[-1]
