"""The words on GitHub, whole: comment, check, pull request and needs-human issue of each state."""

from dataclasses import replace

import pytest

from app.core.agents.agent import Agent
from app.core.agents.events import ClosingTool, DiffSize, Kept, LineComment, Reported, Slept, Waits
from app.core.agents.lifecycle import State
from app.core.agents.queueing import QueuePlace
from app.core.effects.wanted import check_conclusion
from app.core.limits import Limits
from app.core.rules.plan import RoleKind
from app.core.words.evidence import work_sentence
from app.core.words.messages import (
    check_name,
    check_summary,
    check_title,
    progress_comment,
    state_sentence,
)
from tests.core.life import begun
from tests.core.strategies import START, agent
from tests.core.wording import LIMITS, RUNS, SHA, TRIP, kept, row, seen, worked

# --- states -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("shown", "sentence"),
    [
        (row(State.QUEUED), "The agent waits for a worker."),
        (row(State.ACTIVE), "The agent works."),
        (
            row(State.STOPPING, taken_away_at=START),
            "Squadron keeps the agent's work, and then cancels the agent.",
        ),
        (row(State.PAUSED), "The agent is paused, and a human decides how it goes on."),
        (
            row(State.SLEEPING, waits_for=Waits.BLOCKER, blocked_by=(3, 4)),
            "The agent sleeps until #3 and #4 are closed.",
        ),
        (
            row(State.SLEEPING, waits_for=Waits.REVIEW, pull_request=7),
            "The agent handed its work over as #7, and waits for a review.",
        ),
        (
            row(State.SLEEPING, waits_for=Waits.REVIEW),
            "The agent has done its work; its pull request is not open yet.",
        ),
        (
            row(State.SLEEPING, waits_for=Waits.ANSWER),
            "The agent waits for an answer on this issue.",
        ),
        (row(State.COMPLETED, pull_request=7), "The agent is done; its pull request is #7."),
        (row(State.COMPLETED), "The agent is done: it found nothing to change."),
        (row(State.CANCELLED), "The agent is cancelled: somebody took the work away."),
        (
            row(State.CANCELLED, taken_away_at=START),
            "The agent is cancelled: somebody took the work away.",
        ),
        (row(State.ESCALATED), "Squadron stopped the agent: a human decides."),
        (row(State.ESCALATED, stop=TRIP), f"Squadron stopped the agent: {TRIP.reason}"),
    ],
)
def test_each_state_is_one_sentence(shown: Agent, sentence: str) -> None:
    assert state_sentence(seen(shown)) == sentence
    assert check_title(seen(shown)) == sentence


def test_a_review_that_github_refuses_is_no_review_that_was_submitted() -> None:
    shown = row(State.COMPLETED, summary="Wrong.")
    shown = replace(shown, assignment=replace(shown.assignment, kind=RoleKind.REVIEW))
    life = begun()
    remarks = (LineComment("a.py", 1, "Why?"),)
    tool = ClosingTool.SUBMIT_REVIEW
    life.happens(Reported(at=START, tool=tool, text="Wrong.", comments=remarks))
    done, refused = seen(shown, life), replace(seen(shown, life), review_refused="403:\nno.")
    assert state_sentence(done) == "The agent is done: it has written its review."
    assert "[x] review submitted" in progress_comment(done)
    assert "Wrong." not in progress_comment(done), "it is read in the review"
    assert (
        check_title(refused) == "The agent is done, and GitHub does not take its review: 403: no."
    )
    comment = progress_comment(refused)
    assert "[ ] review submitted" in comment
    assert "What it says:\n\n> Wrong.\n\n- `a.py`, line 1: Why?" in comment
    assert check_conclusion(shown, None) == "success"
    assert check_conclusion(shown, None, refused.review_refused) == "failure"


def test_a_question_is_repeated_where_it_is_waited_for_and_only_so_much_of_it() -> None:
    life = begun()
    asked = "Which\ncolour, @mona?" + " x" * 400
    life.happens(Reported(at=START, tool=ClosingTool.REPORT_BLOCKED, text=asked))
    life.happens(Slept(at=START, waits_for=Waits.ANSWER, blocked_by=(), reason=asked))
    sentence = state_sentence(seen(row(State.SLEEPING, waits_for=Waits.ANSWER), life))
    assert sentence.startswith(
        "The agent waits for an answer on this issue: Which colour, @\u200bmona? x x"
    )
    assert sentence.endswith("… (shortened)")
    most = len("The agent waits for an answer on this issue: ") + 500
    assert most - 15 < len(sentence) <= most


