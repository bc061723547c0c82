"""What GitHub does not take is asked for until it does, and holds up nothing else (promise 11)."""

from datetime import datetime, timedelta

import pytest
import sqlalchemy as sa

from app.adapters.store.tables import EFFECTS
from app.core.agents.agent import EffectName, EffectState
from app.core.agents.lifecycle import State
from tests.stories.happening import FIXES, STOPPED
from tests.support.people import REPOSITORY, Task, repository
from tests.support.steps import is_blocked, waits_for
from tests.twins.story import PASS_SECONDS, Story, story

PLACES = {REPOSITORY: repository({"fixer": {}, "stopper": {"max_tool_calls": 1}})}
ISSUES = f"/repos/{REPOSITORY}/issues$"


def effect(squad: Story, task: Task, name: EffectName) -> EffectState:
    found = squad.run(squad.service.store.effects(squad.agent(task).id))
    return found[name].state


def test_what_could_not_be_written_for_two_days_is_written_as_soon_as_it_can_be() -> None:
    with story(PLACES) as squad:
        with squad.trouble(kind="error", method="POST|PATCH"):
            task = squad.give("stopper", "The answer is wrong", *FIXES)
            for _ in range(50):
                squad.passes(hours=1)
            assert squad.states(task) == [STOPPED]
            assert not squad.needs_human(task)
            assert len(squad.alerts("unwritten")) == 2, "once a day"
        squad.passes(hours=1)
        squad.stopped(task)


def test_what_could_not_be_written_in_an_outage_is_written_in_the_first_pass_after_it() -> None:
    with story(PLACES) as squad:
        waits = waits_for(squad.directory / "go", look_seconds=5)
        task = squad.issue("The answer is wrong", waits, *FIXES).by("stopper")
        squad.label(task, "squadron:stopper")
        squad.goes_on_for(400)
        assert squad.state(task) == (State.ACTIVE, None)
        with squad.trouble(kind="error"):
            (squad.directory / "go").touch()
            squad.passes(minutes=1)
            assert squad.states(task) == [STOPPED]
            for _ in range(12):
                squad.passes(hours=1)
            assert effect(squad, task, EffectName.ISSUE) is EffectState.WANTED
        squad.passes(seconds=PASS_SECONDS + 1)
        squad.stopped(task)


def test_a_check_that_github_cannot_write_holds_nothing_else_up() -> None:
    """Not even for the first time: what does not need it is written in the same breath."""
    with story(PLACES) as squad:
        with squad.trouble(kind="error", path="/check-runs", method="POST|PATCH"):
            task = squad.issue("The answer is wrong", *FIXES).by("stopper")
            squad.label(task, "squadron:stopper")
            squad.settle()
            [issue] = squad.needs_human(task)
            late = datetime.fromisoformat(issue["created_at"]) - squad.agent(task).updated_at
            assert late <= timedelta(seconds=1), "before any second try"
            assert "Circuit breaker" in squad.comments(task)[0]
        squad.passes(minutes=5)
        squad.stopped(task)


def test_a_limit_on_the_check_does_not_hold_the_needs_human_issue_back() -> None:
    with story(PLACES) as squad:
        limit = {"kind": "secondary_limit", "retry_after": 60}
        with squad.trouble(path="/check-runs", method="POST|PATCH", **limit):
            task = squad.give("stopper", "The answer is wrong", *FIXES)
            squad.passes(seconds=70)
            assert squad.needs_human(task), "told after the wait that GitHub asks for"
            assert effect(squad, task, EffectName.CHECK) is EffectState.WANTED
        squad.passes(minutes=5)
        squad.stopped(task)


@pytest.mark.parametrize("how", ["a day goes by", "the service starts", "a permission is given"])
def test_what_github_refuses_is_asked_for_again(how: str) -> None:
    with story(PLACES) as squad:
        refusal = {"kind": "error", "status": 403, "method": "POST", "path": ISSUES}
        with squad.trouble(**refusal):
            task = squad.give("stopper", "The answer is wrong", *FIXES)
            for _ in range(60):
                squad.passes(hours=1)
            assert effect(squad, task, EffectName.ISSUE) is EffectState.REFUSED
        if how == "a day goes by":
            squad.passes(hours=24)
        elif how == "the service starts":
            squad.stop()
            squad.start()
        else:
            squad.orders("installation", action="new_permissions_accepted")
        squad.settle()
        squad.stopped(task)


@pytest.mark.parametrize("status", [503, 403], ids=["away", "refused"])
def test_a_pull_request_that_nobody_wants_any_more_is_not_asked_for_for_ever(status: int) -> None:
    pulls = f"/repos/{REPOSITORY}/pulls$"
    with story(PLACES) as squad:
        with squad.trouble(kind="error", status=status, method="POST", path=pulls):
            task = squad.give("fixer", "The answer is wrong", *FIXES)
            squad.close(task)
            squad.settle()
            assert squad.states(task) == [(State.CANCELLED, None)]
            for _ in range(30):
                squad.passes(hours=1)
        assert squad.alerts("unwritten") == []
        passed = [vars(one) for one in squad.timeline.records if one.getMessage() == "reconciled"]
        assert passed[-1]["repairs"] == 0
        assert squad.run(squad.service.store.failing_effects()) == []


def test_a_publication_that_was_lost_is_made_up_for() -> None:
    """The work that was to write it is gone, and nothing says that it was written."""
    with story(PLACES) as squad:
        task = squad.give("fixer", "Paint it", is_blocked("Which colour?"))
        agent, comments = squad.agent(task).id, squad.comments(task)
        before = squad.run(squad.service.store.effects(agent))
        with squad.database.engine.begin() as connection:
            connection.execute(sa.delete(EFFECTS))
        squad.passes(minutes=10)
        assert squad.run(squad.service.store.effects(agent)).keys() == before.keys()
        assert len(squad.comments(task)) == len(comments), "what is there is found"
