"""A killed process loses nobody and nothing, wherever it was (docs/design.md, promise 2)."""

import pytest

from app.core.agents.events import Waits
from app.core.agents.lifecycle import State
from tests.support.people import REPOSITORY, repository
from tests.support.steps import commits, completes, runs, writes
from tests.twins.shell import TEST
from tests.twins.story import story

WRITES, COMPLETES = writes("answer", "42\n"), completes("It is 42.")
FIXES = (WRITES, WRITES, runs(TEST), commits("Answer"), COMPLETES, COMPLETES)
"""Twice what a model does again that is told that its tool was cut off."""


@pytest.mark.parametrize("turns", range(5, 400, 25))
def test_work_that_is_cut_off_goes_on_and_nothing_is_said_twice(turns: int) -> None:
    with story({REPOSITORY: repository({"fixer": {}})}) as squad:
        task = squad.issue("The answer is wrong", *FIXES).by("fixer")
        squad.label(task, "squadron:fixer")
        squad.dies_after(turns)
        squad.settle()
        squad.passes(minutes=2)
        assert squad.states(task) == [(State.SLEEPING, Waits.REVIEW)]
        comments = squad.sees(f"{task.path}/comments")
        assert len(comments) == 1 and "handed its work over as #2" in comments[0]["body"]
        pulls = squad.sees(f"/repos/{REPOSITORY}/pulls")
        assert [one["number"] for one in pulls] == [2]
