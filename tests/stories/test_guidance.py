"""What people write to an agent that works reaches it before its next tool call (promise 9)."""

from dataclasses import replace

import pytest

from app.core.agents.events import SpokenTo, Woken
from app.core.agents.lifecycle import State
from app.core.github.comment_kinds import comment_name
from app.ports import Written
from app.scripted.script import Answer
from tests.stories.happening import (
    AGAIN,
    ASKING,
    AT_REVIEW,
    COMPLETED,
    FIXES,
    at_work,
    pull,
    reviews,
)
from tests.support.people import REPOSITORY, Task, repository
from tests.support.steps import completes, runs, waits_for
from tests.twins.story import Story, story

PLACES = {REPOSITORY: repository({"fixer": {}})}
WORDS = "Use 42, not 41."


def goes_on(squad: Story) -> None:
    (squad.directory / "go").touch()
    squad.passes(seconds=5)


def heard(squad: Story) -> list[int]:
    """How often the words stand in each request to the model, in their order."""
    return [str(request).count(WORDS) for request in squad.model.requests]


def reactions(squad: Story, task: Task) -> int:
    """How many have reacted to the last words of people with eyes."""
    said = squad.sees(f"{task.path}/comments")
    theirs = [each for each in said if each["user"]["login"] == "maria"]
    count = theirs[-1]["reactions"]["eyes"]
    assert isinstance(count, int)
    return count


def test_it_reads_them_with_the_result_of_the_command_that_runs() -> None:
    """Once, as the words of a person, in the same turn."""
    with story(PLACES) as squad:
        task = at_work(squad, *FIXES, *AGAIN)
        before = len(squad.model.requests)
        squad.comment(task, WORDS)
        squad.settle()
        assert reactions(squad, task) == 1
        goes_on(squad)
        assert squad.states(task) == [AT_REVIEW]
        assert heard(squad) == [0] * before + [1] * (len(FIXES))
        reviews(event="REQUEST_CHANGES", body="Explain it.")(squad, task)
        squad.settle()
        assert heard(squad)[before:] == [1] * len((*FIXES, *AGAIN)), "later prompts do not say it"
        [spoken] = [one for one in squad.log(squad.agent(task).id) if isinstance(one, SpokenTo)]
        assert (spoken.by, spoken.text) == ("maria", WORDS)


def test_words_of_strangers_reach_nobody() -> None:
    with story(PLACES, people={"maria": "maintain", "eve": "read"}) as squad:
        task = at_work(squad)
        squad.comment(task, WORDS, by="eve")
        squad.settle()
        goes_on(squad)
        assert squad.states(task) == [AT_REVIEW]
        assert not any(heard(squad))


def test_what_is_written_on_the_issue_while_it_works_on_a_review_counts_too() -> None:
    with story(PLACES) as squad:
        waits = waits_for(squad.directory / "go", look_seconds=5)
        task = squad.give("fixer", "The answer is wrong", *FIXES, waits, runs("true"), *FIXES)
        reviews(event="REQUEST_CHANGES", body="Explain it.")(squad, task)
        squad.goes_on_for(600)
        assert squad.states(task) == [(State.ACTIVE, None)]
        before = len(squad.model.requests)
        squad.comment(task, WORDS)
        squad.settle()
        goes_on(squad)
        assert heard(squad)[: before + 1] == [0] * before + [1]


def test_what_is_written_while_it_waits_for_a_review_is_in_its_next_prompt() -> None:
    """Words alone do not wake it."""
    with story(PLACES) as squad:
        task = squad.give("fixer", "The answer is wrong", *FIXES, *AGAIN)
        before = len(squad.model.requests)
        squad.comment(task, WORDS)
        squad.passes(minutes=5)
        assert squad.states(task) == [AT_REVIEW]
        assert len(squad.model.requests) == before
        assert reactions(squad, task) == 1
        reviews(event="REQUEST_CHANGES", body="Explain it.")(squad, task)
        squad.settle()
        assert squad.states(task) == [AT_REVIEW]
        assert heard(squad) == [0] * before + [1] * len(AGAIN)


def test_a_reviews_words_come_with_file_line_and_link() -> None:
    with story(PLACES) as squad:
        task = squad.give("fixer", "The answer is wrong", *FIXES, *AGAIN)
        remark = {"path": "answer", "line": 1, "body": "Say why."}
        reviews(event="COMMENT", comments=[remark])(squad, task)
        squad.settle()
        [found] = squad.sees(f"{pull(squad, task)}/comments")
        assert found["html_url"].startswith("http")
        assert squad.was_told(task, f"answer:1 ({found['html_url']})\nSay why.")


def at_work_again(squad: Story, *steps: Answer) -> Task:
    """Works on the first review of its pull request until the test lets it go on."""
    waits = waits_for(squad.directory / "go", look_seconds=5)
    task = squad.give("fixer", "The answer is wrong", *FIXES, waits, *steps)
    reviews(event="REQUEST_CHANGES", body="Explain it.")(squad, task)
    squad.goes_on_for(600)
    assert squad.states(task) == [(State.ACTIVE, None)]
    return task