# --- where the work is ------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("shown", "last", "sentence"),
    [
        (row(sha=None), None, "Branch: `squadron/bug-fix/issue-12` (not created yet)."),
        (row(), None, "Branch: `squadron/bug-fix/issue-12` at `aaaaaaaaaaaa`."),
        (row(), kept(), "Branch: `squadron/bug-fix/issue-12` at `aaaaaaaaaaaa`."),
        (
            row(),
            kept(problem="one file was too big"),
            "Branch: `squadron/bug-fix/issue-12` at `aaaaaaaaaaaa`. one file was too big",
        ),
        (row(), kept(pushed=False), "Branch: `squadron/bug-fix/issue-12` at `aaaaaaaaaaaa`."),
        (
            row(),
            kept(pushed=False, problem="GitHub\nrefused"),
            "Branch: `squadron/bug-fix/issue-12`. **Squadron could not push the last work:** GitHub"
            " refused Squadron keeps it on its disk; the branch is at `aaaaaaaaaaaa`.",
        ),
        (
            row(sha=None),
            kept(pushed=False, problem="no branch"),
            "Branch: `squadron/bug-fix/issue-12`. **Squadron could not push the last work:** no"
            " branch Squadron keeps it on its disk; the branch is at `unknown`.",
        ),
        (
            row(State.ESCALATED),
            kept(),
            f"Branch: `squadron/bug-fix/issue-12` at `{SHA}` — work preserved for human pickup"
            " (verified on GitHub).",
        ),
        (
            row(State.ESCALATED),
            replace(kept(), diff=DiffSize(files=0, added=0, deleted=0)),
            "Branch: `squadron/bug-fix/issue-12`. The agent left no work on it.",
        ),
    ],
)
def test_a_commit_is_named_only_when_it_was_read_back(
    shown: Agent, last: Kept | None, sentence: str
) -> None:
    life = begun()
    if last is not None:
        life.happens(last)
    assert work_sentence(seen(shown, life)) == sentence


# --- the comment ------------------------------------------------------------------------------


def test_the_comment_of_a_running_agent() -> None:
    shown = row(summary="Half done.\nSee `a.py`.")
    assert (
        progress_comment(seen(shown, worked()))
        == f"""\
<!-- squadron:effect:octo/demo#12/bug-fix/1:comment -->

[squadron:bug-fix] The agent works.

- [x] workspace ready
- [x] at work (2 tool calls)
- [x] tests run (1)
- [ ] work pushed
- [ ] pull request opened
- [ ] finished

The agent says:

> Half done.
> See `a.py`.

Branch: `squadron/bug-fix/issue-12` at `aaaaaaaaaaaa`.

<details><summary>Test runs</summary>

{RUNS}

</details>

<details><summary>Limits</summary>

{LIMITS}

</details>

<sub>Agent `octo/demo#12/bug-fix/1`, started by mona (label squadron:bug-fix).</sub>"""
    )


def test_the_comment_of_an_agent_that_has_done_nothing_yet() -> None:
    shown = progress_comment(
        seen(row(State.QUEUED, sha=None, predecessor="octo/demo#12/bug-fix/0"))
    )
    assert "[squadron:bug-fix] The agent waits for a worker.\n\n- [ ] workspace ready\n" in shown
    assert "- [ ] at work (0 tool calls)\n- [ ] tests run (0)\n- [ ] work pushed\n" in shown
    assert "Test runs" not in shown and ">" not in shown.split("</sub>")[0].split("-->")[1][:150]
    assert shown.endswith(
        "<sub>Agent `octo/demo#12/bug-fix/1`, started by mona, successor of"
        " `octo/demo#12/bug-fix/0`.</sub>"
    )


@pytest.mark.parametrize(
    ("last", "is_pushed"),
    [(kept(), "x"), (kept(pushed=False), " "), (kept(problem="partly"), " ")],
)
def test_work_is_ticked_off_when_all_of_it_was_pushed(last: Kept, is_pushed: str) -> None:
    life = worked()
    life.happens(last)
    done = progress_comment(seen(row(State.COMPLETED, pull_request=7), life))
    assert f"- [{is_pushed}] work pushed\n- [x] pull request opened\n- [x] finished\n" in done


def test_an_escalation_without_a_trip_reads_like_any_other_state() -> None:
    assert "[squadron:bug-fix] Squadron stopped the agent: a human decides." in progress_comment(
        seen(row(State.ESCALATED))
    )


# --- the check --------------------------------------------------------------------------------


def test_the_checks_text_has_figures_and_the_summary() -> None:
    assert check_summary(seen(row(summary="Half done."), worked())) == (
        f"The agent says:\n\n> Half done.\n\n{LIMITS}\n\n"
        "Branch: `squadron/bug-fix/issue-12` at `aaaaaaaaaaaa`."
    )
    assert check_summary(seen(row(), worked())) == (
        f"{LIMITS}\n\nBranch: `squadron/bug-fix/issue-12` at `aaaaaaaaaaaa`."
    )
    assert check_name("pm") == "squadron/pm"


def test_limits_of_a_default_agent_are_all_shown() -> None:
    shown = check_summary(seen(agent(limits=Limits())))
    for armed in Limits().armed:
        assert f"| `{armed.name}` |" in shown


@pytest.mark.parametrize(
    ("place", "of_repository", "said"),
    [
        (1, 0, "it is next"),
        (2, 0, "one agent is ahead of it"),
        (2, 1, "one agent of this repository is ahead of it"),
        (3, 0, "2 agents are ahead of it"),
        (3, 1, "2 agents are ahead of it, one of this repository"),
        (3, 2, "2 agents of this repository are ahead of it"),
        (100, 98, "99 agents are ahead of it, 98 of this repository"),
        (100, 99, "99 agents of this repository are ahead of it"),
    ],
)
def test_where_it_stands_in_the_queue(place: int, of_repository: int, said: str) -> None:
    queued = replace(seen(row(State.QUEUED)), queue=QueuePlace(place, of_repository))
    assert state_sentence(queued) == f"The agent waits for a worker; {said}."
