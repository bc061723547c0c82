"""Work that goes well."""

from app.core.agents.events import Waits
from app.core.agents.lifecycle import State
from tests.support.people import REPOSITORY, repository
from tests.support.steps import commits, completes, runs, writes
from tests.twins.shell import TEST
from tests.twins.story import story


def test_a_fix_is_handed_over_and_merged() -> None:
    with story({REPOSITORY: repository({"fixer": {}})}) as squad:
        steps = writes("answer", "42\n"), runs(TEST), commits("Answer"), completes("It is 42.")
        task = squad.give("fixer", "The answer is wrong", *steps)
        assert squad.state(task) == (State.SLEEPING, Waits.REVIEW)
        squad.merge(task)
        squad.settle()
        assert squad.state(task) == (State.COMPLETED, None)
        assert squad.sees(f"/repos/{REPOSITORY}/contents/answer")["size"] == 3
