"""GitHub's git is away: nobody ends, no clock runs, and what is missing is made up (promise 11)."""

from collections.abc import Iterator
from contextlib import contextmanager
from datetime import timedelta
from itertools import pairwise

import pytest

from app.core.agents.counters import fold
from app.core.agents.events import HeldUp, Waits
from app.core.agents.lifecycle import State
from app.core.steering.github_away import FIRST_PAUSE, MOST_PAUSE
from tests.stories.happening import (
    AGAIN,
    ASKING,
    ASKS,
    AT_REVIEW,
    FIXES,
    PAUSED,
    STOPPED,
    reviews,
)
from tests.support.people import REPOSITORY, Task, repository
from tests.support.steps import runs, writes
from tests.twins.story import Story, story

AWAY = "The requested URL returned error: 503"
WAITING = (State.QUEUED, Waits.GIT)
PLACES = {
    REPOSITORY: repository(
        {
            "fixer": {"max_active_duration": 60, "max_sleep_duration": 864_000},
            "stopper": {"max_tool_calls": 2},
            "pauser": {
                "max_tool_calls": 2,
                "on_limit": "pause",
                "max_sleep_duration": 864_000,
            },
        }
    )
}
ROLE_OF = {"stopped": "stopper", "paused": "pauser"}


@contextmanager
def trouble(squad: Story, what: str) -> Iterator[None]:
    """Git answers nothing meanwhile (`away`), or takes no push (`keeps_nothing`)."""
    squad.note("git", f"is in trouble: {what}")
    setattr(squad.workspace, what, AWAY)
    try:
        yield
    finally:
        setattr(squad.workspace, what, "")
        squad.note("git", "is back")


def active(squad: Story, task: Task) -> timedelta:
    return fold(squad.log(squad.agent(task).id)).active


def begins_without_git(squad: Story) -> Task:
    """An agent that could not begin, and of which GitHub has only words."""
    task = squad.give("fixer", "The answer is wrong", *FIXES)
    agent = squad.agent(task)
    assert (agent.state, agent.waits_for) == WAITING
    assert agent.retry_at is not None and agent.retry_at > squad.clock.now()
    [comment] = squad.comments(task)
    assert f"The agent waits for GitHub: GitHub does not answer ({AWAY})" in comment
    return task


@pytest.mark.parametrize("away", [{"seconds": 80}, {"hours": 6}, {"days": 3}], ids=str)
def test_who_cannot_begin_waits_and_no_clock_runs(away: dict[str, float]) -> None:
    with story(PLACES) as squad:
        with trouble(squad, "away"):
            task = begins_without_git(squad)
            squad.passes(**away)
            assert squad.states(task) == [WAITING]
            assert active(squad, task) == timedelta()
            retry_at = squad.agent(task).retry_at
            assert retry_at is not None and retry_at <= squad.clock.now() + MOST_PAUSE
        squad.passes(seconds=MOST_PAUSE.total_seconds())
        assert squad.states(task) == [AT_REVIEW]
        assert squad.checks(task)[0]["head_sha"] == squad.agent(task).sha
        assert squad.agent(task).pull_request is not None


def test_the_pauses_between_its_tries_grow_and_begin_anew_when_it_has_worked() -> None:
    with story(PLACES) as squad:
        with trouble(squad, "away"):
            task = begins_without_git(squad)
            first = squad.agent(task).retry_at
            for _ in range(6):
                squad.passes(minutes=1)
            later = squad.agent(task).retry_at
            assert first is not None and later is not None
            assert later - squad.clock.now() > timedelta(minutes=1)
        squad.passes(seconds=MOST_PAUSE.total_seconds())
        assert squad.states(task) == [AT_REVIEW]
        with trouble(squad, "away"):
            reviews(event="REQUEST_CHANGES", body="Explain it.")(squad, task)
            squad.settle()  # follows what is due soon
            assert squad.states(task) == [WAITING]
        log = squad.log(squad.agent(task).id)
        times = [event.at for event in log if isinstance(event, HeldUp)]
        pauses = [(later - at) / FIRST_PAUSE for at, later in pairwise(times)]
        assert [round(pause) for pause in pauses if pause < 7] == [1, 2, 4] * 2


