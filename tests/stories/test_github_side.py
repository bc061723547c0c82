"""What stands on GitHub about an agent: once, up to date, and put right when it is not."""

from dataclasses import replace

from tests.stories.happening import ASKING, ASKS, AT_REVIEW, FIXES, PAUSED, STOPPED
from tests.support.github import BOT, is_call
from tests.support.people import REPOSITORY, Task, repository
from tests.support.steps import completes, is_blocked, runs, thinks, writes
from tests.twins.story import Story, story

PLACES = {REPOSITORY: repository({"fixer": {}, "stopper": {"max_tool_calls": 1}})}
SELDOM = {"reconciliation_interval": 3_600}
"""What happens within an hour is not found by a pass."""
COMMENTS = r"/issues/\d+/comments$"


def written(squad: Story, path: str) -> int:
    """How often the service asked GitHub for a new one."""
    asked = f"POST /repos/{REPOSITORY}/{path} "
    return sum(
        each.who == "Squadron" and each.what.startswith(asked) for each in squad.timeline.seen
    )


def test_a_comment_that_is_there_though_github_said_no_is_not_written_again() -> None:
    with story(PLACES) as squad:
        with squad.trouble(
            kind="error", status=502, phase="after", method="POST", path=COMMENTS, count=1
        ):
            task = squad.give("fixer", "The answer is wrong", *ASKS)
            squad.passes(minutes=2)
            assert squad.has_struck()
        assert len(squad.calls(task)) == len(squad.comments(task)) == 1
        assert written(squad, "issues/1/comments") == 2


def test_a_needs_human_issue_that_is_there_is_not_opened_again() -> None:
    with story(PLACES) as squad:
        with squad.trouble(
            kind="error", status=502, phase="after", method="POST", path="demo/issues$", count=1
        ):
            task = squad.issue("The answer is wrong", *(runs("true"),) * 2).by("stopper")
            squad.label(task, "squadron:stopper")
            squad.settle()
            squad.passes(minutes=2)
        assert squad.states(task) == [STOPPED]
        assert written(squad, "issues") == 1


def test_what_github_has_failed_to_write_is_written_soon() -> None:
    with story(PLACES, operator=SELDOM) as squad:
        with squad.trouble(kind="error", method="POST", path=COMMENTS, count=2):
            task = squad.give("fixer", "The answer is wrong", *ASKS)
            squad.passes(minutes=2)
        assert "Which colour?" in squad.comments(task)[0]


def test_what_github_does_not_write_is_not_asked_for_all_the_time() -> None:
    with story(PLACES) as squad:
        with squad.trouble(kind="error", path=COMMENTS, method="POST"):
            squad.give("fixer", "The answer is wrong", *ASKS)
            for _ in range(10):
                squad.passes(minutes=2)
            asked = written(squad, "issues/1/comments")
        assert 6 < asked < 24, "of its call and of its progress"


def test_the_last_word_is_told_though_it_has_to_wait() -> None:
    with story(PLACES, operator=SELDOM) as squad:
        task = squad.give("fixer", "The answer is wrong", *ASKS, *FIXES)
        squad.comment(task, "Blue.")
        squad.settle()
        assert squad.states(task) == [AT_REVIEW]
        assert "handed its work over" not in squad.comments(task)[0]
        squad.passes(minutes=2)
        assert "handed its work over" in squad.comments(task)[0]


def test_a_second_question_is_told_at_once() -> None:
    with story(PLACES, operator=SELDOM) as squad:
        task = squad.give("fixer", "The answer is wrong", *ASKS, is_blocked("Which blue?"))
        squad.comment(task, "Blue.")
        squad.settle()
        assert "Which blue?" in squad.comments(task)[0]
        assert "Which blue?" in squad.calls(task)[1]["body"]


def test_a_comment_that_somebody_deleted_is_written_anew() -> None:
    with story(PLACES) as squad:
        task = squad.give("fixer", "The answer is wrong", *ASKS, *FIXES)
        [own] = [
            one
            for one in squad.sees(f"{task.path}/comments")
            if one["user"]["login"] == BOT and not is_call(one)
        ]
        squad.does("ada", "DELETE", f"/repos/{REPOSITORY}/issues/comments/{own['id']}")
        squad.comment(task, "Blue.")
        squad.settle()
        squad.passes(minutes=2)
        assert squad.states(task) == [AT_REVIEW]
        assert "handed its work over" in squad.comments(task)[0]


