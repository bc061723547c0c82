"""What starts an agent, and what holds its start back."""

from collections.abc import Mapping
from typing import Any, Final

import pytest

from tests.stories.happening import (
    ASKING,
    ASKS,
    AT_REVIEW,
    FIXES,
    ROLES,
    TOLD,
    Happening,
    labels,
    tell,
)
from tests.support.github import BOT
from tests.support.people import REPOSITORY, Task, repository
from tests.support.steps import is_blocked
from tests.twins.story import Story, story

CONFIG: Final = {"budgets": [{"scope": "role", "name": "dear", "window": "day", "max_cost_usd": 1}]}
OPERATOR: Final[Mapping[str, Any]] = {
    "pricing": {"scripted": {"input": 0, "output": 800}},
    "rate": {"starts_per_user_per_hour": 2},
}


def assigned(squad: Story, task: Task) -> None:
    squad.label(task, "squadron:fixer", by="tom")
    squad.does("maria", "POST", f"{task.path}/assignees", {"assignees": [BOT]})


def labelled_by_a_stranger(squad: Story, task: Task) -> None:
    squad.label(task, "squadron:fixer", by="tom")


def undone_at_once(squad: Story, task: Task) -> None:
    labels(squad, task)
    squad.does("maria", "DELETE", f"{task.path}/labels/squadron:{task.role}")


def held_by_the_brake(squad: Story, task: Task) -> None:
    squad.brakes()


def released(squad: Story, task: Task) -> None:
    assert not any(agent.segment_attempts for agent in squad.agents(task))
    squad.lifts_the_brake()
    squad.passes(minutes=2)


def spent(squad: Story, task: Task) -> None:
    squad.give("dear", "The first", is_blocked("Which colour? " * 180), by="ada")  # 50 cents


def the_next_day(squad: Story, task: Task) -> None:
    squad.passes(hours=24)


def two_starts(squad: Story, task: Task) -> None:
    for _ in range(2):
        squad.give("fixer", "The first", *ASKS)


HAPPENINGS: Final[Mapping[str, Happening]] = {
    "its label is set": Happening(FIXES, None, labels, [AT_REVIEW], comments=1),
    "it is assigned": Happening(FIXES, None, assigned, [AT_REVIEW], comments=1),
    "a stranger sets its label": Happening(FIXES, None, labelled_by_a_stranger, []),
    "its label is set and taken off": Happening(FIXES, None, undone_at_once, []),
    "a brake holds it": Happening(
        FIXES, None, labels, [AT_REVIEW], first=held_by_the_brake, then=released
    ),
    "its budget is spent until the next day": Happening(
        ASKS, None, labels, [ASKING], role="dear", first=spent, then=the_next_day
    ),
    "whoever starts it has started too many": Happening(
        FIXES, None, labels, [], first=two_starts, comments=1
    ),
}


@pytest.mark.parametrize("how", TOLD)
@pytest.mark.parametrize("name", HAPPENINGS)
def test_it_ends_the_same_however_it_is_told(name: str, how: str) -> None:
    tell(HAPPENINGS[name], how, config=CONFIG, operator=OPERATOR)


@pytest.mark.parametrize("how", ["told", "untold"])
def test_who_waited_works_on_the_text_as_it_was_when_it_was_asked_for(how: str) -> None:
    places = {REPOSITORY: repository(ROLES, CONFIG)}
    with story(places, operator=OPERATOR) as squad:
        task = squad.issue("The answer is wrong", *FIXES).by("dear")
        spent(squad, task)
        with squad.telling(how):
            labels(squad, task)
        assert squad.agents(task) == []
        body = squad.sees(task.path)["body"]
        squad.does("maria", "PATCH", task.path, {"body": f"{body}\nAnd all others."})
        squad.passes(hours=24)
        assert squad.states(task) == [AT_REVIEW]
        assert squad.was_told(task, "The answer is wrong")
        assert not squad.was_told(task, "And all others.")
