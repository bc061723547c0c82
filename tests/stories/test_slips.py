"""Commands that cannot be meant as they were typed, or cannot be obeyed: the answer tells what
helps."""

from typing import Final

from app.core.agents.events import Waits
from app.core.agents.lifecycle import State
from tests.stories.happening import AT_REVIEW, FIXES, PAUSED, STOPPED
from tests.support.people import REPOSITORY, Task, repository
from tests.support.steps import runs
from tests.twins.story import Story, story

ROLES: Final = {
    "pauser": {"max_tool_calls": 1, "on_limit": "pause"},
    "stopper": {"max_tool_calls": 1},
    "dear": {"max_tool_calls": 1, "max_cost_usd": 0.6},
}
BUDGETS: Final = {
    "budgets": [{"scope": "role", "name": "dear", "window": "day", "max_cost_usd": 0.6001}]
}
PRICES: Final = {"pricing": {"scripted": {"input": 1, "output": 0}}}
SPENDS: Final = (runs("true"), runs("true"))


def says(squad: Story, task: Task, line: str) -> str:
    """What is answered to a comment of one line; empty: nothing."""
    known = squad.comments(task)
    squad.comment(task, line)
    squad.settle()
    added = [each for each in squad.comments(task) if each not in known]
    return next((each for each in added if "<!-- squadron:answer:" in each), "")


def test_a_raise_by_very_much_is_asked_about_once() -> None:
    with story({REPOSITORY: repository(ROLES)}) as squad:
        task = squad.give("pauser", "The answer is wrong", *SPENDS, *FIXES)
        assert squad.state(task) == PAUSED
        answer = says(squad, task, "/squadron raise max_tool_calls +50")
        assert "50 tool calls is more than 10 times the agent's `max_tool_calls` of 1" in answer
        assert squad.state(task) == PAUSED
        assert "Did you mean `raise`?" in says(squad, task, "/squadron rase max_tool_calls +50")
        other = says(squad, task, "/squadron raise max_tool_calls +51")
        assert "more than 10 times" in other, "another amount is another slip"
        assert says(squad, task, "/squadron raise max_tool_calls +50") == ""
        assert squad.state(task) == AT_REVIEW


def test_ten_times_a_limit_is_not_asked_about() -> None:
    with story({REPOSITORY: repository(ROLES)}) as squad:
        task = squad.give("pauser", "The answer is wrong", *SPENDS, *FIXES)
        assert says(squad, task, "/squadron raise max_tool_calls +10") == ""
        assert squad.state(task) == AT_REVIEW


def test_a_retry_with_very_much_more_is_asked_about_once() -> None:
    with story({REPOSITORY: repository(ROLES)}) as squad:
        task = squad.give("stopper", "The answer is wrong", *SPENDS, *FIXES)
        assert squad.state(task) == STOPPED
        line = "/squadron retry raise max_tool_calls +99"
        assert "more than 10 times" in says(squad, task, line)
        assert squad.states(task) == [STOPPED]
        assert says(squad, task, line) == ""
        assert squad.states(task) == [STOPPED, AT_REVIEW]


def test_resume_of_a_stopped_agent_names_the_command_that_helps() -> None:
    with story({REPOSITORY: repository(ROLES)}) as squad:
        task = squad.give("stopper", "The answer is wrong", *SPENDS)
        answer = says(squad, task, "/squadron resume")
        helps = "/squadron retry stopper raise max_tool_calls +9"
        assert f"`/squadron retry stopper` on #{task.number}" in answer
        assert says(squad, task, helps) == ""
        assert len(squad.agents(task)) == 2


def test_a_retry_that_cannot_be_paid_for_names_the_budget() -> None:
    with story({REPOSITORY: repository(ROLES, BUDGETS)}, operator=PRICES) as squad:
        task = squad.give("dear", "The answer is wrong", *SPENDS)
        assert squad.state(task) == STOPPED
        answer = says(squad, task, "/squadron retry")
        assert f"No fresh `dear` has started on #{task.number} yet: the budget `role:" in answer
        assert "It starts by itself." in answer
        assert "closed" not in answer and "another one" not in answer


def test_a_retry_of_a_closed_issue_says_to_open_it() -> None:
    with story({REPOSITORY: repository(ROLES)}) as squad:
        task = squad.give("stopper", "The answer is wrong", *SPENDS)
        squad.does("maria", "PATCH", task.path, {"state": "closed"})
        squad.settle()
        answer = says(squad, task, "/squadron retry")
        assert f"the issue is closed. Open #{task.number}, and write this again." in answer
        assert squad.state(task) == (State.ESCALATED, None)
        assert squad.agent(task).waits_for is not Waits.RAISE
