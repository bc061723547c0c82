"""Random worlds: issues whose agents have come so far, what people do there, and how all ends."""

import random
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from app.core.agents.agent import EffectName, EffectState
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
    Does,
    Ends,
    fails_a_check,
    labels,
    pull,
    reviews,
    says,
    takes_the_label_off,
)
from tests.support.people import Task
from tests.support.steps import is_blocked, thinks
from tests.twins.story import PASS_SECONDS, Story

THINKING_SECONDS: Final = 300
MOST_ISSUES: Final = 2
LATEST_SECONDS: Final = 3 * PASS_SECONDS


def rest(method: str, path: str, content: Any = None, by: str = "maria") -> Does:
    """One REST call about the issue."""
    return lambda squad, task: squad.does(by, method, f"{task.path}{path}", content)


def on_pull(method: str, path: str, content: Any = None) -> Does:
    """One REST call about its pull request."""

    return lambda squad, task: squad.does("maria", method, f"{pull(squad, task)}{path}", content)


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
        "pauser", FIXES, PAUSED, {"raises": says("/squadron raise max_tool_calls +9")}
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


def imagined(seed: str) -> World:
    """A world by its seed.

    One thing is left out. Nobody says stop and merges: words are heard when they are told or
    found, whatever has happened since.
    """
    dice = random.Random(seed)
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


def end_of(squad: Story, task: Task, *, is_exact: bool, is_certain: bool) -> Mapping[str, Any]:
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
        end["effects"] = [sorted({*its} - {EffectName.WORK}) for its in effects]  # a push made up
        end["said"] = [_beginning(words) for words in squad.comments(task)]
    return end


def _beginning(words: str) -> str:
    """The first line that people see, without what numbers one thing and not another."""
    first, *_ = (line for line in words.splitlines() if line and not line.startswith("<!--"))
    return re.sub(r"#\d+|\(http\S+\)", "…", first)