def test_who_was_answered_while_git_is_away_goes_on_with_the_answer() -> None:
    with story(PLACES) as squad:
        task = squad.give("fixer", "The answer is wrong", *ASKS, *FIXES)
        with trouble(squad, "away"):
            squad.comment(task, "It is blue.")
            squad.settle()
            squad.passes(hours=1)
            assert squad.states(task) == [WAITING]
        squad.passes(seconds=MOST_PAUSE.total_seconds())
        assert squad.states(task) == [AT_REVIEW]
        assert squad.was_told(task, "It is blue.")


def test_a_restart_while_git_is_away_changes_nothing() -> None:
    with story(PLACES) as squad:
        with trouble(squad, "away"):
            task = begins_without_git(squad)
            for end in (squad.kill, squad.stop) * 3:
                end()
                squad.start()
                squad.passes(minutes=6)
            assert squad.states(task) == [WAITING]
        squad.passes(seconds=MOST_PAUSE.total_seconds())
        assert squad.states(task) == [AT_REVIEW]


# --- at the end of a segment -------------------------------------------------------------------

ENDS = {
    "handed over": (FIXES, AT_REVIEW),
    "asks": ((writes("answer", "42\n"), *ASKS), ASKING),
    "stopped": ((writes("answer", "42\n"), runs("true"), *FIXES), STOPPED),
    "paused": ((writes("answer", "42\n"), runs("true"), *FIXES), PAUSED),
}


@pytest.mark.parametrize("away", [{"seconds": 12}, {"hours": 6}, {"days": 3}], ids=str)
@pytest.mark.parametrize("end", ENDS)
def test_what_could_not_be_pushed_at_an_end_is_pushed_when_git_is_back(
    end: str, away: dict[str, float]
) -> None:
    """Whatever ended it; a pull request is opened of what GitHub has, and not before."""
    steps, ended = ENDS[end]
    with story(PLACES) as squad:
        task = squad.issue("The answer is wrong", *steps).by(ROLE_OF.get(end, "fixer"))
        with trouble(squad, "keeps_nothing"):
            squad.label(task, f"squadron:{task.role}")
            squad.settle()
            assert squad.states(task) == [ended]
            before = squad.agent(task)
            squad.passes(**away)
            assert squad.states(task) == [ended] and squad.agent(task).pull_request is None
            assert squad.agent(task).sha == before.sha, "GitHub has no more than that"
            assert "could not push the last work" in squad.comments(task)[0]
            assert "success" not in [check["conclusion"] for check in squad.checks(task)]
        squad.passes(hours=1)
        squad.passes(minutes=1)  # a comment is edited once a minute
        agent = squad.agent(task)
        assert squad.states(task) == [ended]
        assert agent.sha != before.sha
        assert "could not push the last work" not in squad.comments(task)[0]
        if ended == AT_REVIEW:
            assert agent.pull_request is not None
            assert squad.checks(task)[0]["conclusion"] == "success"
        if ended == STOPPED:
            squad.stopped(task)


def test_work_that_cannot_be_pushed_is_never_completed() -> None:
    """Beyond the time for a review it is asleep still, and the operator is reminded."""
    with story(PLACES) as squad:
        task = squad.issue("The answer is wrong", *FIXES).by("fixer")
        with trouble(squad, "keeps_nothing"):
            squad.label(task, "squadron:fixer")
            squad.settle()
            for _ in range(24):
                squad.passes(days=1)
            assert squad.states(task) == [AT_REVIEW]
            assert len(squad.alerts("unwritten")) >= 22
        squad.passes(hours=1)
        assert squad.agent(task).pull_request is not None
        assert squad.states(task) == [AT_REVIEW]


def test_who_is_told_what_to_do_about_a_refused_push_does_it() -> None:
    """A rule of the repository refuses the push; somebody says what to do, and it is done."""
    with story(PLACES) as squad:
        task = squad.give("fixer", "The answer is wrong", *ASKS, *FIXES, *AGAIN)
        squad.workspace.refused = "GH013: Repository rule violations found"
        squad.comment(task, "It is blue.")
        squad.settle()
        squad.passes(minutes=1)
        assert squad.states(task) == [AT_REVIEW]
        assert "GH013" in squad.comments(task)[0]
        squad.workspace.refused = ""
        squad.comment(task, "Write more, and try again.")
        squad.settle()
        assert squad.was_told(task, "Write more, and try again.")
        assert squad.agent(task).pull_request is not None
