"""Random worlds end the same whatever GitHub tells of them, and in whatever order (docs/design.md,
promise 10).

A world is lived through in three repositories at once. Of what people do GitHub tells in one of
them at once; in one of them each thing takes its own time, up to three passes, so that what was
done last may be told first, and some of it was found before; and of one GitHub tells nothing.

`SQUADRON_TEST_WORLDS_SEED=7` plays other worlds.
"""

import os
import random
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

import pytest

from app.core.agents.agent import EffectState
from app.core.agents.events import Woken
from app.scripted.script import Answer
from tests.stories.happening import (
    AGAIN,
    ASKING,
    ASKS,
    AT_REVIEW,
    BLOCKED,
    FIXES,
    PAUSED,
    ROLES,
    Does,
    Ends,
    fails_a_check,
    labels,
    reviews,
    says,
    takes_the_label_off,
)
from tests.support.people import Task, repository
from tests.support.steps import is_blocked, thinks
from tests.twins.story import PASS_SECONDS, Story, story

SEED: Final = int(os.environ.get("SQUADRON_TEST_WORLDS_SEED", "2026"))
QUICK: Final = 25
WORLDS: Final = [
    *range(QUICK),
    *(pytest.param(number, marks=pytest.mark.full) for number in range(QUICK, 500)),
]
TELLINGS: Final = ("told", "late", "untold")
THINKING_SECONDS: Final = 300
MOST_ISSUES: Final = 2
LATEST_SECONDS: Final = 3 * PASS_SECONDS


def rest(method: str, path: str, content: Any = None, by: str = "maria") -> Does:
    """One REST call about the issue."""
    return lambda squad, task: squad.does(by, method, f"{task.path}{path}", content)


def on_pull(method: str, path: str, content: Any = None) -> Does:
    """One REST call about its pull request."""

    def does(squad: Story, task: Task) -> object:
        number = squad.agents(task)[0].pull_request
        where = f"/repos/{task.repository}/pulls/{number}{path}"
        return squad.does("maria", method, where, content)

    return does


def closes_the_plan(squad: Story, task: Task) -> None:
    squad.close(Task(task.repository, 1, ""))


ENDS: Final[Mapping[str, Does]] = {
    "closes it": rest("PATCH", "", {"state": "closed"}),
    "takes the label off": takes_the_label_off,
    "says stop": says("/squadron stop"),
}
ENDS_PULL: Final[Mapping[str, Does]] = {
    "merges": on_pull("PUT", "/merge"),
    "refuses": on_pull("PATCH", "", {"state": "closed"}),
}
IDLE: Final[Mapping[str, Does]] = {
    "a stranger says something": says("Me, too!", "rita"),
    "a stranger says stop": says("/squadron stop", "rita"),
    "reopens what is open": rest("PATCH", "", {"state": "open"}),
    "sets a label of her own": rest("POST", "/labels", {"labels": ["good first issue"]}),
}


@dataclass(frozen=True, slots=True)
class Standing:
    """How far an agent has come before anything happens in a world, and what wakes it."""

    role: str
    steps: Sequence[Answer]
    at: Ends | None
    wakes: Mapping[str, Does]


STANDING: Final[Mapping[str, Standing]] = {
    "asks": Standing("fixer", (*ASKS, *FIXES), ASKING, {"answers": says("Blue.")}),
    "waits for the plan": Standing(
        "fixer",
        (is_blocked("There is no plan.", 1), *FIXES),
        BLOCKED,
        {"closes the plan": closes_the_plan, "wakes it": says("/squadron wake")},
    ),
    "is at review": Standing(
        "fixer",
        (*FIXES, *AGAIN),
        AT_REVIEW,
        {
            "asks for changes": reviews(event="REQUEST_CHANGES", body="Explain it."),
            "fails a check": fails_a_check,
        },
    ),
    "is paused": Standing(
        "pauser", FIXES, PAUSED, {"raises": says("/squadron raise max_tool_calls 9")}
    ),
    "works": Standing("fixer", (thinks(THINKING_SECONDS), *FIXES), None, {"speaks": says("Hm.")}),
    "is new": Standing("fixer", FIXES, None, {"labels": labels}),
}


@dataclass(frozen=True, slots=True)
class Act:
    issue: int
    what: str
    does: Does
    delay_seconds: int
    """How long GitHub takes to tell of it where it is late."""


