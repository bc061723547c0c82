"""What no webhook told of is found by looks that ask for what is new alone: with many repositories
most looks are such."""

from collections.abc import Sequence

import pytest

from app.core.steering.ownership import RELABELLED_WITHIN
from app.scripted.script import Answer
from app.services.handlers import reconciliation
from tests.stories.happening import (
    ASKING,
    ASKS,
    AT_REVIEW,
    CANCELLED,
    COMPLETED,
    FIXES,
    Does,
    Ends,
    pull,
    says,
)
from tests.support.people import REPOSITORY, Task, repository
from tests.twins.story import Story, story


def closes(squad: Story, task: Task) -> None:
    squad.close(task)


def takes_the_label_off(squad: Story, task: Task) -> None:
    squad.does("maria", "DELETE", f"{task.path}/labels/squadron:fixer")


def takes_the_label_off_for_a_while(squad: Story, task: Task) -> None:
    takes_the_label_off(squad, task)
    squad.passes(seconds=3 + RELABELLED_WITHIN.total_seconds())  # no pass comes by
    squad.label(task, "squadron:fixer")


def merges(squad: Story, task: Task) -> None:
    squad.does("maria", "PUT", f"{pull(squad, task)}/merge")


def asks_for_changes(squad: Story, task: Task) -> None:
    review = {"event": "REQUEST_CHANGES", "body": "/squadron stop"}
    squad.does("maria", "POST", f"{pull(squad, task)}/reviews", review)


HAPPENINGS: dict[str, tuple[Sequence[Answer], Ends, Does, Sequence[Ends]]] = {
    "its issue is closed": (ASKS, ASKING, closes, [CANCELLED]),
    "its label goes": (ASKS, ASKING, takes_the_label_off, [CANCELLED]),
    "its label goes and comes back": (
        ASKS,
        ASKING,
        takes_the_label_off_for_a_while,
        [CANCELLED, ASKING],
    ),
    "it is answered": ((*ASKS, *FIXES), ASKING, says("Blue."), [AT_REVIEW]),
    "it is told to stop": (ASKS, ASKING, says("/squadron stop"), [CANCELLED]),
    "its work is merged": (FIXES, AT_REVIEW, merges, [COMPLETED]),
    "a review tells it to stop": (FIXES, AT_REVIEW, asks_for_changes, [CANCELLED]),
}


@pytest.mark.parametrize("what", HAPPENINGS)
def test_what_nobody_told_of_is_found(what: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reconciliation, "FULL_LOOKS_REQUESTS", 0)
    steps, before, happens, ends = HAPPENINGS[what]
    with story({REPOSITORY: repository({"fixer": {}})}) as squad:
        task = squad.give("fixer", "The answer is wrong", *steps)
        squad.passes(minutes=10)
        assert squad.states(task) == [before]
        seen = len(squad.timeline.records)
        with squad.telling("untold"):
            happens(squad, task)
        squad.passes(minutes=10)
        assert squad.states(task) == ends
        passes = [one for one in squad.timeline.records[seen:] if one.getMessage() == "reconciled"]
        assert passes
        assert {vars(one)["looked_at_fully"] for one in passes} == {0}


def test_each_change_is_looked_at_once_more(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reconciliation, "FULL_LOOKS_REQUESTS", 0)
    with story({REPOSITORY: repository({"fixer": {}})}) as squad:
        task = squad.give("fixer", "The answer is wrong", *ASKS, *ASKS)
        for words in ("Blue.", "No, red."):
            with squad.telling("untold"):
                squad.comment(task, words)
            squad.passes(minutes=10)
        assert squad.states(task) == [ASKING]
        assert squad.was_told(task, "No, red.")
        with squad.telling("untold"):
            closes(squad, task)
        squad.passes(minutes=10)
        assert squad.states(task) == [CANCELLED]