@pytest.mark.parametrize("how", ["told", "untold", "doubled"])
def test_a_review_of_one_that_works_reaches_it_before_its_next_tool_call(how: str) -> None:
    """In the same turn, once, with the words on its lines; nothing more wakes it afterwards."""
    with story(PLACES) as squad:
        task = at_work_again(squad, *AGAIN, *AGAIN)
        before = len(squad.model.requests)
        with squad.telling(how):
            remark = {"path": "answer", "line": 1, "body": "Say why."}
            reviews(event="REQUEST_CHANGES", body=WORDS, comments=[remark])(squad, task)
        goes_on(squad)
        assert squad.states(task) == [AT_REVIEW]
        assert heard(squad) == [0] * before + [1] * len(AGAIN)
        [found] = squad.sees(f"{pull(squad, task)}/comments")
        assert squad.was_told(task, f"answer:1 ({found['html_url']})\nSay why.")
        squad.passes(minutes=11)
        assert len(squad.model.requests) == before + len(AGAIN)


def test_a_review_that_comes_too_late_for_its_last_tool_call_wakes_it() -> None:
    with story(PLACES) as squad:
        last = replace(completes("No more."), think_seconds=60)
        task = squad.give("fixer", "The answer is wrong", *FIXES, *AGAIN[:-1], last, *AGAIN)
        reviews(event="REQUEST_CHANGES", body="Explain it.")(squad, task)
        squad.passes(seconds=30)
        before = len(squad.model.requests)
        assert squad.states(task) == [(State.ACTIVE, None)]
        reviews(event="REQUEST_CHANGES", body=WORDS)(squad, task)
        squad.passes(minutes=11)
        assert squad.states(task) == [AT_REVIEW]
        assert heard(squad)[before:] == [1] * len(AGAIN)


def test_a_strangers_review_of_one_that_works_reaches_nobody() -> None:
    with story(PLACES, people={"maria": "maintain", "eve": "read"}) as squad:
        task = at_work_again(squad, *AGAIN)
        review = {"event": "REQUEST_CHANGES", "body": WORDS}
        squad.does("eve", "POST", f"{pull(squad, task)}/reviews", review)
        squad.settle()
        goes_on(squad)
        assert squad.states(task) == [AT_REVIEW]
        assert not any(heard(squad))


@pytest.mark.parametrize("turns", range(0, 120, 12))
def test_a_review_is_told_once_whenever_it_is_submitted(turns: int) -> None:
    with story(PLACES) as squad:
        task = at_work_again(squad, *AGAIN, *AGAIN)
        (squad.directory / "go").touch()
        squad.goes_on_for(turns)
        reviews(event="REQUEST_CHANGES", body=WORDS)(squad, task)
        squad.passes(minutes=2)
        assert squad.states(task) == [AT_REVIEW]
        assert max(heard(squad)) == 1
        log = squad.log(squad.agent(task).id)
        spoken = [one for one in log if isinstance(one, SpokenTo)]
        woken = [one for one in log if isinstance(one, Woken) and WORDS in one.why]
        assert len(spoken) + len(woken) == 1


def test_a_review_that_was_written_down_as_the_agent_ended_wakes_it_and_is_told_once() -> None:
    with story(PLACES) as squad:
        task = squad.give("fixer", "The answer is wrong", *FIXES, *AGAIN)
        before = len(squad.model.requests)
        with squad.telling("untold"):
            reviews(event="REQUEST_CHANGES", body=WORDS)(squad, task)
            [review] = squad.sees(f"{pull(squad, task)}/reviews")
            said = comment_name("review", REPOSITORY, review["id"])
            words = Written(said, squad.clock.now(), review["id"], "maria", WORDS, "")
            squad.run(squad.service.store.write_to(squad.agent(task).id, words))
        assert squad.states(task) == [AT_REVIEW]
        assert heard(squad) == [0] * before + [1] * len(AGAIN)


@pytest.mark.parametrize("turns", [*range(0, 60, 6), *range(60, 400, 40)])
def test_whoever_dies_in_between_hears_them_all_the_same(turns: int) -> None:
    with story(PLACES) as squad:
        task = at_work(squad)
        squad.comment(task, WORDS)
        (squad.directory / "go").touch()
        squad.dies_after(turns)
        squad.passes(seconds=5)
        squad.settle()
        # A script does not see that the process died before a call that was let through, be it a
        # commit or the report: then it has nothing to hand over, or nothing more to say.
        assert squad.states(task) in ([AT_REVIEW], [COMPLETED], [ASKING])
        assert squad.was_told(task, WORDS)
        said = [one.said for one in squad.log(squad.agent(task).id) if isinstance(one, SpokenTo)]
        assert len(said) == 1
        assert reactions(squad, task) == 1
