"""What an agent may wait for, and what comes of agents that wait for each other."""

import json

import pytest

from app.adapters.store.registry import note
from app.core.agents.agent import Agent
from app.core.agents.lifecycle import State
from app.core.agents.stops import Cause
from app.core.agents.work import MOST_BLOCKERS
from tests.stories.happening import BLOCKED, COMPLETED, STOPPED
from tests.support.people import REPOSITORY, Task, repository
from tests.support.steps import completes, is_blocked, waits_for
from tests.twins.story import Story, story

PLACES = {REPOSITORY: repository({"fixer": {}})}


def labelled(squad: Story, *tasks: Task) -> None:
    for task in tasks:
        squad.label(task, "squadron:fixer")


def circle_of(squad: Story, count: int) -> list[Task]:
    """Agents that all fall asleep at one time, each for the issue after its own."""
    go = waits_for(squad.directory / "go", look_seconds=5)
    tasks = [
        squad.issue(f"No. {n}", go, is_blocked("After that.", n % count + 1)).by("fixer")
        for n in range(1, count + 1)
    ]
    labelled(squad, *tasks)
    squad.goes_on_for(400 * count)
    assert {state for task in tasks for state in squad.states(task)} == {(State.ACTIVE, None)}
    (squad.directory / "go").touch()
    return tasks


@pytest.mark.parametrize("count", [2, 3, 4])
def test_of_agents_that_fall_asleep_for_each_other_one_ends_and_says_who_waits(count: int) -> None:
    with story(PLACES) as squad:
        tasks = circle_of(squad, count)
        squad.passes(seconds=5)
        states = [squad.states(task) for task in tasks]
        assert [states.count([one]) for one in (STOPPED, BLOCKED)] == [1, count - 1]
        ended = tasks[states.index([STOPPED])]
        failure = squad.agent(ended).failure
        assert failure is not None and failure.cause is Cause.BLOCKED_IN_CIRCLE
        for n in range(1, count + 1):
            assert f"#{n} waits for #{n % count + 1}" in failure.reason
        assert failure.reason in squad.comments(ended)[-1]
        assert len(squad.needs_human(ended)) == 1
        squad.passes(hours=1)
        assert [squad.states(task) for task in tasks] == states, "nobody else ends for it"


def test_a_circle_that_nobody_saw_close_is_found_by_a_pass() -> None:
    """Whoever would have looked died."""
    with story(PLACES) as squad:
        first, second = (
            squad.issue("A", is_blocked("For B.", 2)).by("fixer"),
            squad.issue("B", is_blocked("For C.", 3)).by("fixer"),
        )
        assert squad.issue("C").number == 3
        labelled(squad, first, second)
        squad.settle()
        assert squad.states(first) == squad.states(second) == [BLOCKED]
        waits_for_instead(squad, squad.agent(second), first.number)
        squad.passes(minutes=2)
        assert squad.states(first) == [BLOCKED]
        assert squad.states(second) == [STOPPED]


def waits_for_instead(squad: Story, agent: Agent, *issues: int) -> None:
    """As if it had fallen asleep for these, and nobody had looked at it after that."""
    values = {"blocked_by": json.dumps(issues)}
    with squad.database.engine.begin() as connection:
        note(connection, agent.id, values)


def test_who_would_wait_for_what_does_not_exist_is_told_and_goes_on() -> None:
    with story(PLACES) as squad:
        task = squad.give(
            "fixer", "Go", is_blocked("For those.", 98, 1_000_000), completes("Then not.")
        )
        assert squad.states(task) == [COMPLETED]
        assert squad.was_told(task, "You do not wait: there is no #98, #1000000 in this repository")


def test_what_github_does_not_tell_is_waited_for() -> None:
    """An issue that cannot be looked up may exist."""
    with story(PLACES) as squad:
        blocker = squad.issue("First")
        task = squad.issue("Go", is_blocked("For that.", blocker.number), completes("Done."))
        with squad.trouble(kind="error", status=503, method="GET", path=f"{blocker.path}$"):
            labelled(squad, task.by("fixer"))
            squad.settle()
            assert squad.states(task.by("fixer")) == [BLOCKED]
        squad.close(blocker)
        squad.passes(minutes=2)
        assert squad.states(task.by("fixer")) == [COMPLETED]


def test_nobody_waits_for_more_than_twenty_issues() -> None:
    """It is told so by the closing tool, and waits for those that it then names."""
    with story(PLACES) as squad:
        squad.issue("First")
        numbers = range(1, MOST_BLOCKERS + 2)
        task = squad.give("fixer", "Go", is_blocked("For all.", *numbers), is_blocked("One.", 1))
        assert squad.states(task) == [BLOCKED]
        assert squad.agent(task).blocked_by == (1,)
        assert squad.was_told(task, "at most 20")


def test_blockers_are_asked_for_until_the_first_that_is_open() -> None:
    with story(PLACES) as squad:
        first, *between, last = (squad.issue(f"No. {n}") for n in range(MOST_BLOCKERS))
        waits = is_blocked(
            "For all.", first.number, *(each.number for each in between), last.number
        )
        task = squad.give("fixer", "Go", waits, completes("Went."))
        assert squad.states(task) == [BLOCKED]
        with squad.trouble(kind="error", status=500, method="GET", path=f"{between[0].path}$"):
            squad.close(last)
            squad.settle()
            assert not squad.has_struck(), "the first one is open"
        for each in (first, *between):
            squad.close(each)
        squad.settle()
        assert squad.states(task) == [COMPLETED]


def test_a_pass_asks_no_more_for_many_blockers_than_for_one() -> None:
    assert most_requests_of_a_pass(20, 1) == most_requests_of_a_pass(1, 1)


def test_a_pass_asks_no_more_for_many_who_wait_than_for_one() -> None:
    """All their issues were labelled within a few minutes, and nothing has happened since."""
    assert most_requests_of_a_pass(1, 12) == most_requests_of_a_pass(1, 1)


def most_requests_of_a_pass(blockers: int, agents: int) -> int:
    """In an hour in which so many agents wait for so many open issues."""
    with story(PLACES) as squad:
        numbers = [squad.issue(f"No. {n}").number for n in range(blockers)]
        for number in range(agents):
            task = squad.give("fixer", f"Go {number}", is_blocked("For all.", *numbers))
            assert squad.states(task) == [BLOCKED]
        squad.passes(minutes=10)
        before = len(squad.timeline.records)
        for _ in range(60):
            squad.passes(minutes=1)
        since = squad.timeline.records[before:]
        counts = [int(vars(one)["requests"]) for one in since if one.getMessage() == "reconciled"]
        assert len(counts) >= 60
        return max(counts)
