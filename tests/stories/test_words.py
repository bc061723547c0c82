"""Words of people: whom they are meant for, and that each of them is heard once."""

import pytest

from app.core.agents.events import SpokenTo, Woken
from app.core.agents.lifecycle import State
from app.scripted.script import Answer
from tests.stories.happening import ASKING, ASKS, AT_REVIEW, BLOCKED, FIXES, PAUSED
from tests.support.people import REPOSITORY, Task, repository
from tests.support.steps import is_blocked, runs, says, thinks
from tests.twins.story import Story, story

PLACES = {REPOSITORY: repository({"fixer": {}})}
AT_WORK = (State.ACTIVE, None)


def heard(squad: Story, task: Task, words: str) -> int:
    """How often the log of its agents says that they were told these words."""
    return sum(
        words in (event.why if isinstance(event, Woken) else event.text)
        for agent in squad.agents(task)
        for event in squad.log(agent.id)
        if isinstance(event, Woken | SpokenTo)
    )


@pytest.mark.parametrize("how", ["told", "untold"])
def test_words_to_an_agent_at_work_are_told_at_its_next_turn_once(how: str) -> None:
    with story(PLACES) as squad:
        hesitates = Answer("Hm.", think_seconds=300)
        task = squad.give("fixer", "The answer is wrong", hesitates, *ASKS, *FIXES)
        assert squad.states(task) == [AT_WORK]
        with squad.telling(how):
            squad.comment(task, "Leave the README alone.")
        squad.passes(seconds=300)
        assert squad.states(task) == [ASKING]
        assert squad.was_told(task, "Leave the README alone.")
        squad.comment(task, "Blue.")
        squad.settle()
        assert squad.states(task) == [AT_REVIEW]
        assert heard(squad, task, "Leave the README alone.") == 1
        assert heard(squad, task, "Blue.") == 1


@pytest.mark.parametrize("how", ["told", "untold", "late"])
def test_what_was_said_before_the_question_is_no_answer_to_it(how: str) -> None:
    with story(PLACES) as squad:
        task = squad.give("fixer", "The answer is wrong", thinks(20), *ASKS, *FIXES)
        with squad.telling(how):
            squad.comment(task, "Hurry up.")
            squad.passes(seconds=20)
        assert squad.states(task) == [ASKING]
        squad.comment(task, "Blue.")
        squad.settle()
        assert squad.states(task) == [AT_REVIEW]
        assert heard(squad, task, "Hurry up.") == 1


def test_an_answer_that_is_told_of_late_answers_no_further_question() -> None:
    with story(PLACES) as squad:
        task = squad.give("fixer", "The answer is wrong", *ASKS, is_blocked("Which blue?"), *FIXES)
        with squad.telling("late"):
            squad.comment(task, "Blue.")
        assert squad.states(task) == [ASKING]
        assert heard(squad, task, "Blue.") == 1


def test_words_that_are_changed_answer_nothing() -> None:
    with story(PLACES) as squad:
        task = squad.give("fixer", "The answer is wrong", thinks(60), *ASKS, *FIXES)
        squad.comment(task, "It is 42.")
        squad.settle()
        squad.passes(seconds=60)
        [said] = [one for one in squad.sees(f"{task.path}/comments") if one["body"] == "It is 42."]
        comment = f"/repos/{REPOSITORY}/issues/comments/{said['id']}"
        squad.does("maria", "PATCH", comment, {"body": "I think that it is 42."})
        squad.settle()
        squad.passes(minutes=2)
        assert squad.states(task) == [ASKING]


@pytest.mark.parametrize("how", ["told", "untold"])
def test_what_was_said_before_an_agent_was_asked_for_is_not_meant_for_it(how: str) -> None:
    with story(PLACES) as squad:
        task = squad.issue("The answer is wrong", *ASKS, *FIXES).by("fixer")
        with squad.telling(how):
            squad.comment(task, "I would not change it.")
            squad.label(task, "squadron:fixer")
        assert squad.states(task) == [ASKING]
        assert heard(squad, task, "I would not change it.") == 0


def test_nobody_hears_words_after_the_end() -> None:
    with story(PLACES) as squad:
        task = squad.give("fixer", "The answer is wrong", *ASKS, *FIXES)
        with squad.telling("untold"):
            squad.close(task)
            squad.comment(task, "A pity.")
        assert squad.agent(task).state is State.CANCELLED
        assert heard(squad, task, "A pity.") == 0


@pytest.mark.parametrize("how", ["told", "untold"])
def test_one_of_two_blockers_is_not_enough(how: str) -> None:
    with story(PLACES) as squad:
        task = squad.issue("The answer is wrong", is_blocked("No plan.", 2, 3), *FIXES).by("fixer")
        for title in ("The plan", "The other plan"):
            squad.issue(title)
        squad.label(task, "squadron:fixer")
        squad.settle()
        for number, then in ((2, BLOCKED), (3, AT_REVIEW)):
            with squad.telling(how):
                squad.close(Task(REPOSITORY, number, ""))
            assert squad.states(task) == [then]


@pytest.mark.parametrize("how", ["told", "untold"])
def test_a_blocker_that_was_closed_for_a_while_is_enough(how: str) -> None:
    with story(PLACES) as squad:
        plan = squad.issue("The plan")
        task = squad.give("fixer", "The answer is wrong", is_blocked("No plan.", 1), *FIXES)
        assert squad.states(task) == [BLOCKED]
        with squad.telling(how):
            squad.close(plan)
            squad.does("maria", "PATCH", plan.path, {"state": "open"})
        assert squad.states(task) == [AT_REVIEW]


def test_of_two_answers_that_are_found_the_first_one_wakes() -> None:
    with story(PLACES) as squad:
        task = squad.give("fixer", "The answer is wrong", *ASKS, *FIXES)
        with squad.telling("untold"):
            squad.comment(task, "Blue.")
            squad.comment(task, "Or red.")
        [woken] = [each for each in squad.log(squad.agent(task).id) if isinstance(each, Woken)]
        assert "Blue." in woken.why and "Or red." not in woken.why
        assert heard(squad, task, "Or red.") == 1


def test_what_woke_it_is_not_forgotten_when_a_limit_stops_it_before_it_has_heard() -> None:
    keys = {"max_turns": 1, "on_limit": "pause"}
    with story({REPOSITORY: repository({"fixer": keys})}) as squad:
        task = squad.give("fixer", "The answer is wrong", *ASKS, *FIXES)
        squad.comment(task, "Blue.")
        squad.settle()
        assert squad.states(task) == [PAUSED]
        squad.comment(task, "/squadron raise max_turns +5")
        squad.settle()
        assert squad.states(task) == [AT_REVIEW]
        assert squad.was_told(task, "Blue.")


def test_who_stops_without_a_word_is_asked_once_more_what_it_wants() -> None:
    with story(PLACES) as squad:
        task = squad.give("fixer", "The answer is wrong", says("Hm."), *FIXES)
        assert squad.states(task) == [AT_REVIEW]


def test_who_says_nothing_twice_waits_for_people() -> None:
    with story(PLACES) as squad:
        task = squad.give("fixer", "The answer is wrong", says("Hm."), says("Hm."), runs("true"))
        assert squad.states(task) == [ASKING]
