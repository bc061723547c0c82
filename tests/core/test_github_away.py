"""How long who could not begin waits for GitHub, and that this is no time at work."""

from datetime import timedelta

import pytest

from app.core.agents.counters import fold
from app.core.agents.events import (
    AgentEvent,
    HeldUp,
    LetOn,
    SegmentStarted,
    TurnAsked,
    Waits,
    Woken,
)
from app.core.effects.retry import MAX_RATE_LIMIT_WAIT
from app.core.steering.github_away import (
    FIRST_PAUSE,
    MOST_PAUSE,
    GitHubAway,
    try_again_at,
)
from tests.core.strategies import START, after_seconds

HELD_UP = HeldUp(at=START, waits_for=Waits.GIT, why="It does not answer.")
FULL = HeldUp(at=START, waits_for=Waits.ROOM, why="The disk is full.")
AWAY = GitHubAway("It does not answer.")


def pause(*history: AgentEvent, away: GitHubAway = AWAY) -> timedelta:
    return try_again_at(history, away, START) - START


@pytest.mark.parametrize(
    ("times", "seconds"), [(0, 5), (1, 10), (2, 20), (5, 160), (6, 300), (7, 300), (10_000, 300)]
)
def test_pauses_double_up_to_five_minutes(times: int, seconds: float) -> None:
    assert pause(*[HELD_UP] * times) == timedelta(seconds=seconds)
    assert FIRST_PAUSE <= timedelta(seconds=seconds) <= MOST_PAUSE


def test_they_begin_anew_when_the_agent_has_worked_or_was_woken() -> None:
    woken = Woken(at=START, why="", by="maria")
    for worked in (TurnAsked(at=START), woken):
        assert pause(HELD_UP, HELD_UP, worked) == FIRST_PAUSE
        assert pause(HELD_UP, HELD_UP, worked, HELD_UP) == 2 * FIRST_PAUSE


def test_what_else_held_it_up_does_not_count() -> None:
    assert pause(FULL, LetOn(at=START), HELD_UP, FULL) == 2 * FIRST_PAUSE


@pytest.mark.parametrize(
    ("resets_in", "waits"),
    [
        (timedelta(seconds=-60), FIRST_PAUSE),
        (timedelta(seconds=4), FIRST_PAUSE),
        (timedelta(minutes=40), timedelta(minutes=40)),
        (timedelta(days=3), MAX_RATE_LIMIT_WAIT),
    ],
)
def test_whom_github_asks_for_patience_is_patient(resets_in: timedelta, waits: timedelta) -> None:
    assert pause(away=GitHubAway("Slowly.", START + resets_in)) == waits


def test_asking_in_vain_is_no_time_at_work() -> None:
    first, second = (
        SegmentStarted(at=after_seconds(at), segment=number, attempt=1, worker="w")
        for number, at in enumerate((0, 100))
    )
    worked: list[AgentEvent] = [first, TurnAsked(at=after_seconds(40)), second]
    held_up = HeldUp(at=after_seconds(130), waits_for=Waits.GIT, why="It does not answer.")
    before = fold(worked).active
    asked: list[AgentEvent] = [*worked, TurnAsked(at=after_seconds(130))]
    assert fold(asked).active > before
    assert fold([*asked, held_up]).active == before
