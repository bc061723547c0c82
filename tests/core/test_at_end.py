"""The end of a session: which step follows from what the agent said and what became of its work."""

from collections.abc import Sequence
from dataclasses import replace

import pytest

from app.core.agents.agent import AgentId
from app.core.agents.events import AgentEvent, Failed, Waits, Woken
from app.core.agents.lifecycle import State
from app.core.agents.steps import Escalate, Finish, Requeue, Sleep, Step
from app.core.agents.stops import Cause, Failure
from app.core.agents.work import (
    Idle,
    KeptWork,
    ReportedBlocked,
    ReportedComplete,
    ReviewSubmitted,
    SessionEnd,
)
from app.core.steering.at_end import step_at_end
from app.core.steering.feedback import conflict_name, conflict_stays_words
from tests.core.strategies import START
from tests.core.wording import row

AGENT = row(State.ACTIVE)
PUSHED = KeptWork("a" * 40, is_pushed=True, has_changes=True)
TOLD_OF_A_CONFLICT = (
    Woken(at=START, why="It conflicts.", by="squadron", said=conflict_name("octo/demo", "b" * 40)),
)


def step(
    end: SessionEnd,
    kept: KeptWork = PUSHED,
    history: Sequence[AgentEvent] = (),
    unknown: Sequence[int] = (),
) -> Step:
    waits = row(State.SLEEPING, id=AgentId("octo/demo", 7, "docs", 1), blocked_by=(12,))
    return step_at_end(AGENT, end, kept, history, [AGENT, waits], START, unknown)


DONE = ReportedComplete("All done.")


@pytest.mark.parametrize(
    ("kept", "expected"),
    [
        (PUSHED, Sleep(Waits.REVIEW, "handed over", summary="All done.")),
        (
            replace(PUSHED, has_changes=False),
            Finish("All done.", "All done.", segment_ended="nothing to change"),
        ),
        (
            replace(PUSHED, is_pushed=False, problem="GitHub refused it."),
            Sleep(Waits.REVIEW, "handed over", summary="All done."),
        ),
        (
            replace(PUSHED, is_pushed=False, problem="GitHub is away.", is_away=True),
            Sleep(Waits.REVIEW, "handed over", summary="All done."),
        ),
        (
            KeptWork("a" * 40, False, "GitHub is away.", is_away=True),
            Finish("All done.", "All done.", segment_ended="nothing to change"),
        ),
        (
            KeptWork("a" * 40, False, "GitHub refused it."),
            Sleep(Waits.ANSWER, "GitHub refused it.", summary="All done."),
        ),
        (
            KeptWork(None, False, "The disk is away.", is_away=True),
            Sleep(Waits.ANSWER, "The disk is away.", summary="All done."),
        ),
        (
            replace(PUSHED, has_changes=False, problem="`.github/` was withheld."),
            Sleep(Waits.ANSWER, "`.github/` was withheld.", summary="All done."),
        ),
        (
            replace(PUSHED, problem="`.github/` was withheld."),
            Sleep(Waits.REVIEW, "handed over", summary="All done."),
        ),
        (
            replace(PUSHED, conflicts=("app.py",)),
            Sleep(Waits.REVIEW, "handed over", summary="All done."),
        ),
        (
            KeptWork("a" * 40, False, "Others pushed.", diverged=True),
            Requeue(
                "Others pushed.", "All done.", tell="Your work could not be pushed: Others pushed."
            ),
        ),
    ],
)
def test_who_is_done_hands_over_what_there_is(kept: KeptWork, expected: Step) -> None:
    assert step(DONE, kept) == expected


def test_a_conflict_is_told_once_and_then_stops_the_agent() -> None:
    stays = step(DONE, replace(PUSHED, conflicts=("app.py",)), TOLD_OF_A_CONFLICT)
    assert isinstance(stays, Escalate)
    words = conflict_stays_words(AGENT.default_branch, ("app.py",))
    assert stays.stop == Failure(cause=Cause.CONFLICT, at=START, reason=words)
    assert stays.summary == "All done."
    again = step(DONE, KeptWork("a" * 40, False, "Others pushed.", diverged=True, was_told=True))
    assert isinstance(again, Escalate)
    assert again.stop == Failure(cause=Cause.CONFLICT, at=START, reason="Others pushed.")


def test_what_the_log_says_first_stops_it() -> None:
    first = Failure(cause=Cause.DISK_FULL, at=START, reason="Too much.")
    history = (*TOLD_OF_A_CONFLICT, Failed(at=START, failure=first))
    stays = step(DONE, replace(PUSHED, conflicts=("app.py",)), history)
    assert isinstance(stays, Escalate)
    assert (stays.stop, stays.is_told) == (first, True)


def test_a_review_that_was_submitted_completes() -> None:
    assert step(ReviewSubmitted("Two remarks.", ()), KeptWork(None, False)) == Finish(
        "The review was submitted.", "Two remarks.", segment_ended="review submitted"
    )


def test_who_is_blocked_waits_for_each_issue_once() -> None:
    assert step(ReportedBlocked("Needs both.", (5, 3, 5, 0, -1))) == Sleep(
        Waits.BLOCKER, "Needs both.", (3, 5), "Needs both."
    )


@pytest.mark.parametrize(("unknown", "names"), [((5,), "#5"), ((3, 5), "#3, #5")])
def test_who_would_wait_for_what_does_not_exist_is_told_and_goes_on(
    unknown: tuple[int, ...], names: str
) -> None:
    answer = step(ReportedBlocked("Needs both.", (3, 5)), unknown=unknown)
    assert isinstance(answer, Requeue)
    assert answer.summary == "Needs both."
    assert f"there is no {names} in this repository" in answer.tell


@pytest.mark.parametrize("numbers", [(), (0,), (-3,)])
def test_who_names_no_issue_asks_people(numbers: tuple[int, ...]) -> None:
    assert step(ReportedBlocked("Which one?", numbers)) == Sleep(
        Waits.ANSWER, "Which one?", summary="Which one?"
    )


@pytest.mark.parametrize(
    ("number", "reason"),
    [
        (12, "The agent waits for its own issue #12."),
        (
            7,
            "The agents wait for each other in a circle: #12 waits for #7, #7 waits for #12.",
        ),
    ],
)
def test_nobody_waits_in_a_circle(number: int, reason: str) -> None:
    stopped = step(ReportedBlocked("Needs it.", (number,)))
    assert isinstance(stopped, Escalate)
    assert stopped.stop == Failure(cause=Cause.BLOCKED_IN_CIRCLE, at=START, reason=reason)
    assert stopped.summary == "Needs it."


@pytest.mark.parametrize(
    ("text", "words"), [("Hm.", "Hm."), ("", "The agent stopped without a word.")]
)
def test_who_goes_silent_asks_people(text: str, words: str) -> None:
    assert step(Idle(text)) == Sleep(Waits.ANSWER, words, summary=words)
