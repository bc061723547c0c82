"""Whose it is: an agent that cannot go on says what is wrong, and blames nobody else for it."""

import pytest

from app.adapters.workspace import agent_directory
from app.core.agents.lifecycle import State
from app.core.agents.stops import Cause
from tests.stories.happening import ASKING, ASKS, AT_REVIEW, FIXES
from tests.support.people import REPOSITORY, repository
from tests.twins.story import story

PLACES = {REPOSITORY: repository({"fixer": {}})}


def test_a_conversation_that_is_damaged_is_no_failure_of_the_model() -> None:
    with story(PLACES) as squad:
        task = squad.give("fixer", "The answer is wrong", *ASKS, *FIXES)
        assert squad.states(task) == [ASKING]
        agent = str(squad.agent(task).id)
        [kept] = (agent_directory(squad.directory / "data", agent) / "session").glob("*.json")
        kept.write_text("{]")
        squad.comment(task, "Blue.")
        squad.settle()
        failure = squad.stopped(task).failure
        assert failure is not None and failure.cause is Cause.SESSION_DAMAGED
        assert "move it away to let the agent start a new one" in failure.reason


@pytest.mark.parametrize("defect", [ValueError("nobody's"), KeyError("x"), AssertionError("no")])
def test_a_defect_of_ours_is_a_death_that_is_told_as_ours(defect: Exception) -> None:
    with story(PLACES) as squad:
        squad.tolerates("as nobody has foreseen")
        task = squad.give("fixer", "The answer is wrong", *ASKS, *FIXES)
        squad.workspace.defect = defect
        squad.comment(task, "Blue.")
        squad.passes(minutes=3)
        failure, words = squad.stopped(task).failure, type(defect).__name__
        assert failure is not None and failure.cause is Cause.RUNTIME_DIED
        assert f"{words}, which nobody has foreseen" in failure.reason


def test_a_defect_that_passes_by_costs_one_attempt() -> None:
    with story(PLACES) as squad:
        squad.tolerates("a session failed as nobody has foreseen")
        squad.workspace.defect = ValueError("for a moment")
        task = squad.issue("The answer is wrong", *FIXES).by("fixer")
        squad.label(task, "squadron:fixer")
        squad.goes_on_for(60)
        squad.workspace.defect = None
        squad.passes(minutes=3)
        assert squad.states(task) == [AT_REVIEW]
        assert squad.agent(task).state is State.SLEEPING


def test_whose_work_cannot_be_kept_for_a_defect_of_ours_is_stopped_all_the_same() -> None:
    with story(PLACES, operator={"reconciliation_interval": 3_600}) as squad:
        squad.tolerates("as nobody has foreseen")
        task = squad.give("fixer", "The answer is wrong", *ASKS, *FIXES)
        squad.workspace.defect = ValueError("nobody's")
        squad.close(task)
        squad.settle()
        assert squad.agent(task).state is State.CANCELLED
        assert "Nothing was pushed: ValueError" in squad.comments(task)[0]
