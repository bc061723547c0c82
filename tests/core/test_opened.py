"""Issues that agents open: their depth, their marks, and the words in them. The issue, "Depth"."""

from dataclasses import replace

from hypothesis import given, settings
from hypothesis import strategies as st

from app.config.names import TOOLS
from app.core.agents.lifecycle import State
from app.core.effects.opened_issues import (
    MOST_WORDS,
    asks_body,
    asks_marker,
    asks_section,
    asks_title,
    depth_of,
    is_opened_by,
    opened_body,
    opened_marker,
    opened_title,
    refused_words,
    too_deep,
    too_many,
)
from app.core.effects.wanted import escalation_marker
from tests.core.wording import row

AGENT = row(State.ACTIVE)


@settings(deadline=None)
@given(st.text(), st.text(), st.integers(0, 101))
def test_an_issue_says_its_depth_and_whose_it_is_whatever_the_agent_writes(
    title: str, body: str, depth: int
) -> None:
    written = opened_body(AGENT, depth, title, body)
    assert depth_of(written) == depth
    assert is_opened_by(written, AGENT, title)
    assert not is_opened_by(written, replace(AGENT, id=replace(AGENT.id, attempt=2)), title)
    assert len(written) <= 60_000 and len(opened_title(title)) <= 250


def test_a_mark_counts_only_where_we_put_it() -> None:
    mark = opened_marker(AGENT, 7, "Title")
    assert depth_of(mark) == 7
    assert depth_of(f"Words\n{mark}") == 0
    assert depth_of(opened_body(AGENT, 1, "Other", f"{mark}\n\n{mark}")) == 1
    assert mark not in opened_body(AGENT, 1, "Other", mark)
    assert is_opened_by(opened_marker(AGENT, 2, "A  title"), AGENT, "a TITLE")


def test_words_of_an_agent_call_and_close_nobody() -> None:
    words = "@mona fixes #12 <details>"
    for text in (
        opened_body(AGENT, 1, "Title", words),
        asks_section(AGENT, f"{words} {asks_marker(AGENT)}", words, "it is too deep"),
    ):
        assert "@mona" not in text and "<details>" not in text and "fixes #12" not in text
    assert opened_title(words).count("@mona") == 0


def test_a_mark_of_another_app_or_of_none_is_nobodys() -> None:
    assert not is_opened_by("", AGENT, "Title")
    assert not is_opened_by("<!-- squadron:opened:x -->", AGENT, "Title")
    lone = "a \ud83d"
    assert is_opened_by(opened_marker(AGENT, 1, lone), AGENT, lone)


def test_long_words_are_cut() -> None:
    written = opened_body(AGENT, 1, "Title", "z" * 30_000)
    assert written.count("z") == MOST_WORDS - len(" … (shortened)") - 1 == 19_985


def test_a_refusal_tells_the_agent_to_go_on() -> None:
    assert refused_words(too_deep(4, 3)) == (
        "Not opened: it would be 4 levels of agents deep, and `escalation.max_issue_depth` is 3. A"
        " human is asked instead. Go on without it, and do not ask again."
    )
    assert too_many(10) == (
        "agents have opened as many issues in this repository within a day as"
        " `escalation.max_issues_per_day` allows: 10"
    )


def test_a_human_is_asked_in_the_one_issue_of_the_original() -> None:
    title = "[needs-human] Login fails (#12, bug-fix): it asks to open an issue"
    assert asks_title(AGENT) == title
    mark = escalation_marker(AGENT.repository_id, 12)
    assert asks_body(AGENT) == f"{mark}\n\n@mona"
    rules = replace(AGENT.assignment.escalation, mention=("@mona", "@octo/leads"))
    asking = replace(AGENT, assignment=replace(AGENT.assignment, escalation=rules))
    assert asks_body(asking) == f"{mark}\n\n@mona @octo/leads"


def test_the_tool_has_a_name_that_roles_can_allow() -> None:
    assert "open_issue" in TOOLS
