"""What a pull request shows: the work alone, by the bot alone, whatever it took to get there."""

from typing import Any, Final

import pytest

from app.core.agents.lifecycle import State
from tests.stories.happening import ASKS, AT_REVIEW, FIXES, STOPPED
from tests.support.people import REPOSITORY, Task, repository
from tests.support.steps import commits, completes, writes
from tests.twins.story import Story, story

ROLES: Final[dict[str, dict[str, Any]]] = {
    "fixer": {},
    "prepared": {"setup": ["mkdir installed", "echo a > installed/a", "echo b > installed/b"]},
    "stopper": {"max_tool_calls": 1},
}
HALF: Final = writes("answer", "41.5\n")


def shown(squad: Story, task: Task) -> list[str]:
    """The subjects of the commits that its pull request shows; all are the bot's."""
    number = squad.agent(task).pull_request
    found = squad.sees(f"/repos/{REPOSITORY}/pulls/{number}/commits")
    people = {each["commit"][who]["name"] for each in found for who in ("author", "committer")}
    assert people == {"squadron-box[bot]"}
    return [each["commit"]["message"].splitlines()[0] for each in found]


def body(squad: Story, task: Task) -> str:
    pull = squad.sees(f"/repos/{REPOSITORY}/pulls/{squad.agent(task).pull_request}")
    return str(pull["body"])


def test_who_was_held_up_on_the_way_shows_what_it_made_in_the_end() -> None:
    with story({REPOSITORY: repository(ROLES)}) as squad:
        task = squad.give("fixer", "The answer is wrong", HALF, *ASKS, *FIXES)
        squad.comment(task, "Red.", by="maria")
        squad.settle()
        assert squad.state(task) == AT_REVIEW
        assert shown(squad, task) == ["Answer"]


def test_what_it_has_not_committed_is_one_commit_with_the_title_of_the_issue() -> None:
    with story({REPOSITORY: repository(ROLES)}) as squad:
        half, whole = writes("answer", "42\n"), completes("It is 42.")
        task = squad.give("fixer", "The answer is wrong", half, *ASKS, whole)
        squad.comment(task, "Red.", by="maria")
        squad.settle()
        assert shown(squad, task) == ["The answer is wrong"]


def test_what_the_setup_left_is_not_in_it_and_is_named_in_one_line() -> None:
    with story({REPOSITORY: repository(ROLES)}) as squad:
        task = squad.give("prepared", "The answer is wrong", *FIXES)
        assert shown(squad, task) == ["Answer"]
        pull = squad.sees(f"/repos/{REPOSITORY}/pulls/{squad.agent(task).pull_request}")
        assert pull["changed_files"] == 1
        line = "Left out, since setup, builds or tests made it: `installed/` (2 files)."
        assert body(squad, task).count(line) == 1


@pytest.mark.parametrize("co_author", [True, False])
def test_who_started_it_is_a_co_author_where_the_repository_says_so(co_author: bool) -> None:
    with story({REPOSITORY: repository(ROLES, {"co_author": co_author})}) as squad:
        task = squad.give("fixer", "The answer is wrong", HALF, *ASKS, *FIXES)
        squad.comment(task, "Red.", by="maria")
        squad.settle()
        number = squad.agent(task).pull_request
        [commit] = squad.sees(f"/repos/{REPOSITORY}/pulls/{number}/commits")
        maria = squad.sees("/users/maria")["id"]
        trailer = f"\n\nCo-authored-by: maria <{maria}+maria@users.noreply.box.localhost>"
        assert commit["commit"]["message"] == f"Answer{trailer if co_author else ''}"


def test_what_is_asked_for_in_a_review_comes_on_top() -> None:
    with story({REPOSITORY: repository(ROLES)}) as squad:
        half, more = writes("more", "half\n"), (writes("more", "more\n"), commits("More"))
        steps = (*FIXES, half, *ASKS, *more, completes("And more."))
        task = squad.give("fixer", "The answer is wrong", *steps)
        first = squad.agent(task).sha
        number = squad.agent(task).pull_request
        asks = {"event": "REQUEST_CHANGES", "body": "More, please."}
        squad.does("maria", "POST", f"/repos/{REPOSITORY}/pulls/{number}/reviews", asks)
        squad.settle()
        squad.comment(task, "Red.", by="maria")
        squad.settle()
        assert shown(squad, task) == ["Answer", "Work in progress on #1 (fixer)", "More"]
        compared = squad.sees(f"/repos/{REPOSITORY}/compare/{first}...{squad.agent(task).sha}")
        assert compared["status"] == "ahead"


def test_what_others_have_pushed_to_the_branch_stays() -> None:
    with story({REPOSITORY: repository(ROLES)}) as squad:
        task = squad.give("fixer", "The answer is wrong", HALF, *ASKS, *FIXES)
        theirs = squad.pushes({"theirs": "theirs\n"}, task.branch)
        squad.comment(task, "Red.", by="maria")
        squad.settle()
        assert squad.state(task) == AT_REVIEW
        ahead = squad.sees(f"/repos/{REPOSITORY}/compare/{theirs}...{squad.agent(task).sha}")
        assert ahead["status"] == "ahead"


@pytest.mark.parametrize("turns", range(60, 340, 20))
def test_a_death_on_the_way_to_the_pull_request_leaves_the_same(turns: int) -> None:
    with story({REPOSITORY: repository(ROLES)}) as squad:
        steps = (HALF, *ASKS, *FIXES, completes("It is 42."))  # the last one may not be heard
        task = squad.give("fixer", "The answer is wrong", *steps)
        squad.comment(task, "Red.", by="maria")
        squad.dies_after(turns)
        squad.settle()
        assert squad.state(task) == AT_REVIEW
        assert shown(squad, task) in (["Answer"], ["The answer is wrong"]), "or it never committed"


def test_who_is_stopped_keeps_all_that_was_pushed() -> None:
    with story({REPOSITORY: repository(ROLES)}) as squad:
        task = squad.give("stopper", "The answer is wrong", HALF, *FIXES)
        assert squad.state(task) == STOPPED and squad.state(task)[0] is State.ESCALATED
        found = squad.sees(f"/repos/{REPOSITORY}/commits?sha={task.branch}&per_page=2")
        assert found[0]["commit"]["message"].startswith("Work in progress on #1")
