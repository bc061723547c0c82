"""Nobody served for a day, and the time to wait is over: what people did meanwhile comes first."""

from collections.abc import Mapping
from datetime import timedelta
from typing import Any, Final

import pytest

from app.scripted.script import Answer
from tests.stories.happening import (
    ASKING,
    ASKS,
    AT_REVIEW,
    BLOCKED,
    CANCELLED,
    COMPLETED,
    FIXES,
    PAUSED,
    STOPPED,
    Does,
    Ends,
    nothing,
    pull,
    reviews,
    says,
    takes_the_label_off,
)
from tests.support.people import REPOSITORY, Task, repository
from tests.support.steps import is_blocked
from tests.twins.story import Story, story

SHORT: Final[Mapping[str, Any]] = {"max_sleep_duration": 3_600, "max_review_wait": 3_600}
PLACES: Final = {
    REPOSITORY: repository(
        {"fixer": SHORT, "pauser": {**SHORT, "max_tool_calls": 1, "on_limit": "pause"}}
    )
}


def closes_the_blocker(squad: Story, task: Task) -> None:
    squad.does("maria", "PATCH", f"/repos/{REPOSITORY}/issues/2", {"state": "closed"})


def merges(squad: Story, task: Task) -> None:
    squad.merge(task)


def refuses(squad: Story, task: Task) -> None:
    squad.does("maria", "PATCH", pull(squad, task), {"state": "closed"})


RAISES: Final = says("/squadron raise max_tool_calls +9")
ASKS_FOR_CHANGES: Final = reviews(event="REQUEST_CHANGES", body="Explain it.")
WAITS_FOR_IT: Final = (is_blocked("There is no plan.", 2), *FIXES)
DAYS: Final[Mapping[str, tuple[tuple[Answer, ...], str, Ends, Does, Ends]]] = {
    "its blocker was closed": (WAITS_FOR_IT, "fixer", BLOCKED, closes_the_blocker, AT_REVIEW),
    "its blocker is open": (WAITS_FOR_IT, "fixer", BLOCKED, nothing, STOPPED),
    "its question was answered": ((*ASKS, *FIXES), "fixer", ASKING, says("Blue."), AT_REVIEW),
    "nobody has answered": ((*ASKS, *FIXES), "fixer", ASKING, nothing, STOPPED),
    "its label was taken off": ((*ASKS, *FIXES), "fixer", ASKING, takes_the_label_off, CANCELLED),
    "its limit was raised": (FIXES, "pauser", PAUSED, RAISES, AT_REVIEW),
    "nobody has raised it": (FIXES, "pauser", PAUSED, nothing, STOPPED),
    "it was merged": (FIXES, "fixer", AT_REVIEW, merges, COMPLETED),
    "it was refused": (FIXES, "fixer", AT_REVIEW, refuses, CANCELLED),
    "changes were asked for": ((*FIXES, *FIXES), "fixer", AT_REVIEW, ASKS_FOR_CHANGES, AT_REVIEW),
    "nobody has reviewed it": (FIXES, "fixer", AT_REVIEW, nothing, COMPLETED),
}


@pytest.mark.parametrize("name", DAYS)
def test_what_people_did_meanwhile_comes_before_the_clock(name: str) -> None:
    steps, role, waits, does, ends = DAYS[name]
    with story(PLACES) as squad:
        task = squad.issue("The answer is wrong", *steps).by(role)
        squad.issue("The plan")
        squad.label(task, f"squadron:{role}")
        squad.settle()
        assert squad.states(task) == [waits]
        squad.stop()
        with squad.trouble(kind="lost"):
            squad.clock.turn(timedelta(minutes=5))
            does(squad, task)
        squad.clock.turn(timedelta(days=1))
        squad.start()
        squad.settle()
        assert squad.states(task) == [ends]


def test_nobody_is_late_while_github_does_not_answer() -> None:
    """Who answered meanwhile is heard first, and the operator is reminded once a day."""
    with story(PLACES) as squad:
        task = squad.give("fixer", "The answer is wrong", *ASKS, *FIXES)
        other = squad.give("fixer", "The question is wrong", *ASKS, *FIXES)
        with squad.trouble(kind="lost"):
            squad.comment(other, "What is it?", "ada")
        with squad.trouble(kind="error", method="GET", path="/permission"):
            for _ in range(50):
                squad.passes(hours=1)
            assert squad.has_struck()
            assert squad.states(task) == squad.states(other) == [ASKING]
            assert len(squad.alerts("unseen")) == 2
        squad.passes(minutes=2)
        assert squad.states(task) == [STOPPED]
        assert squad.states(other) == [AT_REVIEW]


@pytest.mark.parametrize("fault", ["error", "timeout", "primary_limit"])
def test_an_outage_of_all_of_github_ends_nobody(fault: str) -> None:
    with story(PLACES) as squad:
        asking = squad.give("fixer", "The answer is wrong", *ASKS, *FIXES)
        reviewed = squad.give("fixer", "The question is wrong", *FIXES)
        with squad.trouble(kind="lost"):
            squad.comment(asking, "Blue.")
        with squad.trouble(kind=fault):
            for _ in range(30):
                squad.passes(hours=1)
            assert squad.states(asking) == [ASKING]
            assert squad.states(reviewed) == [AT_REVIEW]
        squad.passes(hours=1)
        assert squad.states(asking) == [AT_REVIEW]
