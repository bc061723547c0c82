"""A world in which something is away for a while, and GitHub tells of one thing late or never, ends
as it ends without that (docs/design.md, promises 10 and 11).

Git, GitHub's REST interface, the database or the model's provider is away for one second to six
hours, from a random moment on: before or after something that people do, or in the middle of what
follows from it. Agents, effects and what people read are the same in the end; commits, instants and
how often anything was tried are not looked at.

`SQUADRON_TEST_CAMPAIGN_SEED=7` plays another campaign.
"""

import os
import random
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from datetime import timedelta
from typing import Any, Final

import pytest

from app.core.agents.agent import EffectState
from tests.stories.happening import ROLES, labels
from tests.stories.worlds import STANDING, THINKING_SECONDS, World, end_of, imagined
from tests.support.people import REPOSITORY, Task, repository
from tests.twins.story import OUTAGES, PASS_SECONDS, Outage, Story, story

SEED: Final = int(os.environ.get("SQUADRON_TEST_CAMPAIGN_SEED", "2026"))
QUICK: Final = 25
CAMPAIGN: Final = [
    *range(QUICK),
    *(pytest.param(number, marks=pytest.mark.full) for number in range(QUICK, 500)),
]
LONGEST_SECONDS: Final = 6 * 3_600
LATEST_SECONDS: Final = 3 * PASS_SECONDS
MOST_TURNS: Final = 300
"""Of the loop, in the middle of what follows from something."""
SELDOM: Final[Mapping[str, Any]] = {"reconciliation_interval": 5 * PASS_SECONDS}
STEP_SECONDS: Final = 2 * PASS_SECONDS
"""How much of the time goes by at once: no jump may pass for a hang."""
GOES_ON_SECONDS: Final = 2 * 3_600
"""How long after the last thing everything is done: nothing is tried again later than an hour."""
PATIENT: Final[Mapping[str, Mapping[str, Any]]] = {
    name: {**keys, "max_sleep_duration": 864_000} for name, keys in ROLES.items()
}


@dataclass(frozen=True, slots=True)
class Adversity:
    """What is away in a world, from when on, and of what GitHub does not tell at once."""

    what: Outage
    seconds: float
    stage: int
    """What people do then: 0, they label the issues; from 1 on, one of the acts."""
    turns: int | None
    """How far that has got when the outage begins; None: it begins before."""
    acts_within: int
    """How many acts go by until it is over."""
    untold: int
    """Of what people do at that stage GitHub does not tell at once."""
    late_seconds: int | None
    """How late GitHub tells of it; None: never."""


def adversity(seed: str, acts: int) -> Adversity:
    """An adversity by its seed.

    The database is not taken away in the middle of first segments: a script loses the step whose
    answer was not written down (a model is asked for it again), and then the world never stands.
    """
    dice = random.Random(seed)
    stage, what = dice.randint(0, acts), dice.choice(OUTAGES)
    seconds, turns = (
        LONGEST_SECONDS ** dice.random(),
        dice.choice([None, dice.randrange(MOST_TURNS)]),
    )
    return Adversity(
        what=what,
        seconds=seconds,
        stage=stage,
        turns=None if what == "database" and not stage else turns,
        acts_within=dice.randint(0, acts - stage) if stage else 0,
        untold=dice.randint(0, acts),
        late_seconds=dice.choice([None, dice.randrange(LATEST_SECONDS)]),
    )


@contextmanager
def told(squad: Story, stage: int, adverse: Adversity | None) -> Iterator[None]:
    """GitHub tells of what people do at this stage, at once, late or never."""
    if adverse is None or stage != adverse.untold:
        yield
    elif adverse.late_seconds is None:
        with squad.trouble(kind="lost"):
            yield
    else:
        with squad.trouble(kind="late", seconds=adverse.late_seconds):
            yield


