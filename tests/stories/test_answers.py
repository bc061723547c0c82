"""Whoever may start an agent is answered when none starts, by one comment for each role."""

from datetime import timedelta
from typing import Final

import pytest

from tests.stories.happening import ASKS, AT_REVIEW, FIXES, STOPPED
from tests.support.people import REPOSITORY, Task, repository
from tests.support.steps import runs, waits_for
from tests.twins.story import PASS_SECONDS, Story, story

ROLES: Final = {"fixer": {}, "reader": {"kind": "review"}, "stopper": {"max_tool_calls": 1}}
PLACES: Final = {REPOSITORY: repository(ROLES)}
HOWS: Final = ("told", "untold", "doubled", "late")


def relabels(squad: Story, task: Task, by: str = "maria") -> None:
    squad.does(by, "DELETE", f"{task.path}/labels/squadron:{task.role}")
    squad.label(task, f"squadron:{task.role}", by=by)


def answer(squad: Story, task: Task) -> str:
    """The one comment of ours that says why nobody starts."""
    [only] = [each for each in squad.comments(task) if "not started" in each]
    return only


def requests_of_passes(squad: Story, passes: int) -> list[int]:
    before = len(squad.timeline.records)
    for _ in range(passes):
        squad.passes(seconds=PASS_SECONDS + 1)
    since = squad.timeline.records[before:]
    return [int(vars(one)["requests"]) for one in since if one.getMessage() == "reconciled"]


def pull_request(squad: Story) -> Task:
    squad.pushes({"answer": "42\n"}, branch="by-hand", by="maria")
    content = {"title": "By hand", "head": "by-hand", "base": "main", "body": ""}
    opened = squad.does("maria", "POST", f"/repos/{REPOSITORY}/pulls", content)
    return Task(REPOSITORY, opened["number"], "fixer")


@pytest.mark.parametrize("how", HOWS)
def test_a_label_on_a_pull_request_of_a_role_that_works_on_issues(how: str) -> None:
    with story(PLACES) as squad:
        task = pull_request(squad)
        squad.settle()
        with squad.telling(how):
            squad.label(task, "squadron:fixer")
        assert "works on issues, and this is a pull request" in answer(squad, task)
        squad.passes(hours=2)
        assert len(squad.comments(task)) == 1 and squad.agents(task) == []


@pytest.mark.parametrize("how", HOWS)
def test_a_label_on_an_issue_of_a_role_that_reviews(how: str) -> None:
    with story(PLACES) as squad:
        task = squad.issue("Read this").by("reader")
        squad.settle()
        with squad.telling(how):
            squad.label(task, "squadron:reader")
        assert "reviews pull requests, and this is an issue" in answer(squad, task)


def test_a_label_on_a_closed_issue() -> None:
    """Only a delivery can tell of it: what is closed asks for nothing by being so."""
    with story(PLACES) as squad:
        task = squad.issue("Closed", *FIXES).by("fixer")
        squad.close(task)
        squad.settle()
        squad.label(task, "squadron:fixer")
        squad.settle()
        assert "The agent has not started: the issue is closed." in answer(squad, task)
        squad.does("maria", "PATCH", task.path, {"state": "open"})
        squad.passes(hours=2)
        assert squad.agents(task) == []
        relabels(squad, task)
        squad.settle()
        assert squad.states(task) == [AT_REVIEW]
        [progress] = squad.comments(task)
        assert "not started" not in progress and "handed its work over as" in progress


@pytest.mark.parametrize("how", HOWS)
def test_a_label_that_is_set_again_while_the_escalation_is_open(how: str) -> None:
    with story(PLACES) as squad:
        task = squad.give("stopper", "Stop", runs("echo 1"), runs("echo 2"))
        assert squad.states(task) == [STOPPED]
        [human] = squad.needs_human(task)
        with squad.telling(how):
            relabels(squad, task)
        told = answer(squad, task)
        assert "the needs-human issue of the agent before is still open" in told
        assert f"#{human['number']}" in told
        relabels(squad, task)
        squad.settle()
        assert "still open" in answer(squad, task), "the same comment, edited"
        assert squad.states(task) == [STOPPED]
        squad.does("maria", "PATCH", f"/repos/{REPOSITORY}/issues/{human['number']}", CLOSED)
        squad.passes(hours=1)
        assert squad.states(task) == [STOPPED], "closing it starts nobody"
        relabels(squad, task)
        squad.settle()
        assert len(squad.agents(task)) == 2
        assert [each for each in squad.comments(task) if "not started" in each] == []


