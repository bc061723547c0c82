"""Deaths under an agent: what counts as one, how many may be in a row, and the pauses between.

A runtime that ends by itself, a worker that ends under the agent, and a database that is away are
three things. Only the first two are deaths, each counted apart; an outage ends nobody.
"""

from collections.abc import Collection, Iterable, Sequence
from datetime import datetime
from typing import Final, NamedTuple

from app.core.agents.events import AgentEvent, SegmentEnded, SegmentStarted, Slept, Woken
from app.core.agents.stops import Cause, Failure

MOST_OF_RUNTIMES: Final = 3
"""In a row, after which a human decides."""
MOST_OF_WORKERS: Final = 10
"""In a row, after which a human decides: a process may end for reasons that are not the agent's."""
FIRST_PAUSE_SECONDS: Final = 5.0
"""Before the next attempt; doubled with each further death."""
MOST_PAUSE_SECONDS: Final = 600.0


class Deaths(NamedTuple):
    """In the present stretch of work, in a row."""

    of_runtimes: int
    of_workers: int


def deaths(history: Iterable[AgentEvent], cut_off: Collection[str] = ()) -> Deaths:
    """How often a runtime, or a worker, has died under the agent of this log.

    Both counts begin anew when the stretch ends in an orderly way: the agent went to sleep, was
    woken, or was interrupted with its work kept. A worker of `cut_off` ended because it had lost
    the database: that counts as nothing, nor does a worker's own second attempt.
    """
    runtimes = workers = 0
    running: str | None = None
    for event in history:
        match event:
            case SegmentStarted(worker=worker):
                workers += _is_death(running, worker, cut_off)
                running = worker
            case Slept() | Woken() | SegmentEnded(died=False):
                runtimes, workers, running = 0, 0, None
            case SegmentEnded(lost=True):
                workers += _is_death(running, "", cut_off)
                running = None
            case SegmentEnded():
                runtimes, running = runtimes + 1, None
            case _:
                pass
    return Deaths(runtimes, workers)


def workers_lost(history: Iterable[AgentEvent]) -> int:
    """How often in all its life a segment was taken up since the worker that ran it was gone."""
    times, running = 0, None
    for event in history:
        match event:
            case SegmentStarted(worker=worker):
                times += _is_death(running, worker, ())
                running = worker
            case SegmentEnded():
                running = None
            case _:
                pass
    return times


def _is_death(running: str | None, worker: str, cut_off: Collection[str]) -> bool:
    """Whether the worker that ran the segment had died when `worker` took it up."""
    if running is None or running in cut_off:
        return False
    return not running or running != worker


def pause_after_runtime(history: Iterable[AgentEvent]) -> float:
    """Seconds until the attempt that follows one more death of a runtime."""
    return _pause_seconds(deaths(history).of_runtimes + 1, MOST_OF_RUNTIMES)


def pause_after_worker(
    history: Sequence[AgentEvent], seen_by: SegmentStarted | SegmentEnded, cut_off: Collection[str]
) -> float:
    """Seconds until the attempt that follows the death of a worker, if `seen_by` shows that there
    was one. The first costs none: that is how any restart looks."""
    before = deaths(history, cut_off).of_workers
    died = deaths([*history, seen_by], cut_off).of_workers
    return _pause_seconds(died - 1, MOST_OF_WORKERS - 1) if died > before else 0


def _pause_seconds(died: int, most: int) -> float:
    """After the last one a human decides, at once."""
    if not 0 < died < most:
        return 0
    return min(FIRST_PAUSE_SECONDS * 2.0 ** (died - 1), MOST_PAUSE_SECONDS)


def too_many(
    history: Sequence[AgentEvent], cut_off: Collection[str], at: datetime
) -> Failure | None:
    """What stops an agent under which so much has died, if anything."""
    died = deaths(history, cut_off)
    if died.of_runtimes >= MOST_OF_RUNTIMES:
        said = [e.why for e in history if isinstance(e, SegmentEnded) and e.died and not e.lost]
        reason = f"The runtime died {died.of_runtimes} times in a row. Its last words: {said[-1]}"
        return Failure(cause=Cause.RUNTIME_DIED, at=at, reason=reason)
    if died.of_workers >= MOST_OF_WORKERS:
        reason = (
            f"The Squadron process that ran the agent ended {died.of_workers} times in a row"
            " under it. The log of that process, or of what starts it, says why."
        )
        return Failure(cause=Cause.WORKER_DIED, at=at, reason=reason)
    return None
