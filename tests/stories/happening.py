"""A happening: an agent that has come so far, what somebody does then, and how all ends.

It ends the same however GitHub tells of it (docs/design.md, promise 10).
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

import pytest

from app.core.agents.events import Waits, Woken
from app.core.agents.lifecycle import State
from app.scripted.script import Answer, ComputedStep, Step
from tests.support.people import REPOSITORY, Task, repository
from tests.support.steps import commits, completes, is_blocked, runs, waits_for, writes
from tests.twins.shell import TEST
from tests.twins.story import Story, story

ROLES: Final[Mapping[str, Mapping[str, Any]]] = {
    "fixer": {},
    "pauser": {"max_tool_calls": 1, "on_limit": "pause"},
    "stopper": {"max_tool_calls": 1},
    "sleeper": {"max_sleep_duration": 3_600},
    "dear": {"max_cost_usd": 0.6},
}
ASKS: Final = (is_blocked("Which colour?"),)
FIXES: Final = (writes("answer", "42\n"), runs(TEST), commits("Answer"), completes("It is 42."))
AGAIN: Final = (writes("more", "more\n"), runs(TEST), commits("More"), completes("And more."))
AT_REVIEW, ASKING = (State.SLEEPING, Waits.REVIEW), (State.SLEEPING, Waits.ANSWER)
BLOCKED, PAUSED = (State.SLEEPING, Waits.BLOCKER), (State.PAUSED, Waits.RAISE)
CANCELLED, COMPLETED = (State.CANCELLED, None), (State.COMPLETED, None)
STOPPED = (State.ESCALATED, None)

TOLD: Final = (
    "told",
    "untold",
    "late",
    *(pytest.param(how, marks=pytest.mark.full) for how in ("doubled", "told in vain")),
)
"""How GitHub tells of a happening, see `tests.twins.story.TELLINGS`: all of them in `make full`."""

Ends = tuple[State, Waits | None]
Does = Callable[[Story, Task], object]


def nothing(squad: Story, task: Task) -> None:
    """All has happened."""


@dataclass(frozen=True, slots=True)
class Happening:
    """An agent that has come so far, and what somebody does then."""

    steps: Sequence[Answer]
    before: Ends | None
    """Where the agent is; None: there is none, the issue has no label yet."""
    happens: Does
    ends: Sequence[Ends]
    """Where all agents of the task are in the end."""
    role: str = "fixer"
    wakes: int = 0
    """How often the first of them was woken by then."""
    says: Sequence[str] = ()
    """What the agent was told."""
    comments: int | None = None
    """How many our App has written on the issue in the end; None: that is another story's."""
    first: Does = nothing
    """What goes before."""
    then: Does = nothing
    """What happens once that was heard of."""


def tell(it: Happening, how: str, **about: Any) -> None:
    """The story of it. `about`: further arguments of `story`."""
    with story({REPOSITORY: repository(ROLES, about.pop("config", None))}, **about) as squad:
        task = squad.issue("The answer is wrong", *it.steps).by(it.role)
        it.first(squad, task)
        if it.before is not None:
            squad.label(task, f"squadron:{it.role}")
            squad.settle()
            assert squad.state(task) == it.before
        else:
            assert squad.agents(task) == []
        with squad.telling(how):
            it.happens(squad, task)
        it.then(squad, task)
        squad.settle()
        assert squad.states(task) == [*it.ends]
        if it.ends:
            log = squad.log(squad.agents(task)[0].id)
            assert sum(isinstance(event, Woken) for event in log) == it.wakes
        for words in it.says:
            assert squad.was_told(task, words)
        assert it.comments in (None, len(squad.comments(task)))


def pull(squad: Story, task: Task) -> str:
    """Its pull request, in REST."""
    every = squad.sees(f"/repos/{task.repository}/pulls?state=all")
    [number] = [
        each["number"] for each in every if f"Fixes #{task.number}" in each["body"].split("\n")
    ]
    return f"/repos/{task.repository}/pulls/{number}"


def labels(squad: Story, task: Task) -> None:
    """Maria labels the issue for the role."""
    squad.label(task, f"squadron:{task.role}")


def says(body: str, by: str = "maria") -> Does:
    """Somebody comments on the issue."""
    return lambda squad, task: squad.comment(task, body, by)


def at_work(squad: Story, *steps: Step | ComputedStep) -> Task:
    """A fixer in the middle of a command that runs until somebody touches `go`; `steps` follow, or
    what a fixer does."""
    waits = waits_for(squad.directory / "go", look_seconds=5)
    task = squad.issue("The answer is wrong", waits, *(steps or FIXES)).by("fixer")
    squad.label(task, "squadron:fixer")
    squad.goes_on_for(400)
    assert squad.states(task) == [(State.ACTIVE, None)]
    return task


def reviews(**content: Any) -> Does:
    """Maria reviews the pull request."""
    return lambda squad, task: squad.does("maria", "POST", f"{pull(squad, task)}/reviews", content)


def fails_a_check(squad: Story, task: Task) -> None:
    """A check of another App fails on the head of the agent's branch."""
    squad.orders(
        "foreign_check",
        repository=task.repository,
        ref=task.branch,
        name="links",
        conclusion="failure",
        title="2 broken",
        summary="README.md: /x",
    )


def takes_the_label_off(squad: Story, task: Task) -> None:
    """Maria takes the label off that started the agent."""
    squad.does("maria", "DELETE", f"{task.path}/labels/squadron:{task.role}")
