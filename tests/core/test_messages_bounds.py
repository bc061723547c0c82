"""The words on GitHub of a pull request and of a role that cannot start; how long texts may be."""

from dataclasses import replace

import pytest

from app.core.agents.events import Waits
from app.core.agents.lifecycle import State
from app.core.rules.plan import ConfigProblem
from app.core.text.markdown import MOST_TEXT, MOST_TITLE
from app.core.words.messages import (
    cannot_start,
    check_summary,
    check_title,
    progress_comment,
    pull_request_body,
    pull_request_title,
)
from app.core.words.needs_human import escalation_body, escalation_title
from tests.core.wording import RUNS, TRIP, kept, row, seen, worked

# --- the pull request -------------------------------------------------------------------------


def test_the_pull_request_tells_what_was_done() -> None:
    life = worked()
    life.happens(kept(commits=("Fix the login", "Add a\ntest, closes #3")))
    shown = row(State.SLEEPING, waits_for=Waits.REVIEW, summary="Login works again.")
    assert pull_request_title(shown) == "Login fails"
    assert (
        pull_request_body(seen(shown, life))
        == f"""\
<!-- squadron:effect:octo/demo#12/bug-fix/1:pull_request -->

<!-- squadron:evidence -->
What Squadron saw:

- Tests run after the last edit: **unknown**.
- Tests passed: **unknown**.
- Changes: 1 file, +2 −3 lines.

Squadron cannot tell if tests ran on just this work. So this pull request is a draft.
<!-- /squadron:evidence -->

The agent says:

> Login works again.

Commits:

- Fix the login
- Add a test, c\u200bloses #3

<details><summary>Test runs</summary>

{RUNS}

</details>

Fixes #12

<sub>Agent `octo/demo#12/bug-fix/1`, started by mona.</sub>"""
    )


def test_a_pull_request_without_anything_to_say_still_closes_its_issue() -> None:
    shown = row()
    untitled = replace(
        shown, assignment=replace(shown.assignment, task=replace(shown.assignment.task, title=" "))
    )
    assert pull_request_title(untitled) == "Work on #12"
    assert "Commits" not in pull_request_body(seen(shown))
    assert "\n\nFixes #12\n\n" in pull_request_body(seen(shown))


# --- bounds -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "words", [progress_comment, check_summary, escalation_body, pull_request_body]
)
def test_no_text_is_longer_than_github_takes(words: object) -> None:
    assert callable(words)
    text = words(seen(row(summary="x" * 100_000), worked()))
    assert MOST_TEXT - 15 < len(text) <= MOST_TEXT and text.endswith("… (shortened)")


def test_no_title_is_longer_than_github_takes() -> None:
    trip = replace(TRIP, reason="x" * 1_000)
    shown = row(State.ESCALATED, stop=trip)
    task = replace(shown.assignment.task, title="x" * 1_000)
    shown = replace(shown, assignment=replace(shown.assignment, task=task))
    for title in (escalation_title(shown), pull_request_title(shown), check_title(seen(shown))):
        assert MOST_TITLE - 15 < len(title) <= MOST_TITLE


# --- what cannot start ------------------------------------------------------------------------


def problem(number: int, message: str = "unknown key") -> ConfigProblem:
    return ConfigProblem(file="config.yaml", line=number, column=5, message=message)


def test_a_role_that_cannot_start_says_where_and_what_to_do() -> None:
    words = cannot_start("pm", [problem(3), problem(4, "no `x` for @mona")], "it is broken.")
    assert (
        words
        == """\
[squadron:pm] The agent cannot start: it is broken.

- `config.yaml:3:5: unknown key`
- `config.yaml:4:5: no 'x' for @\u200bmona`

Correct this on the default branch, then set the label again. \
`squadron config check` shows the same."""
    )


def test_a_role_that_cannot_start_for_no_place_in_a_file() -> None:
    words = cannot_start("pm", [], "there is no such role.")
    assert words == (
        "[squadron:pm] The agent cannot start: there is no such role.\n\n"
        "Correct this on the default branch, then set the label again."
    )


def test_only_twenty_problems_are_listed_and_the_rest_is_counted() -> None:
    twenty = cannot_start("pm", [problem(n) for n in range(1, 21)], "it is broken.")
    assert twenty.count("\n- ") == 20 and "more" not in twenty
    many = cannot_start("pm", [problem(n) for n in range(1, 24)], "it is broken.")
    assert "- `config.yaml:20:5: unknown key`\n- … and 3 more\n\n" in many
    long = cannot_start("pm", [problem(1, "x" * 1_000)], "it is broken.")
    assert "x… (shortened)`" in long.replace(" …", "…") and len(long) < 700
