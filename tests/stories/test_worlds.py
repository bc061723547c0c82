"""Random worlds end the same whatever GitHub tells of them, and in whatever order (docs/design.md,
promise 10).

A world is lived through in three repositories at once. Of what people do GitHub tells in one of
them at once; in one of them each thing takes its own time, up to three passes, so that what was
done last may be told first, and some of it was found before; and of one GitHub tells nothing.

`SQUADRON_TEST_WORLDS_SEED=7` plays other worlds.
"""

import os
from collections.abc import Mapping, Sequence
from typing import Any, Final

import pytest

from tests.stories.happening import ROLES, labels
from tests.stories.worlds import (
    MOST_ISSUES,
    STANDING,
    THINKING_SECONDS,
    Act,
    World,
    end_of,
    imagined,
)
from tests.support.people import Task, repository
from tests.twins.story import PASS_SECONDS, Story, story

SEED: Final = int(os.environ.get("SQUADRON_TEST_WORLDS_SEED", "2026"))
QUICK: Final = 25
WORLDS: Final = [
    *range(QUICK),
    *(pytest.param(number, marks=pytest.mark.full) for number in range(QUICK, 500)),
]
TELLINGS: Final = ("told", "late", "untold")


def name_of(how: str) -> str:
    return f"octo/{how}"


def lived(squad: Story, world: World) -> Mapping[str, Sequence[Mapping[str, Any]]]:
    """Live through the world everywhere; how it ended for each issue, by the repository."""
    tasks: dict[str, list[Task]] = {}
    for how in TELLINGS:
        squad.issue("The plan", repository=name_of(how))
        tasks[how] = []
        for each in world.standing:
            it = STANDING[each]
            task = squad.issue("Wrong", *it.steps, repository=name_of(how)).by(it.role)
            tasks[how].append(task)
            if each != "is new":
                labels(squad, task)
    squad.settle()
    for how in TELLINGS:
        for each, task in zip(world.standing, tasks[how], strict=True):
            at = STANDING[each].at
            assert at is None or squad.states(task) == [at]
    for act in world.acts:
        for how in TELLINGS:
            with squad.trouble(**_fault(how, act)):
                act.does(squad, tasks[how][act.issue])
            squad.settle()
    for _ in range(4):
        squad.passes(seconds=PASS_SECONDS + 1)
    squad.passes(seconds=THINKING_SECONDS)
    squad.passes(seconds=PASS_SECONDS + 1)
    return {
        how: [
            end_of(squad, task, is_exact=is_exact, is_certain=is_certain)
            for task, is_exact, is_certain in zip(
                tasks[how], world.is_exact, world.is_certain, strict=True
            )
        ]
        for how in TELLINGS
    }


def _fault(how: str, act: Act) -> Mapping[str, Any]:
    match how:
        case "told":
            return {"kind": "late", "seconds": 0}
        case "late":
            return {"kind": "late", "seconds": act.delay_seconds}
        case _:
            return {"kind": "lost"}


@pytest.mark.parametrize("number", WORLDS)
def test_a_world_ends_the_same_whatever_is_told_of_it(number: int) -> None:
    world = imagined(f"{SEED} {number}")
    files = repository(ROLES)
    everybody = {"workers": {"agents": len(TELLINGS) * MOST_ISSUES}}
    with story({name_of(how): files for how in TELLINGS}, operator=everybody) as squad:
        ends = lived(squad, world)
        told = ends["told"]
        for how in TELLINGS[1:]:
            for issue, (one, other) in enumerate(zip(told, ends[how], strict=True)):
                acts = [act.what for act in world.acts if act.issue == issue]
                about = f"{how}: {world.standing[issue]}, then {acts}"
                assert other == one, about