@dataclass(frozen=True, slots=True)
class World:
    standing: Sequence[str]
    """Of each issue."""
    is_exact: Sequence[bool]
    """Whether an issue ends the same in every detail. Who was woken first, and ended then, did
    something in between where somebody told of it; and of two ends that a pass finds it names
    another one than who was told of the first."""
    is_certain: Sequence[bool]
    """Whether an issue has the same agents in the end, however these came there. Where nobody was
    told, one that was asked for and taken away before anybody looked never was."""
    acts: Sequence[Act]


def imagined(number: int) -> World:
    """A world by its number.

    Two things are left out. Nobody says stop and merges: words are heard when they are told or
    found, whatever has happened since. And nobody says stop to whom the label has just asked for:
    a stop that is told before the label finds no agent there, and is answered so.
    """
    dice = random.Random(f"{SEED} {number}")
    standing = [dice.choice([*STANDING]) for _ in range(dice.randint(1, MOST_ISSUES))]
    if "waits for the plan" in standing:  # there is one plan
        others = [each for each in standing if each != "waits for the plan"]
        standing = [*others, "waits for the plan"]
    acts, exact, certain = list[list[tuple[str, Does]]](), list[bool](), list[bool]()
    for each in standing:
        has_begun = each != "is new"
        wakes = [dice.choice([*STANDING[each].wakes.items()])] if dice.random() < 0.5 else []
        may_end = {**ENDS, **(ENDS_PULL if each == "is at review" else {})}
        ends = dice.sample([*may_end.items()], dice.choice((0, 1, 1, 2, 3)))
        if not has_begun:
            ends = [(name, does) for name, does in ends if name != "says stop"]
        names = [name for name, _ in ends]
        if {"refuses", "says stop"} & {*names}:  # what is closed cannot be merged
            ends = [(name, does) for name, does in ends if name != "merges"]
        if not has_begun and not wakes:
            ends = [(name, does) for name, does in ends if name == "closes it"]
        idle = dice.sample([*IDLE.items()], dice.choice((0, 0, 1, 2)))
        if any(name == "closes it" or name == "merges" for name, _ in ends):
            idle = [(name, does) for name, does in idle if "reopens" not in name]
        acts.append(_mixed(dice, wakes + ends, idle))
        exact.append(len(wakes + ends) <= 1)
        certain.append(has_begun or not ends)
    order = [issue for issue, its in enumerate(acts) for _ in its]
    dice.shuffle(order)
    left = [[*its] for its in acts]
    done = list[Act]()
    for issue in order:
        what, does = left[issue].pop(0)
        done.append(Act(issue, what, does, dice.randrange(LATEST_SECONDS)))
    return World(standing, exact, certain, done)


def _mixed(
    dice: random.Random, first: list[tuple[str, Does]], others: list[tuple[str, Does]]
) -> list[tuple[str, Does]]:
    """Both, each in its order."""
    mixed = [*first]
    for each in others:
        mixed.insert(dice.randint(0, len(mixed)), each)
    return mixed


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
            _end(squad, task, is_exact=is_exact, is_certain=is_certain)
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


def _end(squad: Story, task: Task, *, is_exact: bool, is_certain: bool) -> Mapping[str, Any]:
    agents = squad.agents(task)
    effects = [squad.run(squad.service.store.effects(each.id)) for each in agents]
    end: dict[str, Any] = {
        "live": [(each.state, each.waits_for) for each in agents if not each.is_final],
        "outstanding": [
            (effect.name, effect.state)
            for its in effects
            for effect in its.values()
            if effect.state is not EffectState.DONE
        ],
        "asks": len(squad.needs_human(task)),
    }
    if is_certain:
        end["ended"] = [(each.state, each.waits_for) for each in agents]
    if is_exact:
        logs = [squad.log(each.id) for each in agents]
        end["woken"] = [sum(isinstance(one, Woken) for one in log) for log in logs]
        end["effects"] = [sorted(its) for its in effects]
        end["said"] = [_beginning(words) for words in squad.comments(task)]
    return end


def _beginning(words: str) -> str:
    """The first line that people see, without what numbers one thing and not another."""
    first, *_ = (line for line in words.splitlines() if line and not line.startswith("<!--"))
    return re.sub(r"#\d+", "#…", first)


@pytest.mark.parametrize("number", WORLDS)
def test_a_world_ends_the_same_whatever_is_told_of_it(number: int) -> None:
    world = imagined(number)
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