CLOSED: Final = {"state": "closed"}


def test_a_stranger_is_not_answered() -> None:
    with story(PLACES) as squad:
        task = squad.issue("Closed", *FIXES).by("fixer")
        squad.close(task)
        pulled = pull_request(squad)
        for each in (task, pulled):
            squad.label(each, "squadron:fixer", by="tom")
        squad.passes(hours=2)
        assert squad.comments(task) == squad.comments(pulled) == []


def test_what_was_put_off_and_is_refused_later_is_told_in_the_same_comment() -> None:
    with story(PLACES) as squad:
        squad.brakes()
        task = squad.give("fixer", "The answer is wrong", *FIXES)
        [first] = squad.comments(task)
        assert "not started yet" in first
        squad.lifts_the_brake()
        squad.passes(minutes=2)
        assert squad.states(task) == [AT_REVIEW]
        [progress] = squad.comments(task)
        assert "not started" not in progress


def test_a_comment_that_somebody_deleted_is_made_anew() -> None:
    with story(PLACES) as squad:
        task = pull_request(squad)
        squad.label(task, "squadron:fixer")
        squad.settle()
        [posted] = squad.sees(f"{task.path}/comments")
        comment = f"/repos/{REPOSITORY}/issues/comments/{posted['id']}"
        squad.does("ada", "DELETE", comment)
        relabels(squad, task)
        squad.settle()
        assert "works on issues" in answer(squad, task)


@pytest.mark.parametrize("how", ["told", "untold"])
def test_an_untrusted_label_is_asked_about_once(how: str) -> None:
    with story(PLACES) as squad:
        quiet = max(requests_of_passes(squad, 70))
        tasks = [squad.issue(f"No. {n}", *ASKS).by("fixer") for n in range(5)]
        with squad.telling(how):
            for task in tasks:
                squad.label(task, "squadron:fixer", by="tom")
        requests_of_passes(squad, 2)
        assert max(requests_of_passes(squad, 70)) <= quiet, "full looks among them"
        assert all(squad.agents(task) == [] for task in tasks)
        squad.label(tasks[0], "bug", by="tom")
        squad.settle()
        relabels(squad, tasks[1])
        squad.settle()
        assert [len(squad.agents(task)) for task in tasks] == [0, 1, 0, 0, 0]


def test_an_untrusted_label_is_not_asked_about_after_a_restart_either() -> None:
    with story(PLACES) as squad:
        task = squad.issue("Please", *ASKS).by("fixer")
        squad.label(task, "squadron:fixer", by="tom")
        squad.passes(hours=2)
        squad.restart()
        squad.orders("users", login="tom", permission="write")
        squad.passes(hours=2)
        assert squad.agents(task) == []
        relabels(squad, task, by="tom")
        squad.settle()
        assert len(squad.agents(task)) == 1


# --- labels that were there before they started anybody ----------------------------------------

OLD: Final = {REPOSITORY: repository({"fixer": {}})}
MAPPED: Final = repository({"fixer": {}}, {"triggers": {"labels": {"bug": "fixer"}}})


@pytest.mark.parametrize("how", ["told", "untold"])
def test_what_was_labelled_before_its_mapping_starts_nothing(how: str) -> None:
    with story(OLD) as squad:
        tasks = [squad.issue(f"No. {n}", *ASKS, labels=("bug",)).by("fixer") for n in range(15)]
        squad.passes(hours=2)
        with squad.telling(how):
            squad.pushes({".squadron/config.yaml": MAPPED[".squadron/config.yaml"]})
        squad.passes(hours=3)
        assert [squad.agents(task) for task in tasks] == [[]] * 15
        with squad.telling(how):
            squad.does("maria", "DELETE", f"{tasks[0].path}/labels/bug")
            squad.label(tasks[0], "bug")
        assert [len(squad.agents(task)) for task in tasks] == [1, *[0] * 14]


