"""What Squadron answers to commands."""

import pytest

from app.core.agents.agent import AgentId
from app.core.agents.lifecycle import State
from app.core.commands.grammar import USAGE
from app.core.text.markdown import MOST_TEXT
from app.core.words.answers import (
    has_ended_words,
    help_words,
    not_asleep_words,
    not_ended_words,
    not_retried_words,
    status_words,
    story_words,
    which_of_words,
)
from app.core.words.refusals import CLOSED
from tests.core.strategies import START
from tests.core.wording import LIMITS, row, seen, worked

WORKS = row(State.ACTIVE)
WRITES = row(State.ACTIVE, id=AgentId("octo/demo", 12, "docs", 1))


def test_a_command_for_several_names_them_all() -> None:
    assert which_of_words("stop", ["docs", "bug-fix"]) == (
        "Several agents are here; say which one, as in `/squadron stop bug-fix` or"
        " `/squadron stop docs`. Nothing was changed."
    )


def test_a_command_that_cannot_be_obeyed_says_why() -> None:
    ended = row(State.COMPLETED)
    assert has_ended_words(ended) == "`bug-fix` has ended (completed) already. Nothing was changed."
    assert not_asleep_words(WORKS) == (
        "`bug-fix` does not sleep, it is active. Nothing was changed."
    )
    assert not_ended_words(WORKS) == "`bug-fix` has not ended, it is active. Nothing was changed."
    assert not_ended_words(row(State.STOPPING, taken_away_at=START)) == (
        "`bug-fix` stops, and Squadron still keeps its work. Nothing was changed: say it again when"
        " the agent has ended."
    )
    assert not_retried_words(ended, CLOSED) == (
        "No fresh `bug-fix` has started on #12: the issue is closed. Open #12, and write this"
        " again."
    )
    assert not_retried_words(ended, "one is at work already") == (
        "No fresh `bug-fix` has started on #12: one is at work already."
    )
    assert not_retried_words(ended, "the budget is spent", waits=True) == (
        "No fresh `bug-fix` has started on #12 yet: the budget is spent. It starts by itself."
    )


def test_help_has_a_line_for_every_command() -> None:
    head, _, lines = help_words().partition("\n\n")
    assert head == "Write one of these at the start of a line:"
    assert lines.splitlines() == [f"- `{usage}`: {what}" for usage, what in USAGE.items()]


def test_the_status_tells_of_each_agent_with_its_limits() -> None:
    reports = [seen(WORKS, worked()), seen(WRITES, worked())]
    assert status_words(reports, ["It works.", "It writes."], {}) == (
        f"**`bug-fix`**: It works.\n\n{LIMITS}\n\n**`docs`**: It writes.\n\n{LIMITS}"
    )
    assert status_words([], [], {}).startswith("No agent works on this issue.")
    waiting = {"docs": "ada paused all agents", "bug-fix": "no money"}
    assert status_words([], [], waiting) == (
        "**`bug-fix`**: The agent waits to start: no money.\n\n"
        "**`docs`**: The agent waits to start: ada paused all agents."
    )
    assert len(status_words(reports, ["x" * MOST_TEXT, "y"], {})) == MOST_TEXT // 2 - 1
    with pytest.raises(ValueError, match="zip"):
        status_words(reports, ["It works."], {})


def test_a_story_is_a_block_that_its_words_cannot_end() -> None:
    assert story_words(["12:00 started", "``` and more"]) == (
        "The story:\n\n    12:00 started\n    ``` and more"
    )
    assert len(story_words(["x" * MOST_TEXT])) == MOST_TEXT // 2 - 1