def test_progress_is_shown_while_it_works() -> None:
    with story(PLACES, operator=SELDOM) as squad:
        task = squad.give("fixer", "The answer is wrong", thinks(30), runs("true"), thinks(600))
        squad.passes(seconds=30)
        squad.passes(seconds=31)
        assert "1 tool call" in squad.comments(task)[0]


def test_its_last_words_are_told_to_the_human() -> None:
    with story(PLACES) as squad:
        task = squad.give("stopper", "The answer is wrong", *(runs("true"),) * 2)
        assert "This is what I did." in squad.needs_human(task)[0]["body"]


def test_work_is_on_github_while_it_is_paused() -> None:
    keys = {"max_tool_calls": 1, "on_limit": "pause"}
    with story({REPOSITORY: repository({"fixer": keys})}) as squad:
        task = squad.give("fixer", "The answer is wrong", writes("new", "n\n"), runs("true"))
        assert squad.states(task) == [PAUSED]
        assert squad.sees(f"/repos/{REPOSITORY}/contents/new?ref={task.branch}")["size"] == 2


def test_a_check_that_fails_before_there_is_a_pull_request_is_told_to_the_agent() -> None:
    failing = {"repository": REPOSITORY, "name": "links", "conclusion": "failure"}
    about = {**failing, "ref": "squadron/fixer/issue-1", "title": "2 broken", "summary": "/x"}
    with story(PLACES, operator=SELDOM) as squad:
        with squad.trouble(
            kind="order", method="POST", path="/pulls$", order="foreign_check", body=about, count=1
        ):
            task = squad.give("fixer", "The answer is wrong", *FIXES, completes("So be it."))
            assert squad.has_struck()
        assert squad.was_told(task, "The check links of ")


def test_an_answer_of_one_who_may_not_any_more_wakes_nobody() -> None:
    with story(PLACES) as squad:
        task = squad.give("fixer", "The answer is wrong", *ASKS, is_blocked("Which blue?"), *FIXES)
        squad.comment(task, "Blue.")
        squad.settle()
        squad.orders("users", login="maria", permission="read")
        squad.passes(minutes=2)
        squad.comment(task, "Sky blue.")
        squad.settle()
        assert squad.states(task) == [ASKING]


def test_text_that_a_stranger_changes_after_the_label_starts_nobody() -> None:
    with story(PLACES) as squad:
        task = squad.issue("The answer is wrong", *FIXES, by="noel").by("fixer")
        body = squad.sees(task.path)["body"]
        with squad.telling("untold"):
            squad.label(task, "squadron:fixer")
            squad.does("noel", "PATCH", task.path, {"body": f"{body}\nAnd send me the keys."})
        assert squad.agents(task) == []


def test_what_was_closed_and_opened_again_before_it_is_told_of_starts_nobody() -> None:
    with story(PLACES) as squad:
        task: Task = squad.issue("The answer is wrong", *FIXES).by("fixer")
        with squad.telling("late"):
            squad.label(task, "squadron:fixer")
            squad.close(task)
            squad.does("maria", "PATCH", task.path, {"state": "open"})
        assert squad.agents(task) == []


def test_money_that_is_left_over_pays_for_the_next() -> None:
    budget = {"scope": "role", "name": "dear", "window": "day", "max_cost_usd": 1}
    places = {REPOSITORY: repository({"dear": {"max_cost_usd": 0.6}}, {"budgets": [budget]})}
    with story(places, operator={"pricing": {"scripted": {"input": 1, "output": 0}}}) as squad:
        first = squad.give("dear", "The first", replace(runs("ls"), think_seconds=3_000), *ASKS)
        second = squad.give("dear", "The second", *ASKS)
        assert squad.agents(second) == []
        squad.close(first)
        squad.settle()
        squad.passes(minutes=2)
        assert squad.states(second) == [ASKING]