def test_a_label_whose_delivery_comes_after_its_mapping_starts_nothing() -> None:
    with story(OLD) as squad:
        task = squad.issue("Old", *ASKS).by("fixer")
        squad.passes(hours=2)
        with squad.trouble(kind="late", event="issues.labeled", seconds=600):
            squad.label(task, "bug")
            squad.settle()
        squad.passes(minutes=5)
        squad.pushes({".squadron/config.yaml": MAPPED[".squadron/config.yaml"]})
        squad.passes(minutes=10)
        assert squad.agents(task) == []
        assert "the label was set before it started agents here" in answer(squad, task)


def test_no_more_is_started_by_a_pass_than_it_may() -> None:
    """The rest waits for its turn, and is told so once."""
    with story(PLACES, operator={"max_starts_per_pass": 2}) as squad:
        tasks = [squad.issue(f"No. {n}", *ASKS).by("fixer") for n in range(5)]
        with squad.trouble(kind="lost", event="issues.labeled"):
            for task in tasks:
                squad.label(task, "squadron:fixer")
            squad.settle()
        counts = []
        for _ in range(4):
            squad.passes(seconds=PASS_SECONDS + 1)
            counts.append(sum(len(squad.agents(task)) for task in tasks))
            if counts[-1] == 2:
                waiting = [task for task in tasks if not squad.agents(task)]
                for task in waiting:
                    assert "The agent has not started yet: more starts were found" in answer(
                        squad, task
                    )
        assert counts == [2, 4, 5, 5]
        for task in tasks:
            [progress] = squad.comments(task)
            assert "not started" not in progress, "the agent has made the comment its own"


# --- the queue ---------------------------------------------------------------------------------


def queued(squad: Story, count: int) -> list[Task]:
    """One agent at work, which takes all the room there is, and so many behind it."""
    go = waits_for(squad.directory / "go", look_seconds=5)
    tasks = [squad.issue(f"No. {n}", go, *ASKS).by("fixer") for n in range(count + 1)]
    for task in tasks:
        squad.label(task, "squadron:fixer")
        squad.goes_on_for(400)
    return tasks


def test_who_waits_for_a_worker_says_where_it_stands_within_seconds() -> None:
    with story(PLACES, operator={"workers": {"agents": 1}}) as squad:
        at_work, *behind = queued(squad, 3)
        began = squad.clock.now()
        squad.clock.turn(timedelta(seconds=5))
        squad.goes_on_for(400)
        assert (squad.clock.now() - began).total_seconds() < 10
        words = [only(squad, task) for task in behind]
        assert "The agent waits for a worker; it is next" in words[0]
        assert "worker; one agent of this repository is ahead of it." in words[1]
        assert "worker; 2 agents of this repository are ahead of it." in words[2]
        (squad.directory / "go").touch()
        squad.passes(seconds=5)
        for task in (at_work, *behind):
            assert "waits for a worker" not in only(squad, task)


def only(squad: Story, task: Task) -> str:
    [comment] = squad.comments(task)
    return comment


def test_where_it_stands_is_told_again_when_that_has_changed() -> None:
    with story(PLACES, operator={"workers": {"agents": 1}}) as squad:
        _, first, second = queued(squad, 2)
        for _ in range(3):
            squad.clock.turn(timedelta(seconds=PASS_SECONDS))
            squad.goes_on_for(400)
        assert "one agent of this repository is ahead of it" in only(squad, second)
        squad.close(first)
        squad.goes_on_for(400)
        for _ in range(3):
            squad.clock.turn(timedelta(seconds=PASS_SECONDS))
            squad.goes_on_for(400)
        assert "it is next" in only(squad, second)
        (squad.directory / "go").touch()
        squad.passes(seconds=5)
