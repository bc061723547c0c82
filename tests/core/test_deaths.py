"""What counts as a death under an agent, and what each leads to (docs/design.md, promise 11)."""

from itertools import pairwise

import pytest

from app.core.agents.deaths import (
    MOST_OF_RUNTIMES,
    MOST_OF_WORKERS,
    deaths,
    pause_after_runtime,
    pause_after_worker,
    too_many,
    workers_lost,
)
from app.core.agents.events import (
    AgentEvent,
    SegmentEnded,
    SegmentStarted,
    Slept,
    Spoke,
    Waits,
    Woken,
)
from app.core.agents.stops import Cause
from tests.core.strategies import START


def begun(worker: str) -> SegmentStarted:
    return SegmentStarted(at=START, segment=0, attempt=1, worker=worker)


ONE, TWO, THREE = begun("one"), begun("two"), begun("three")
NOBODY = begun("")
"""As logs say of old, which name no worker."""
DIED = SegmentEnded(at=START, why="exit code 1", died=True)
LOST = SegmentEnded(at=START, why="its worker is gone", died=True, lost=True)
CLOSED = SegmentEnded(at=START, why="the service was stopped")
ASLEEP = Slept(at=START, waits_for=Waits.ANSWER, blocked_by=(), reason="")
WOKEN = Woken(at=START, why="a comment", by="mona")
WORKED = Spoke(at=START)


@pytest.mark.parametrize(
    ("history", "of_runtimes", "of_workers"),
    [
        ([], 0, 0),
        ([ONE], 0, 0),
        ([ONE, WORKED, DIED], 1, 0),
        ([ONE, DIED, ONE], 1, 0),
        ([ONE, DIED, TWO], 1, 0),
        ([ONE, TWO], 0, 1),
        ([ONE, WORKED, TWO, WORKED, THREE], 0, 2),
        ([ONE, LOST, TWO], 0, 1),
        ([LOST, ONE], 0, 0),
        ([ONE, DIED, TWO, DIED, THREE], 2, 0),
        ([ONE, DIED, TWO, THREE], 1, 1),
        ([ONE, TWO, CLOSED, THREE], 0, 0),
        ([ONE, DIED, TWO, ASLEEP, THREE], 0, 0),
        ([ONE, DIED, TWO, WOKEN, THREE], 0, 0),
        ([ONE, ONE, ONE], 0, 0),
        ([NOBODY, NOBODY], 0, 1),
        ([NOBODY, ONE], 0, 1),
    ],
)
def test_of_what_has_died_each_kind_is_counted_apart(
    history: list[AgentEvent], of_runtimes: int, of_workers: int
) -> None:
    """A worker that begins once more itself has not died; who goes on now has not either."""
    assert deaths(history) == (of_runtimes, of_workers)


def test_a_worker_that_had_lost_the_database_did_not_die() -> None:
    assert deaths([ONE, TWO, THREE], {"one"}) == (0, 1)
    assert deaths([ONE, TWO, THREE], {"one", "two"}) == (0, 0)
    assert deaths([ONE, LOST, TWO], {"one"}) == (0, 0)


def test_what_died_in_all_its_life_is_counted_over_all_stretches() -> None:
    assert workers_lost([ONE, TWO, ASLEEP, WOKEN, CLOSED, TWO, TWO, THREE, DIED, ONE]) == 2


@pytest.mark.parametrize("died", range(MOST_OF_RUNTIMES + 2))
def test_a_runtime_that_dies_too_often_is_a_failure_with_its_last_words(died: int) -> None:
    history: list[AgentEvent] = [ONE, DIED] * died
    failure = too_many(history, (), START)
    assert (failure is None) == (died < MOST_OF_RUNTIMES)
    if failure is not None:
        assert failure.cause is Cause.RUNTIME_DIED
        assert f"died {died} times in a row. Its last words: exit code 1" in failure.reason


@pytest.mark.parametrize("died", [0, MOST_OF_WORKERS - 1, MOST_OF_WORKERS])
def test_workers_that_end_too_often_are_told_as_what_they_are(died: int) -> None:
    history = [begun(f"worker {n}") for n in range(died + 1)]
    failure = too_many(history, (), START)
    assert (failure is None) == (died < MOST_OF_WORKERS)
    if failure is not None:
        assert failure.cause is Cause.WORKER_DIED
        assert f"process that ran the agent ended {died} times in a row" in failure.reason
    assert too_many(history, {f"worker {n}" for n in range(3)}, START) is None


def test_after_each_death_of_a_runtime_it_rests_longer() -> None:
    pauses = [pause_after_runtime([ONE, DIED] * died) for died in range(MOST_OF_RUNTIMES)]
    assert pauses == [5, 10, 0], "after the last one a human decides, at once"


def test_after_each_death_of_a_worker_but_the_first_it_rests_longer() -> None:
    workers = [begun(f"worker {n}") for n in range(MOST_OF_WORKERS + 1)]
    pauses = [
        pause_after_worker(workers[:died], workers[died], ())
        for died in range(1, MOST_OF_WORKERS + 1)
    ]
    assert pauses == [0, 5, 10, 20, 40, 80, 160, 320, 600, 0]
    assert all(shorter < longer for shorter, longer in pairwise(pauses[:-1]))


def test_whoever_begins_once_more_himself_or_lost_the_database_does_not_rest() -> None:
    assert pause_after_worker([ONE, TWO], TWO, ()) == 0
    assert pause_after_worker([ONE, TWO], THREE, {"two"}) == 0
    assert pause_after_worker([ONE, TWO], THREE, ()) == 5
    assert pause_after_worker([ONE, TWO], LOST, ()) == 5
