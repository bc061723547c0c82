"""What takes an agent its work, and what ends it well."""

from collections.abc import Mapping
from typing import Final

import pytest

from tests.stories.happening import (
    ASKING,
    ASKS,
    AT_REVIEW,
    CANCELLED,
    COMPLETED,
    FIXES,
    TOLD,
    Happening,
    pull,
    tell,
)
from tests.support.github import BOT
from tests.support.people import Task
from tests.twins.story import Story


def undone(squad: Story, task: Task) -> None:
    squad.close(task)
    squad.does("maria", "PATCH", task.path, {"state": "open"})


def relabelled(squad: Story, task: Task) -> None:
    squad.does("maria", "DELETE", f"{task.path}/labels/squadron:{task.role}")
    squad.does("ada", "POST", f"{task.path}/comments", {"body": "Not now."})
    squad.label(task, f"squadron:{task.role}")


def assigned_instead(squad: Story, task: Task) -> None:
    squad.does("maria", "POST", f"{task.path}/assignees", {"assignees": [BOT]})
    squad.does("maria", "DELETE", f"{task.path}/assignees", {"assignees": [BOT]})
    squad.does("maria", "POST", f"{task.path}/assignees", {"assignees": ["ada"]})


HAPPENINGS: Final[Mapping[str, Happening]] = {
    "its work is merged": Happening(FIXES, AT_REVIEW, Story.merge, [COMPLETED]),
    "its pull request is closed": Happening(
        FIXES,
        AT_REVIEW,
        lambda squad, task: squad.does("ada", "PATCH", pull(squad, task), {"state": "closed"}),
        [CANCELLED],
    ),
    "its issue is closed while it asks": Happening(ASKS, ASKING, Story.close, [CANCELLED]),
    "its issue is closed while its work is reviewed": Happening(
        FIXES, AT_REVIEW, Story.close, [CANCELLED]
    ),
    "its issue is closed and opened again": Happening(ASKS, ASKING, undone, [CANCELLED]),
    "its label is taken off": Happening(
        ASKS,
        ASKING,
        lambda squad, task: squad.does("maria", "DELETE", f"{task.path}/labels/squadron:fixer"),
        [CANCELLED],
    ),
    "its label is taken off and set again": Happening(
        ASKS, ASKING, relabelled, [CANCELLED, ASKING]
    ),
    "somebody else is assigned": Happening(ASKS, ASKING, assigned_instead, [CANCELLED]),
}


@pytest.mark.parametrize("how", TOLD)
@pytest.mark.parametrize("name", HAPPENINGS)
def test_it_ends_the_same_however_it_is_told(name: str, how: str) -> None:
    tell(HAPPENINGS[name], how)
