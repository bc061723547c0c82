"""What people do ends the same, however GitHub tells of it (docs/design.md, promise 10)."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

import pytest

from app.core.agents.events import Waits, Woken
from app.core.agents.lifecycle import State
from app.scripted.script import Answer
from tests.support.github import BOT
from tests.support.people import REPOSITORY, Task, repository
from tests.support.steps import commits, completes, is_blocked, runs, writes
from tests.twins.shell import TEST
from tests.twins.story import TELLINGS, Story, story

ROLES: Final[Mapping[str, Mapping[str, Any]]] = {
    "fixer": {},
    "pauser": {"max_tool_calls": 1, "on_limit": "pause"},
    "stopper": {"max_tool_calls": 1},
}
ASKS: Final = (is_blocked("Which colour?"),)
FIXES: Final = (writes("answer", "42\n"), runs(TEST), commits("Answer"), completes("It is 42."))
AGAIN: Final = (writes("more", "more\n"), runs(TEST), commits("More"), completes("And more."))
AT_REVIEW, ASKING = (State.SLEEPING, Waits.REVIEW), (State.SLEEPING, Waits.ANSWER)
CANCELLED, COMPLETED = (State.CANCELLED, None), (State.COMPLETED, None)
PAUSED, STOPPED = (State.PAUSED, Waits.RAISE), (State.ESCALATED, None)

Ends = tuple[State, Waits | None]


@dataclass(frozen=True, slots=True)
class Happening:
    """An agent that has come so far, and what somebody does then."""

    steps: Sequence[Answer]
    before: Ends
    """Where the agent is."""
    happens: Callable[[Story, Task], object]
    ends: Sequence[Ends]
    """Where all agents of the task are in the end."""
    role: str = "fixer"
    wakes: int = 0
    """How often it was woken by then."""
    says: Sequence[str] = field(default=())
    """What the agent was told."""


def pull(squad: Story, task: Task) -> str:
    return f"/repos/{task.repository}/pulls/{squad.agent(task).pull_request}"


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


def says(body: str, by: str = "maria") -> Callable[[Story, Task], object]:
    return lambda squad, task: squad.comment(task, body, by)


def reviews(**content: Any) -> Callable[[Story, Task], object]:
    return lambda squad, task: squad.does("maria", "POST", f"{pull(squad, task)}/reviews", content)


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
    "it is told to stop": Happening(ASKS, ASKING, says("/squadron stop"), [CANCELLED]),
    "it is told to wake": Happening(
        (*ASKS, *FIXES), ASKING, says("/squadron wake"), [AT_REVIEW], wakes=1
    ),
    "a stranger tells it to stop": Happening(ASKS, ASKING, says("/squadron stop", "tom"), [ASKING]),
    "it is told to go on": Happening(
        (runs("true"), runs("true"), *FIXES),
        PAUSED,
        says("/squadron raise max_tool_calls +9"),
        [AT_REVIEW],
        role="pauser",
        wakes=1,
    ),
    "it is resumed": Happening(
        (runs("true"), runs("true"), is_blocked("Enough?")),
        PAUSED,
        says("/squadron resume"),
        [ASKING],
        role="pauser",
        wakes=1,
    ),
    "a stopped one is tried again": Happening(
        (runs("true"),) * 4,  # the second one goes on where the first was stopped
        STOPPED,
        says("/squadron retry"),
        [STOPPED, STOPPED],
        role="stopper",
    ),
}


@pytest.mark.parametrize("how", TELLINGS)
@pytest.mark.parametrize("name", HAPPENINGS)
def test_it_ends_the_same_however_it_is_told(tmp_path: Path, name: str, how: str) -> None:
    it = HAPPENINGS[name]
    with story(tmp_path, {REPOSITORY: repository(ROLES)}) as squad:
        task = squad.give(it.role, "The answer is wrong", *it.steps)
        assert squad.state(task) == it.before
        first = squad.agent(task)
        with squad.telling(how):
            it.happens(squad, task)
        assert squad.states(task) == [*it.ends]
        woken = [event for event in squad.log(first.id) if isinstance(event, Woken)]
        assert len(woken) == it.wakes
        for words in it.says:
            assert squad.was_told(task, words)