def goes_by(squad: Story, seconds: float) -> None:
    """So much time. Nothing is asked of the service meanwhile: it may not be able to answer."""
    left = timedelta(seconds=seconds)
    while left > timedelta():
        squad.loop.run_until_quiet()
        step = min(left, timedelta(seconds=STEP_SECONDS))
        squad.clock.turn(step)
        left -= step
    squad.loop.run_until_quiet()


def stands(squad: Story, world: World, tasks: Sequence[Task]) -> bool:
    """Whether every agent has come as far as the world says; people wait for that."""
    for each, task in zip(world.standing, tasks, strict=True):
        states = squad.states(task)
        if each == "is new":
            continue
        if len(states) != 1 or STANDING[each].at not in (None, *states):
            return False
        effects = squad.run(squad.service.store.effects(squad.agent(task).id))
        if any(effect.state is not EffectState.DONE for effect in effects.values()):
            return False  # people do not see it so yet
    return True


def lived(world: World, adverse: Adversity | None) -> Sequence[Mapping[str, Any]]:
    """Live through the world; how it ended for each issue."""
    with story({REPOSITORY: repository(PATIENT)}, operator=SELDOM) as squad, ExitStack() as away:
        for words in ("is away", "database is locked", "GitHub does not answer"):
            squad.tolerates(words)
        squad.issue("The plan")
        tasks = [
            squad.issue("Wrong", *STANDING[each].steps).by(STANDING[each].role)
            for each in world.standing
        ]
        squad.settle()
        is_away, left = False, 0.0

        def begins(stage: int, turns: int | None) -> None:
            nonlocal is_away, left
            if adverse is None or (stage, turns is None) != (adverse.stage, adverse.turns is None):
                return
            if turns is not None:
                squad.goes_on_for(turns)
            away.enter_context(squad.without(adverse.what))
            is_away, left = True, adverse.seconds

        def goes_on(acts_left: int) -> None:
            nonlocal is_away, left
            if not is_away:
                squad.settle()
                return
            part = left / (acts_left + 1)
            goes_by(squad, part)
            left -= part
            if not acts_left:
                away.close()
                is_away = False
                goes_by(squad, PASS_SECONDS + 1)

        def stage(number: int) -> None:
            begins(number, None)
            with told(squad, number, adverse):
                if number:
                    act = world.acts[number - 1]
                    act.does(squad, tasks[act.issue])
                else:
                    for each, task in zip(world.standing, tasks, strict=True):
                        if each != "is new":
                            labels(squad, task)
            begins(number, adverse.turns if adverse else None)
            goes_on(adverse.stage + adverse.acts_within - number if adverse else 0)

        stage(0)
        for _ in range(GOES_ON_SECONDS // PASS_SECONDS):
            if stands(squad, world, tasks):
                break
            goes_by(squad, PASS_SECONDS + 1)
            squad.settle()
        assert stands(squad, world, tasks), [squad.states(task) for task in tasks]
        for number in range(1, len(world.acts) + 1):
            stage(number)
        goes_by(squad, THINKING_SECONDS if adverse is None else GOES_ON_SECONDS)
        goes_by(squad, 2 * STEP_SECONDS)
        squad.settle()
        exact = [  # how far one at work comes depends on how long something was away
            is_exact and each != "works"
            for each, is_exact in zip(world.standing, world.is_exact, strict=True)
        ]
        return [
            end_of(squad, task, is_exact=is_exact, is_certain=is_certain)
            for task, is_exact, is_certain in zip(tasks, exact, world.is_certain, strict=True)
        ]


@pytest.mark.parametrize("number", CAMPAIGN)
def test_a_world_ends_the_same_whatever_is_away_for_a_while(number: int) -> None:
    seed = f"{SEED} {number}"
    world = imagined(seed)
    adverse = adversity(f"away {seed}", len(world.acts))
    about = f"seed {seed}: {world.standing}, {[act.what for act in world.acts]}, {adverse}"
    assert lived(world, adverse) == lived(world, None), about
