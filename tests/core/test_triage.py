"""What an agent that triages proposes, which labels it may set itself, and in which words."""

from dataclasses import replace

import pytest

from app.core.agents.agent import Agent, AgentId, Task
from app.core.agents.events import Finished, Proposed
from app.core.agents.lifecycle import State
from app.core.effects.triage import (
    GATHERED_FOR_SECONDS,
    MOST_AT_ONCE,
    MOST_LABEL_CHARACTERS,
    MOST_LABELS,
    MOST_WHY_CHARACTERS,
    WAITS_FOR_THE_FIRST_SECONDS,
    is_taken_along,
    issues_of,
    proposal_lines,
    taken_along,
    to_set,
    triage_comment,
    triage_marker,
)
from tests.core.strategies import START
from tests.core.wording import row

PM = AgentId("octo/demo", 12, "pm", 1)
OTHER = AgentId("octo/demo", 13, "pm", 1)


def triaging(*may_label: str) -> Agent:
    agent = row(State.ACTIVE, id=PM)
    return replace(agent, assignment=replace(agent.assignment, may_label=may_label))


def proposed(*labels: str, role: str = "bug-fix", why: str = "It fails.") -> Proposed:
    return Proposed(at=START, issue=13, role=role, labels=labels, why=why)


@pytest.mark.parametrize(
    ("label", "may"),
    [
        ("bug", True),
        ("BUG", True),
        ("docs", False),
        ("needs-human", False),
        ("Needs-Human", False),
        ("Needs-Answer", False),
        ("squadron:bug-fix", False),
        ("Squadron:Bug-Fix", False),
    ],
)
def test_only_labels_that_are_allowed_and_start_nothing_are_set(label: str, may: bool) -> None:
    allowed = ("Bug", "needs-human", "needs-answer", "squadron:bug-fix")
    assert to_set(triaging(*allowed), proposed(label)) == ((label,) if may else ())


def test_labels_that_call_a_human_are_never_set() -> None:
    agent = triaging("page-me", "bug")
    rules = replace(agent.assignment.escalation, labels=("Page-Me",))
    agent = replace(agent, assignment=replace(agent.assignment, escalation=rules))
    assert to_set(agent, proposed("page-me", "bug")) == ("bug",)


def test_a_proposal_tells_role_labels_and_why() -> None:
    agent = triaging("bug")
    assert proposal_lines(agent, proposed("bug", "size: s", "p1")) == (
        "**#13** Role: `bug-fix`. Labels proposed: `size: s`, `p1`. Labels set: `bug`. It fails."
    )
    assert proposal_lines(agent, proposed(role="")) == "**#13** No role suits. It fails."
    assert proposal_lines(agent, proposed(why="")) == "**#13** Role: `bug-fix`."


def test_a_proposal_calls_nobody_and_shows_no_secret() -> None:
    secret = "ghs_" + "a1" * 20
    words = proposal_lines(triaging(), proposed("a`b", role="x`\ny", why=f"@mona\n{secret}"))
    assert words.startswith("**#13** Role: `x' y`. Labels proposed: `a'b`. ")
    assert "@mona" not in words and secret not in words and "\n" not in words
    long = proposal_lines(triaging(), proposed(why="w" * 9_999))
    assert long.count("w") == MOST_WHY_CHARACTERS - 15 == 1_985


def test_the_comment_on_an_issue_that_was_taken_along_is_found_again() -> None:
    assert triage_comment(triaging(), proposed()) == (
        "<!-- squadron:triage:octo/demo#12/pm/1:13 -->\n"
        "[squadron:pm] **#13** Role: `bug-fix`. It fails.\n\n"
        "<sub>Agent `octo/demo#12/pm/1`. A person decides: set a label to start an agent.</sub>"
    )
    assert triage_marker(PM, 14) != triage_marker(PM, 13)


def test_an_issue_that_was_taken_along_is_known_by_its_log() -> None:
    along = Finished(at=START, why=taken_along(PM))
    assert taken_along(PM) == "Taken along by octo/demo#12/pm/1."
    assert is_taken_along([proposed(), along], PM)
    assert not is_taken_along([along], OTHER)
    assert not is_taken_along([Finished(at=START, why="Done."), proposed()], PM)
    assert not is_taken_along([], PM)


def test_its_own_issue_comes_first() -> None:
    other = row(State.QUEUED, id=OTHER)
    task = Task("Second", "")
    other = replace(other, assignment=replace(other.assignment, task=task))
    found = issues_of(triaging(), [other])
    assert list(found) == [12, 13] and found[13] == task


def test_the_bounds_are_these() -> None:
    assert (MOST_AT_ONCE, MOST_LABELS, MOST_LABEL_CHARACTERS) == (10, 10, 50)
    assert (GATHERED_FOR_SECONDS, WAITS_FOR_THE_FIRST_SECONDS) == (10, 60)
