"""Who has to act is called where they look (docs/design.md, promise 14)."""

from typing import Any, Final

import pytest

from app.core.agents.lifecycle import State
from app.scripted.script import Answer
from tests.stories.happening import ASKING, ASKS, AT_REVIEW, FIXES, PAUSED
from tests.support.people import REPOSITORY, Task, repository
from tests.support.steps import is_blocked, runs, says
from tests.twins.story import Story, story

PAUSES: Final = {"max_tool_calls": 1, "on_limit": "pause"}
ROLES: Final = {
    "fixer": {},
    "pauser": PAUSES,
    "patient": {**PAUSES, "max_sleep_duration": 3 * 86_400},
    "wisher": {"max_tool_calls": 1, "on_limit": "request_increase"},
}
MENTION: Final = {"escalation": {"mention": ["@octo/leads", "@Maria"]}}


def given(squad: Story, *steps: Answer, role: str = "fixer") -> Task:
    return squad.give(role, "The answer is wrong", *steps)


def held(config: dict[str, Any] | None = None) -> dict[str, dict[str, str]]:
    return {REPOSITORY: repository(ROLES, config)}


def words(call: Any) -> list[str]:
    """The paragraphs of a call, without its mark."""
    return [*str(call["body"]).split("\n\n")][1:]


def test_a_pause_calls_who_started_it_with_the_line_to_write_and_the_deadline() -> None:
    with story(held()) as squad:
        task = given(squad, runs("true"), runs("ls"), *FIXES, role="pauser")
        assert squad.states(task) == [PAUSED]
        [call] = squad.calls(task)
        head, line, command, grants, otherwise, *_ = words(call)
        assert head == (
            "[squadron:pauser] @maria this agent is paused: max_tool_calls reached: 1 of 1 tool"
            " calls."
        )
        assert line == (
            "To let the agent go on, write this line in a comment here by **2026-03-02 12:00 UTC**"
            " (within 24 hours):"
        )
        assert command == "```\n/squadron resume pauser\n```"
        assert grants.startswith("That grants 1 tool call more.")
        assert otherwise.endswith("Otherwise Squadron stops the agent for good then.")
        assert squad.checks(task)[0]["conclusion"] == "action_required"
        [comment] = squad.comments(task)
        assert f"[what it asks of you]({call['html_url']})" in comment
        squad.comment(task, "/squadron raise max_tool_calls +5")
        squad.settle()
        assert squad.states(task) == [AT_REVIEW]
        [over] = squad.calls(task)
        assert over["id"] == call["id"]
        assert "has to answer any more." in over["body"] and "```" not in over["body"]
        assert call["html_url"] not in squad.comments(task)[0]


def test_what_asks_for_an_amount_is_answered_with_that_amount() -> None:
    with story(held()) as squad:
        task = given(squad, runs("true"), *FIXES, role="wisher")
        [call] = squad.calls(task)
        assert "**The agent asks for 1 tool call more.**" in call["body"]
        assert "`/squadron raise max_tool_calls +AMOUNT wisher`" in call["body"]


def test_a_question_calls_who_started_it() -> None:
    with story(held(MENTION)) as squad:
        task = given(squad, is_blocked("Which colour?\n\n@ada says: ask."), *FIXES)
        assert squad.states(task) == [ASKING]
        [call] = squad.calls(task)
        head, question, answer = words(call)
        assert head == (
            "[squadron:fixer] @Maria @octo/leads this agent asks a question, and waits for your"
            " answer:"
        )
        assert "Which colour?" in question and "@ada" not in question
        assert answer.startswith(
            "Answer in a comment here by **2026-03-02 12:00 UTC** (within 24 hours); one line"
        )
        assert squad.checks(task)[0]["conclusion"] == "action_required"
        squad.comment(task, "Blue.")
        squad.settle()
        assert squad.states(task) == [AT_REVIEW]
        assert squad.checks(task)[0]["conclusion"] == "success"
        assert "has to answer any more." in squad.calls(task)[0]["body"]


def test_what_is_no_question_is_not_called_one() -> None:
    with story(held()) as squad:
        task = given(squad, says("Hm."), says("I am at a loss."), *FIXES)
        assert squad.states(task) == [ASKING]
        [call] = squad.calls(task)
        assert "has stopped without a question or a report" in words(call)[0]
        assert words(call)[1] == "> I am at a loss."


def test_who_is_stopped_meanwhile_waits_for_nobody() -> None:
    with story(held()) as squad:
        task = given(squad, *ASKS)
        squad.passes(hours=25)
        squad.stopped(task)
        [call] = squad.calls(task)
        assert "has to answer any more." in call["body"]


def test_three_times_people_are_called_and_then_the_last_call_says_what_is_asked() -> None:
    with story(held()) as squad:
        task = given(squad, *(is_blocked(f"Question {n}?") for n in range(6)))
        known = []
        for turn in range(5):
            known.append([call["id"] for call in squad.calls(task)])
            assert f"Question {turn}?" in squad.calls(task)[-1]["body"]
            squad.comment(task, f"Answer {turn}.")
            squad.settle()
        assert [*map(len, known)] == [1, 2, 3, 3, 3]
        assert known[-1] == known[2]
        *over, last = squad.calls(task)
        assert all("has to answer any more." in call["body"] for call in over)
        assert "Question 5?" in last["body"] and "**2026-03-02" in last["body"]
        squad.passes(hours=13)
        [*_, reminder] = squad.calls(task)
        assert len(squad.calls(task)) == 3 and reminder["id"] > last["id"]


def test_once_a_day_people_are_reminded_in_the_place_of_the_comment_before() -> None:
    with story(held()) as squad:
        task = given(squad, runs("true"), *FIXES, role="patient")
        [call] = squad.calls(task)
        assert "by **2026-03-04 12:00 UTC** (within 3 days)" in call["body"]
        squad.passes(hours=23)
        assert squad.calls(task) == [call]
        squad.passes(hours=2)
        [first] = squad.calls(task)
        assert first["id"] != call["id"]
        assert "@maria reminder, it has waited since 2026-03-01 12:00 UTC: " in first["body"]
        assert "(within 47 hours)" in first["body"]
        squad.passes(hours=20)
        assert squad.calls(task) == [first]
        squad.passes(hours=4)
        [second] = squad.calls(task)
        assert second["id"] > first["id"]
        assert f"[what it asks of you]({second['html_url']})" in squad.comments(task)[0]
        squad.passes(hours=24)
        assert squad.state(task) == (State.ESCALATED, None)
        assert "has to answer any more." in squad.calls(task)[0]["body"]


def test_a_call_that_people_delete_stays_away_until_it_asks_again() -> None:
    with story(held()) as squad:
        task = given(squad, *ASKS, *ASKS, *FIXES)
        [call] = squad.calls(task)
        squad.does("ada", "DELETE", f"/repos/{REPOSITORY}/issues/comments/{call['id']}")
        squad.passes(hours=1)
        assert squad.calls(task) == []
        squad.comment(task, "Blue.")
        squad.settle()
        assert len(squad.calls(task)) == 1


@pytest.mark.parametrize("turns", range(1, 12))
def test_whoever_dies_over_it_people_are_called_once(turns: int) -> None:
    with story(held()) as squad:
        task = squad.issue("The answer is wrong", *ASKS, *FIXES).by("fixer")
        squad.label(task, "squadron:fixer")
        squad.dies_after(turns * 3)
        squad.settle()
        squad.passes(minutes=10)
        assert squad.states(task) == [ASKING]
        assert len(squad.calls(task)) == 1
