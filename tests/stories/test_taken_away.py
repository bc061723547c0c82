"""Work is taken away at any moment: whatever the agent does just then, it ends once."""

import pytest

from tests.stories.happening import AT_REVIEW, CANCELLED, COMPLETED, FIXES, TOLD, pull
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


@pytest.mark.parametrize("how", TOLD)
def test_of_a_label_that_goes_and_a_merge_the_first_counts(how: str) -> None:
    """GitHub closes the issue with the merge, so that whoever looks later sees all three."""
    for takes_it_off_first, ends in ((True, CANCELLED), (False, COMPLETED)):
        with story({REPOSITORY: repository({"fixer": {}})}) as squad:
            task = squad.give("fixer", "The answer is wrong", *FIXES)
            assert squad.states(task) == [AT_REVIEW]
            merge = ("maria", "PUT", f"{pull(squad, task)}/merge")
            takes_it_off = ("maria", "DELETE", f"{task.path}/labels/squadron:fixer")
            with squad.telling(how):
                for act in (takes_it_off, merge) if takes_it_off_first else (merge, takes_it_off):
                    squad.does(*act)
            assert squad.sees(task.path)["state"] == "closed"
            assert squad.states(task) == [ends]
