"""GitHub does not find an issue: it may err once, so only a later look ends anything."""

from app.core.agents.events import TakenAway
from tests.stories.happening import ASKING, ASKS, AT_REVIEW, BLOCKED, CANCELLED, FIXES
from tests.support.people import REPOSITORY, Task, repository
from tests.support.steps import is_blocked
from tests.twins.story import PASS_SECONDS, Story, story

PLACES = {REPOSITORY: repository({"fixer": {}})}


def finds_nothing(path: str) -> dict[str, object]:
    return {"kind": "error", "status": 404, "method": "GET", "path": f"{path}$"}


def passes(squad: Story, times: int) -> None:
    for _ in range(times):
        squad.passes(seconds=PASS_SECONDS + 1)


def asleep(squad: Story) -> Task:
    task = squad.give("fixer", "The answer is wrong", *ASKS, *FIXES)
    assert squad.states(task) == [ASKING]
    return task


def is_told_of(squad: Story, task: Task) -> None:
    """A delivery makes Squadron ask for the issue."""
    squad.does("maria", "POST", f"{task.path}/labels", {"labels": ["later"]})
    squad.does("maria", "DELETE", f"{task.path}/labels/later")
    squad.settle()


def test_one_404_on_its_issue_ends_no_agent() -> None:
    with story(PLACES) as squad:
        task = asleep(squad)
        with squad.trouble(**finds_nothing(task.path)):
            is_told_of(squad, task)
            assert squad.has_struck()
        passes(squad, 3)
        assert squad.states(task) == [ASKING]


def test_nor_do_many_at_once() -> None:
    """They may have one cause."""
    with story(PLACES) as squad:
        task = asleep(squad)
        with squad.trouble(**finds_nothing(task.path)):
            for _ in range(4):
                is_told_of(squad, task)
        passes(squad, 3)
        assert squad.states(task) == [ASKING]


def test_what_a_later_pass_does_not_find_either_is_gone() -> None:
    with story(PLACES) as squad:
        task = asleep(squad)
        with squad.telling("untold"):
            squad.orders("delete_issue", repository=REPOSITORY, number=task.number, user="maria")
        squad.passes(hours=1)
        passes(squad, 2)
        assert squad.states(task) == [CANCELLED]
        [taken] = [each for each in squad.log(squad.agent(task).id) if isinstance(each, TakenAway)]
        assert "deleted or transferred" in taken.why


def is_blocked_by_one_that_is_not_found(squad: Story, passes_meanwhile: int) -> Task:
    """Of its two blockers one is closed; GitHub does not find the other for so many passes."""
    first, second = squad.issue("First"), squad.issue("Second")
    waits = is_blocked("Later.", first.number, second.number)
    task = squad.give("fixer", "Later", waits, *FIXES)
    with squad.trouble(**finds_nothing(second.path)):
        squad.close(first)
        squad.settle()
        assert squad.has_struck()
        passes(squad, passes_meanwhile)
    return task


def test_one_404_on_a_blocker_wakes_nobody() -> None:
    with story(PLACES) as squad:
        task = is_blocked_by_one_that_is_not_found(squad, 0)
        passes(squad, 3)
        assert squad.states(task) == [BLOCKED]


def test_a_blocker_that_stays_away_holds_nobody_up() -> None:
    with story(PLACES) as squad:
        task = is_blocked_by_one_that_is_not_found(squad, 2)
        assert squad.states(task) == [AT_REVIEW]
