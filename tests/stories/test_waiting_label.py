"""An issue has a label while somebody has to answer one of its agents (docs/design.md, 14)."""

from typing import Any, Final

import pytest

from app.core.agents.agent import EffectName, EffectState
from tests.stories.happening import ASKING, ASKS, AT_REVIEW, FIXES, PAUSED
from tests.support.people import REPOSITORY, Task, repository
from tests.support.steps import is_blocked, runs
from tests.twins.story import Story, story

ROLES: Final = {"fixer": {}, "other": {}, "pauser": {"max_tool_calls": 1, "on_limit": "pause"}}


def held(config: dict[str, Any] | None = None) -> dict[str, dict[str, str]]:
    return {REPOSITORY: repository(ROLES, config)}


def labels(squad: Story, task: Task) -> list[str]:
    """Those that no person has set."""
    found = [label["name"] for label in squad.sees(task.path)["labels"]]
    return [name for name in found if not name.startswith("squadron:")]


def test_it_is_there_from_the_question_to_the_answer_each_time() -> None:
    with story(held()) as squad:
        task = squad.give("fixer", "Which?", *ASKS, is_blocked("Which blue?"), *FIXES)
        assert squad.states(task) == [ASKING]
        assert labels(squad, task) == ["needs-answer"]
        squad.comment(task, "Blue.")
        squad.settle()
        assert squad.states(task) == [ASKING]
        assert labels(squad, task) == ["needs-answer"]
        squad.comment(task, "Sky blue.")
        squad.settle()
        assert squad.states(task) == [AT_REVIEW]
        assert labels(squad, task) == []


def test_it_is_there_while_an_agent_is_paused_and_not_once_it_is_stopped() -> None:
    with story(held()) as squad:
        task = squad.give("pauser", "Much to do", runs("true"), runs("ls"))
        assert squad.states(task) == [PAUSED]
        assert labels(squad, task) == ["needs-answer"]
        squad.passes(hours=25)
        squad.stopped(task)
        assert labels(squad, task) == []


def test_it_stays_until_no_agent_of_the_issue_waits() -> None:
    with story(held()) as squad:
        task = squad.give("fixer", "Which?", *ASKS)
        squad.label(task, "squadron:other")
        squad.settle()
        assert squad.states(task.by("other")) == [ASKING]
        squad.comment(task, "/squadron stop fixer")
        squad.settle()
        assert labels(squad, task) == ["needs-answer"]
        squad.comment(task, "/squadron stop other")
        squad.settle()
        assert labels(squad, task) == []


def test_who_takes_it_off_is_right() -> None:
    with story(held()) as squad:
        task = squad.give("fixer", "Which?", *ASKS, *FIXES)
        squad.does("maria", "DELETE", f"{task.path}/labels/needs-answer")
        squad.passes(minutes=10)
        assert labels(squad, task) == []
        squad.comment(task, "Blue.")
        squad.settle()
        assert squad.states(task) == [AT_REVIEW]
        effects = squad.run(squad.service.store.effects(squad.agent(task).id))
        assert effects[EffectName.LABEL].state is EffectState.DONE


@pytest.mark.parametrize(
    ("said", "expected"), [(None, []), ("Input wanted, please", ["Input wanted, please"])]
)
def test_the_repository_says_which_or_none(said: str | None, expected: list[str]) -> None:
    with story(held({"escalation": {"waiting_label": said}})) as squad:
        task = squad.give("fixer", "Which?", *ASKS, *FIXES)
        assert labels(squad, task) == expected
        squad.comment(task, "Blue.")
        squad.settle()
        assert squad.states(task) == [AT_REVIEW] and labels(squad, task) == []


def test_it_is_set_though_github_is_in_trouble_for_a_while() -> None:
    with story(held()) as squad:
        task = squad.issue("Which?", *ASKS).by("fixer")
        squad.label(task, "squadron:fixer")
        with squad.trouble(kind="error", method="POST", path=r"/issues/\d+/labels$", count=1):
            squad.settle()
            squad.passes(minutes=2)
            assert squad.has_struck()
        assert labels(squad, task) == ["needs-answer"]
