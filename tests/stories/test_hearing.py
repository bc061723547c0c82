"""What people say to a sleeping agent, and what they push beside it."""

from collections.abc import Mapping
from typing import Final

import pytest

from app.core.agents.events import Decided
from tests.stories.happening import (
    AGAIN,
    ASKING,
    ASKS,
    AT_REVIEW,
    BLOCKED,
    FIXES,
    ROLES,
    TOLD,
    Happening,
    fails_a_check,
    pull,
    reviews,
    says,
    tell,
)
from tests.support.people import REPOSITORY, Task, repository
from tests.support.steps import completes, is_blocked, runs
from tests.twins.story import Story, story


def another(squad: Story, task: Task) -> None:
    assert squad.issue("The plan").number == 2


def closed_blocker(squad: Story, task: Task) -> None:
    squad.does("maria", "PATCH", f"/repos/{task.repository}/issues/2", {"state": "closed"})


def pushed(squad: Story, task: Task) -> None:
    squad.pushes({"notes": "By hand.\n"}, task.branch)
    squad.does(
        "maria",
        "POST",
        f"{pull(squad, task)}/reviews",
        {"event": "COMMENT", "body": "Use my notes."},
    )


def conflicting(squad: Story, task: Task) -> None:
    squad.pushes({"answer": "43\n"})


def a_pass(squad: Story, task: Task) -> None:
    squad.passes(minutes=2)


def after_55_minutes(squad: Story, task: Task) -> None:
    squad.passes(minutes=55)
    squad.comment(task, "Blue.")


HAPPENINGS: Final[Mapping[str, Happening]] = {
    "somebody answers": Happening(
        (*ASKS, *FIXES), ASKING, says("Blue."), [AT_REVIEW], wakes=1, says=["Blue."]
    ),
    "a stranger answers": Happening((*ASKS, *FIXES), ASKING, says("Red.", "rita"), [ASKING]),
    "a review asks for changes": Happening(
        (*FIXES, *AGAIN),
        AT_REVIEW,
        reviews(event="REQUEST_CHANGES", body="Explain it."),
        [AT_REVIEW],
        wakes=1,
        says=["Explain it."],
    ),
    "a review approves": Happening(
        FIXES, AT_REVIEW, reviews(event="APPROVE", body="Fine."), [AT_REVIEW]
    ),
    "its blocker is closed": Happening(
        (is_blocked("There is no plan.", 2), *FIXES),
        BLOCKED,
        closed_blocker,
        [AT_REVIEW],
        wakes=1,
        says=["Closed meanwhile: #2"],
        first=another,
    ),
    "people push and say so": Happening(
        (*FIXES, *AGAIN),
        AT_REVIEW,
        pushed,
        [AT_REVIEW],
        wakes=1,
        says=["Maria: Change notes", "Use my notes."],
    ),
    "a check of others fails": Happening(
        (*FIXES, *AGAIN),
        AT_REVIEW,
        fails_a_check,
        [AT_REVIEW],
        wakes=1,
        says=["The check links of ", "README.md: /x"],
    ),
    "main moves and conflicts": Happening(
        (*FIXES, runs("git merge -X ours main"), completes("Merged.")),
        AT_REVIEW,
        conflicting,
        [AT_REVIEW],
        wakes=1,
        says=["conflicts with main"],
        then=a_pass,  # GitHub tells of no conflict
    ),
    "somebody answers just before its time is over": Happening(
        (*ASKS, *FIXES),
        ASKING,
        after_55_minutes,
        [AT_REVIEW],
        role="sleeper",
        wakes=1,
        says=["Blue."],
    ),
}


@pytest.mark.parametrize("how", TOLD)
@pytest.mark.parametrize("name", HAPPENINGS)
def test_it_ends_the_same_however_it_is_told(name: str, how: str) -> None:
    tell(HAPPENINGS[name], how)


def test_its_log_says_which_rule_decided() -> None:
    with story({REPOSITORY: repository(ROLES)}) as squad:
        task = squad.give("fixer", "The answer is wrong", *ASKS, *FIXES)
        squad.comment(task, "Blue.")
        squad.settle()
        squad.merge(task)
        squad.settle()
        log = squad.log(squad.agent(task).id)
        made = [(event.rule, event.reason) for event in log if isinstance(event, Decided)]
        assert made == [
            ("answered", "maria commented:\n\nBlue."),
            ("ended_by_people", f"#{squad.agent(task).pull_request} was merged."),
        ]
