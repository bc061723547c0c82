"""Commands in reviews of an agent's pull request, and in comments on its lines (issue 4)."""

import re
from collections.abc import Iterator
from typing import Any

import pytest

from app.core.agents.agent import Agent
from app.core.agents.events import Woken
from app.core.agents.lifecycle import State
from tests.stories.test_what_commands_do import answers, reactions
from tests.support.people import Task, repository
from tests.support.squad import Squad
from tests.support.steps import completes, writes
from tests.support.waiting import until
from tests.twins.squad import squad

pytestmark = pytest.mark.full

REPO = "/repos/octo/demo"


@pytest.fixture(scope="module")
def team() -> Iterator[Squad]:
    places = {"octo/demo": repository({"docs": {}})}
    with squad(places) as team:
        yield team


def handed_over(team: Squad, title: str) -> tuple[Task, Agent, Task]:
    """An agent that waits for a review, and its pull request."""
    first = (writes("GUIDE.md", f"{title}.\nIn two lines.\n"), completes("A guide."))
    task = team.give("docs", title, *first, writes("GUIDE.md", "Better.\n"), completes("Done."))
    agent = team.until_handed_over(task)
    assert agent.pull_request is not None
    return task, agent, Task("octo/demo", agent.pull_request, "docs")


def reviews(
    team: Squad, pull: Task, body: str, *lines: str, by: str = "maria", event: str = "COMMENT",
    silently: bool = False,
) -> Any:  # fmt: skip
    """Somebody reviews; the review."""
    does = team.github.silently if silently else team.github.does
    comments = [{"path": "GUIDE.md", "line": 1, "body": each} for each in lines]
    review = {"event": event, "body": body, "comments": comments}
    return does(by, "POST", f"{REPO}/pulls/{pull.number}/reviews", review)


def on_lines(team: Squad, pull: Task) -> list[str]:
    """Paths of the comments on lines, oldest first."""
    found = team.github.sees(f"{REPO}/pulls/{pull.number}/comments")
    return [f"{REPO}/pulls/comments/{each['id']}" for each in found]


def wakings(team: Squad, agent: Agent) -> list[Woken]:
    return [event for event in team.registry.log(agent.id) if isinstance(event, Woken)]


@pytest.mark.parametrize("silent", [False, True], ids=["told", "silently"])
def test_a_review_that_is_a_command_is_obeyed_and_wakes_nobody(team: Squad, silent: bool) -> None:
    task, agent, pull = handed_over(team, f"Stop by review, {silent}")
    reviews(team, pull, "/squadron status", event="REQUEST_CHANGES", silently=silent)
    until(lambda: answers(team, pull), "it is answered")
    team.settle()
    team.reconciles(2)
    assert len(answers(team, pull)) == 1 and "**`docs`**" in answers(team, pull)[0]
    assert team.agent(task).segment == agent.segment and wakings(team, agent) == []
    reviews(team, pull, "/squadron stop", silently=silent)
    team.until(task, State.CANCELLED)
    team.until_comment(task, "The agent is cancelled: maria stopped it by `/squadron stop`.")


@pytest.mark.parametrize("silent", [False, True], ids=["told", "silently"])
def test_a_command_on_a_line_is_obeyed_once_and_gets_its_reactions(
    team: Squad, silent: bool
) -> None:
    task, agent, pull = handed_over(team, f"Status on a line, {silent}")
    reviews(team, pull, "", "/squadron status", silently=silent)
    [line] = on_lines(team, pull)
    until(lambda: reactions(team, line) == {"eyes": 1, "rocket": 1}, "it is done")
    does = team.github.silently if silent else team.github.does
    does("maria", "PATCH", line, {"body": "/squadron status\n/squadron restart"})
    until(lambda: "`/squadron restart` was not" in answers(team, pull)[-1], "the edit is read")
    team.settle()
    team.reconciles(2)
    [answer] = answers(team, pull)
    assert answer.count("**`docs`**") == 1
    assert reactions(team, line) == {"eyes": 1, "rocket": 1, "confused": 1}
    assert team.agent(task).segment == agent.segment and wakings(team, agent) == []


def test_an_edited_review_runs_what_is_new_in_it(team: Squad) -> None:
    task, _, pull = handed_over(team, "Edited review")
    review = reviews(team, pull, "/squadron status")
    until(lambda: answers(team, pull), "it is answered")
    place = f"{REPO}/pulls/{pull.number}/reviews/{review['id']}"
    team.github.does("maria", "PUT", place, {"body": "/squadron status\n/squadron stop"})
    team.until(task, State.CANCELLED)
    assert len(answers(team, pull)) == 1


def test_what_a_review_says_beside_its_commands_reaches_the_agent_once(team: Squad) -> None:
    task, agent, pull = handed_over(team, "Wake by review")
    reviews(team, pull, "Longer, please.\n\n/squadron wake", "/squadron status", "Say for whom.")
    until(lambda: team.agent(task).segment > agent.segment, "the agent was woken")
    team.until_handed_over(task)
    until(lambda: answers(team, pull), "the status is told")
    team.settle()
    team.reconciles(2)
    [woken] = wakings(team, agent)
    assert "Longer, please." in woken.why
    assert re.search(r"GUIDE\.md:1 \(http://\S+#discussion_r\d+\)\nSay for whom\.", woken.why)
    assert "/squadron" not in woken.why
    assert [each for each in answers(team, pull) if "does not sleep" in each] == []


def test_strangers_command_nothing_in_reviews(team: Squad) -> None:
    task, _, pull = handed_over(team, "Strangers review")
    reviews(team, pull, "/squadron stop", "/squadron stop", by="rita")
    reviews(team, pull, "> /squadron stop", "`/squadron stop`", by="rita")
    team.settle()
    team.reconciles(2)
    assert [reactions(team, line) for line in on_lines(team, pull)] == [{}, {}]
    assert answers(team, pull) == [] and team.agent(task).state is State.SLEEPING


def test_comments_of_different_kinds_may_have_one_number(team: Squad) -> None:
    """GitHub counts each kind on its own; the box has one count, so the memory is asked."""
    _, _, pull = handed_over(team, "Numbers")
    reviews(team, pull, "/squadron status")
    until(lambda: answers(team, pull), "it is answered")
    review = team.github.sees(f"{REPO}/pulls/{pull.number}/reviews")[-1]["id"]
    [heard] = until(  # it is remembered after it was answered
        lambda: team.registry.heard("octo/demo", review, "review"), "it is remembered"
    )
    assert (heard.kind, heard.lines) == ("review", ("/squadron status",))
    assert team.registry.heard("octo/demo", review) == []
