"""A human who is called by a needs-human issue reads first what to do, and each thing once."""

from typing import Any, Final

from app.core.agents.events import ToolEnded
from app.core.text.redact import MASK
from tests.stories.happening import ASKS, STOPPED
from tests.support.people import REPOSITORY, Task, repository
from tests.support.steps import completes, runs, writes
from tests.twins.shell import TEST
from tests.twins.story import Story, story

PLACES: Final = {
    REPOSITORY: repository(
        {"fixer": {}, "stopper": {"max_tool_calls": 2}, "tester": {"max_iterations": 1}}
    )
}


def issue(squad: Story, task: Task) -> Any:
    """The one needs-human issue."""
    [found] = squad.needs_human(task)
    return found


def test_title_and_first_lines_say_who_stopped_what_and_what_to_do() -> None:
    with story(PLACES) as squad:
        task = squad.give("stopper", "Much to do", writes("new", "n\n"), *(runs("true"),) * 2)
        assert squad.states(task) == [STOPPED]
        found = issue(squad, task)
        assert found["title"] == "[needs-human] Much to do (#1, stopper): stopped by max_tool_calls"
        _, _, mention, head, ways, *_ = found["body"].split("\n\n")
        assert (mention, head) == ("@maria", "**What to do**")
        assert ways.startswith("1. Write `/squadron retry stopper` in a comment here")
        assert "`/squadron retry stopper raise max_tool_calls +2` gives that agent 2" in ways
        assert f"git fetch origin {task.branch}" in found["body"]
        assert "| `max_tool_calls` | 2 | 2 |" in found["body"].split("<details>")[0]
        assert "`max_turns`" not in found["body"].split("<details>")[0], "far from its limit"


def test_the_line_that_it_gives_is_understood() -> None:
    with story(PLACES) as squad:
        task = squad.give("stopper", "Much to do", *(runs("true"),) * 3, completes("Done."))
        squad.stopped(task)
        there = Task(REPOSITORY, issue(squad, task)["number"], "stopper")
        squad.comment(there, "/squadron retry stopper raise max_tool_calls +2")
        squad.settle()
        first, second = squad.agents(task)
        assert second.predecessor == str(first.id)
        assert second.assignment.limits.max_tool_calls == 4


def test_the_comment_on_the_issue_says_what_to_do_and_leads_to_it() -> None:
    with story(PLACES, operator={"reconciliation_interval": 3_600}) as squad:
        task = squad.give("fixer", "The answer is wrong", *ASKS)
        squad.passes(hours=25)
        squad.stopped(task)
        squad.passes(minutes=2)
        [comment] = squad.comments(task)
        assert "To go on, write `/squadron retry fixer` in a comment here" in comment
        assert f"[the needs-human issue]({issue(squad, task)['html_url']})" in comment


def test_it_leads_to_issue_check_and_comparison_and_shows_what_the_tests_said() -> None:
    with story(PLACES) as squad:
        again = (writes("answer", "43\n"), runs(TEST), writes("answer", "44\n"), runs(TEST))
        task = squad.give("tester", "The answer is wrong", *again, *again)
        squad.stopped(task)
        body = issue(squad, task)["body"]
        check = squad.checks(task)[0]["html_url"]
        page = check.partition("/runs/")[0]
        compared = f"{page}/compare/main...{task.branch}"
        assert f"issue #1, [check]({check}), [comparison]({compared})." in body
        assert f"Its last test run, `{TEST}`: failed.\n\n```text\n" in body
        assert body.count("max_iterations reached") == 1


def test_a_secret_that_tests_print_is_nowhere() -> None:
    secret = f"ghp_{'x1' * 18}"
    with story(PLACES) as squad:
        prints = runs(f"echo {secret}; {TEST}")
        steps = (prints, writes("answer", "43\n"), prints, writes("answer", "44\n"), prints)
        task = squad.give("tester", "The answer is wrong", *steps)
        agent = squad.stopped(task)
        kept = [event.output for event in squad.log(agent.id) if isinstance(event, ToolEnded)]
        assert MASK in kept[0] and secret not in "".join(kept)
        assert MASK in issue(squad, task)["body"] and secret not in issue(squad, task)["body"]


def test_where_nothing_was_done_nothing_is_to_be_picked_up() -> None:
    with story(PLACES) as squad:
        task = squad.give("stopper", "Much to do", *(runs("true"),) * 3)
        squad.stopped(task)
        body, [comment] = issue(squad, task)["body"], squad.comments(task)
        for text in (body, comment):
            assert "git fetch" not in text and "work preserved" not in text
            assert "The agent left no work on it." in text
        assert "2. Or work on #1 yourself." in body and "comparison" not in body
        assert "[ ] work pushed" not in comment
