"""What ended agents leave is deleted where it lies: each worker tidies its own directory."""

from datetime import timedelta

from app.core.agents.lifecycle import State
from tests.stories.happening import ASKING, AT_REVIEW, FIXES, ROLES
from tests.support.people import REPOSITORY, repository
from tests.support.steps import is_blocked, says
from tests.twins.story import Story, story

PLACES = {REPOSITORY: repository(ROLES)}


def tidied(squad: Story) -> int:
    """How often, whoever did it."""
    return squad.workspace.calls.count("note_tidied")


def test_each_directory_is_tidied_once_a_day_at_a_start_if_that_is_due() -> None:
    with story(PLACES) as squad:
        assert tidied(squad) == 1
        squad.restart()
        squad.passes(hours=5)
        assert tidied(squad) == 1
        squad.passes(hours=20)
        assert tidied(squad) == 2
        squad.moves_to("another")
        squad.settle()
        assert tidied(squad) == 3, "whatever others have tidied today"
        squad.restart()
        squad.settle()
        assert tidied(squad) == 3
        squad.kill()
        squad.clock.set_by(-timedelta(days=30))
        squad.start()
        squad.settle()
        assert tidied(squad) == 4, "a clock that was set back stops nothing"


def test_what_could_not_be_tidied_since_the_database_was_away_is_tidied_within_the_hour() -> None:
    with story(PLACES) as squad:
        squad.tolerates("database is locked")
        task = squad.give("fixer", "Fix it", *FIXES)
        squad.merge(task)
        squad.settle()
        squad.passes(days=6, hours=23)
        name = str(squad.agent(task).id)
        with squad.without("database"):
            squad.clock.turn(timedelta(days=1))
            squad.goes_on_for(400)
            assert f"remove {name}" not in squad.workspace.calls
        squad.passes(hours=1)
        assert squad.workspace.calls.count(f"remove {name}") == 1


def test_a_clone_is_deleted_a_week_after_the_end_by_the_worker_whose_it_is() -> None:
    with story(PLACES) as squad:
        task = squad.give("fixer", "Fix it", *FIXES)
        squad.merge(task)
        squad.settle()
        name = str(squad.agent(task).id)
        assert squad.agent(task).state is State.COMPLETED
        squad.passes(days=6)
        assert f"remove {name}" not in squad.workspace.calls
        squad.moves_to("another")
        squad.passes(days=2)
        assert f"remove {name}" not in squad.workspace.calls, "it is not there"
        squad.moves_to("first")
        squad.settle()
        assert squad.workspace.calls.count(f"remove {name}") == 1
        assert f"forget_session {name}" not in squad.workspace.calls
        squad.passes(days=23)
        assert f"forget_session {name}" in squad.workspace.calls


def test_what_an_agent_left_behind_that_went_on_elsewhere_is_deleted_a_week_later() -> None:
    with story(PLACES) as squad:
        squad.tolerates("has not moved")
        asks = (says("Hm."), is_blocked("Which colour?"))
        task = squad.give("fixer", "Paint it", *asks, *FIXES)
        assert squad.states(task) == [ASKING]
        squad.moves_to("another")
        squad.comment(task, "Blue.")
        squad.settle()
        assert squad.states(task) == [AT_REVIEW]
        name = str(squad.agent(task).id)
        squad.moves_to("first")
        squad.passes(days=2)
        before = squad.workspace.calls.count(f"discard {name}")
        squad.passes(days=6)
        assert squad.workspace.calls.count(f"discard {name}") == before + 1
        squad.moves_to("another")
        squad.passes(days=1)
        assert squad.workspace.calls.count(f"discard {name}") == before + 1, "it counts there"
