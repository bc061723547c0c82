"""Work is taken away at any moment: whatever the agent does just then, it ends once."""

import pytest

from tests.stories.happening import CANCELLED, FIXES
from tests.support.people import REPOSITORY, repository
from tests.twins.story import story


@pytest.mark.parametrize("turns", range(10, 400, 30))
def test_whose_label_is_taken_off_is_cancelled_wherever_it_is(turns: int) -> None:
    with story({REPOSITORY: repository({"fixer": {}})}) as squad:
        task = squad.issue("The answer is wrong", *FIXES).by("fixer")
        squad.label(task, "squadron:fixer")
        squad.goes_on_for(turns)
        squad.does("maria", "DELETE", f"{task.path}/labels/squadron:fixer")
        squad.settle()
        squad.passes(minutes=2)
        assert squad.states(task) in ([CANCELLED], [])
        assert len(squad.comments(task)) == len(squad.states(task))
        assert squad.needs_human(task) == []
