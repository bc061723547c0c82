"""Every preset can do its kind of work: on a cheap model, and on a dear one unless the check of the
configuration says before what it takes."""

from dataclasses import replace
from typing import Final

import pytest

from app.config.operator import OperatorConfig
from app.config.repository import read_repository
from app.core.agents.events import ModelCalled, Waits
from app.core.agents.lifecycle import State
from app.core.limits.presets import PRESETS
from app.core.money import Price
from app.scripted.script import Answer
from tests.core.test_too_small import CHEAP, DEAR
from tests.support.people import REPOSITORY, repository
from tests.support.steps import commits, completes, runs, writes
from tests.twins.shell import TEST
from tests.twins.story import story

ANSWERED: Final = (writes("answer", "42\n"), runs(TEST), commits("Answer"))
WORK: Final = {
    "execution-leaf": (writes("answer", "42\n"),),
    "strategy-leaf": (runs("cat README.md"),),
    "execution-leaf-plus": (writes("answer", "42\n"),),
}
"""What those do that have few tokens: one tool call and a return; all others fix and test."""
MODEL: Final = "openai:scripted"


def large(answer: Answer) -> Answer:
    """As a request with its instruction and tools is billed."""
    return replace(answer, cache_read_tokens=2_000)


@pytest.mark.parametrize("price", [CHEAP, DEAR], ids=["cheap", "dear"])
@pytest.mark.parametrize("name", PRESETS)
def test_a_preset_finishes_its_kind_of_work_or_says_what_it_takes(name: str, price: Price) -> None:
    files = repository({"fixer": {"preset": name, "model": MODEL, "tests": "none"}})
    inside = {
        path.removeprefix(".squadron/"): text
        for path, text in files.items()
        if path.startswith(".squadron/")
    }
    reading = read_repository(inside, OperatorConfig(), price_of=lambda model: price)
    told = [each.message for each in reading.too_small if each.file.endswith("fixer.md")]
    if told:
        assert price is DEAR and name in ("execution-leaf", "strategy-leaf", "execution-leaf-plus")
        assert all("max_cost_usd" in words and "at least $0.16" in words for words in told)
        return
    operator = {
        "pricing": {"scripted": {"input": float(price.input), "output": float(price.output)}}
    }
    with story({REPOSITORY: files}, operator=operator) as squad:
        steps = [*WORK.get(name, ANSWERED), completes("It is 42.")]
        task = squad.give("fixer", "The answer is wrong", *map(large, steps))
        squad.settle()
        agent = squad.agent(task)
        assert agent.trip is None
        assert squad.state(task) in (
            (State.COMPLETED, None),
            (State.SLEEPING, Waits.REVIEW),
        ), squad.state(task)
        called = [each for each in squad.log(agent.id) if isinstance(each, ModelCalled)]
        assert len(called) == len(steps) and all(each.input_tokens > 2_000 for each in called)
