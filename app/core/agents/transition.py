"""What a step does to an agent: its next state, what that clears, and what follows.

The table of `lifecycle.py` says which steps are possible; this page says all else. Nothing here
asks anybody: the time and the work that was kept are arguments.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Final, assert_never

from app.core.agents.agent import Agent
from app.core.agents.events import (
    AgentEvent,
    Braked,
    Decided,
    Finished,
    HeldUp,
    Kept,
    SegmentEnded,
    SegmentStarted,
    Slept,
    Summarised,
    TakenAway,
    Waits,
    Woken,
    stopped_for_good,
)
from app.core.agents.lifecycle import Signal, State, target
from app.core.agents.steps import (
    Abandon,
    Begin,
    Cancel,
    Death,
    Escalate,
    Finish,
    HoldBack,
    LetGoOn,
    Pause,
    RaiseLimits,
    Requeue,
    Sleep,
    Step,
    TakeAway,
    WakeUp,
    reason_of,
)
from app.core.agents.work import KeptWork, Publish, RunSegment, Work

MOST_SUMMARY_CHARACTERS: Final = 8_000
MOST_WHY_CHARACTERS: Final = 20_000
"""Of what an agent is told when it is woken."""
MOST_ENDED_CHARACTERS: Final = 500
"""Of why a segment ended, and why something was decided."""


@dataclass(frozen=True, slots=True)
class Transition:
    """One change of state, worked out before the database is asked."""

    before: Agent
    """As the mover saw it: compared on state, segment and attempt."""
    signal: Signal
    after: Agent
    """The row as it is to be. Summary, head and stop are written only where they differ."""
    events: tuple[AgentEvent, ...]
    """They explain it, in the order of the log; at least one."""
    follow: tuple[Work, ...]
    """Enqueued together with it."""
    joins_queue: bool = False
    """Whether the agent is in line for a worker afterwards; who is held back is queued, and not in
    line."""


def transition(agent: Agent, step: Step, kept: KeptWork | None, at: datetime) -> Transition:
    """What `step` changes. `kept`: what became of the work, if it was taken out for this step.

    Raises `ImpossibleTransition` if the agent's state does not allow it.
    """
    signal = signal_of(step)
    row = entered(agent, signal, at)
    if kept is not None and kept.verified is not None:
        row = replace(row, sha=kept.verified)
    ended = _segment_ended(agent, step, kept, at)
    match step:
        case Begin(worker=worker):
            row = replace(row, worker=worker, segment_attempts=agent.segment_attempts + 1)
            started = SegmentStarted(
                at=at,
                segment=row.segment,
                attempt=row.segment_attempts,
                worker=worker,
                clock_lead=step.clock_lead,
            )
            return moved(agent, signal, row, [started])
        case WakeUp():
            return moved(agent, signal, row, [_woken(step, at)])
        case Sleep():
            row = replace(row, waits_for=step.waits_for, blocked_by=step.blocked_by)
            slept = Slept(
                at=at,
                waits_for=step.waits_for,
                blocked_by=step.blocked_by,
                reason=_bounded(step.why),
            )
            return moved(agent, signal, _summed_up(row, step.summary), [*ended, slept])
        case Pause():
            return moved(agent, signal, replace(row, waits_for=Waits.RAISE), ended)
        case RaiseLimits():
            woken = _woken(WakeUp(step.why, step.by), at)
            return moved(agent, signal, row, [*step.raises, woken])
        case Requeue():
            told = [_woken(WakeUp(step.tell), at)] if step.tell else []
            return moved(agent, signal, row, [*ended, *told], step.pause_seconds)
        case HoldBack():
            row = _held_back(row, step)
            pause = 0.0
            if step.retry_at is not None:
                pause = max((step.retry_at - step.told.at).total_seconds(), 0)
            held = moved(agent, signal, row, [*ended, step.told], pause)
            return replace(held, joins_queue=False)
        case LetGoOn():
            return moved(agent, signal, row, [step.told])
        case Finish():
            finished = Finished(at=at, why=step.why, since=step.since)
            return moved(agent, signal, _summed_up(row, step.summary), [*ended, finished])
        case TakeAway():
            told_so = TakenAway(at=at, why=step.why, said=step.said, since=step.since)
            return moved(agent, signal, replace(row, taken_away_at=at), [told_so])
        case Cancel(told=told_so):
            cancelled = Finished(at=at, why=told_so.why, said=told_so.said, since=told_so.since)
            return moved(agent, signal, row, [*ended, cancelled])
        case Escalate():
            stopped = [] if step.is_told else [stopped_for_good(step.stop, at)]
            row = _summed_up(replace(row, stop=step.stop), step.summary or step.said_before)
            return moved(agent, signal, row, [*stopped, *ended])
        case Abandon():
            left = Finished(at=at, why=step.why)
            return moved(agent, signal, _summed_up(row, step.summary), [*ended, left])
        case _:
            assert_never(step)


def decided(rule: str, step: Step, at: datetime) -> Decided:
    """That a look at an agent has led to the step, and by which rule."""
    return Decided(at=at, rule=rule, reason=reason_of(step)[:MOST_ENDED_CHARACTERS])


def signal_of(step: Step) -> Signal:
    """Which column of the table of transitions a step is in."""
    match step:
        case Begin():
            return Signal.STARTED
        case WakeUp():
            return Signal.WOKEN
        case Sleep():
            return Signal.WAITS
        case Pause():
            return Signal.NEEDS_RAISE
        case RaiseLimits():
            return Signal.RAISED
        case Requeue() | HoldBack() | LetGoOn():
            return Signal.INTERRUPTED
        case Finish():
            return Signal.FINISHED
        case TakeAway():
            return Signal.TAKEN_AWAY
        case Cancel():
            return Signal.STOPPED
        case Escalate():
            return Signal.TRIPPED
        case Abandon():
            return Signal.ABANDONED
        case _:
            assert_never(step)


def keeps_work(agent: Agent, step: Step) -> bool:
    """Whether the agent's work is taken out of its workspace before the step.

    A sub-agent's work is its parent's. Who died, or waits in the queue, has nothing new, except
    that a brake shows people what was done before it.
    """
    if agent.parent is not None:
        return False
    match step:
        case Sleep() | Pause() | Cancel() | Escalate():
            return True
        case Requeue():
            return step.died is None
        case HoldBack(told=Braked()):
            return agent.state is State.ACTIVE or agent.sha is not None
        case HoldBack(told=HeldUp(waits_for=Waits.GIT)):
            return False  # nothing has begun, and nothing could be pushed
        case HoldBack():
            return agent.state is State.ACTIVE and step.ended_at is None
        case Begin() | WakeUp() | RaiseLimits() | LetGoOn() | Finish() | TakeAway() | Abandon():
            return False
        case _:
            assert_never(step)


def entered(agent: Agent, signal: Signal, at: datetime) -> Agent:
    """The row in its next state, with all that this state clears. Who is queued again begins a
    new segment; what an agent waits for is said anew by every step."""
    state = target(agent.state, signal)
    is_anew = state is State.QUEUED
    keeps_worker = state in (State.ACTIVE, State.STOPPING)
    return replace(
        agent,
        state=state,
        segment=agent.segment + 1 if is_anew else agent.segment,
        segment_attempts=0 if is_anew else agent.segment_attempts,
        worker=agent.worker if keeps_worker else None,
        waits_for=None,
        blocked_by=(),
        retry_at=None,
        missing_provider=None,
        updated_at=at,
    )


def moved(
    before: Agent,
    signal: Signal,
    after: Agent,
    events: Sequence[AgentEvent],
    pause_seconds: float = 0,
) -> Transition:
    """With the work that follows: the next segment of who is queued, and what people see.

    Raises `ValueError` for a change that no event explains.
    """
    if not events:
        raise ValueError(f"{before.id}: a change of state needs an event that explains it")
    follow = list[Work]()
    if before.parent is None and _is_shown(before, signal):
        occasion = f"{signal}:{before.segment}:{before.segment_attempts}"
        follow.append(Publish(before.id, occasion))
    is_in_line = before.parent is None and after.state is State.QUEUED
    if is_in_line:
        follow.append(RunSegment(before.id, after.segment, pause_seconds))
    return Transition(before, signal, after, tuple(events), tuple(follow), is_in_line)


def _is_shown(before: Agent, signal: Signal) -> bool:
    """A segment shows its start itself; who did not work when it was taken away ends at once."""
    if signal is Signal.TAKEN_AWAY:
        return before.state is State.ACTIVE
    return signal is not Signal.STARTED


def _segment_ended(
    agent: Agent, step: Step, kept: KeptWork | None, at: datetime
) -> list[AgentEvent]:
    """What the agent said, what became of its work, and the end of the segment that ran."""
    events, why, died, lost, ended_at = list[AgentEvent](), "", False, False, at
    match step:
        case Sleep(waits_for=waits_for, summary=summary):
            why = f"waits for {waits_for}"
        case Pause(hold=hold):
            why, summary = hold.reason, ""
        case Requeue(summary=summary):
            why, died, lost = step.why, step.died is not None, step.died is Death.WORKER
            ended_at = step.ended_at or at
        case Abandon(summary=summary):
            why, died, ended_at = step.why, step.died, step.ended_at or at
        case HoldBack(told=told, summary=summary):
            why, ended_at = told.why, step.ended_at or at
        case Finish(segment_ended=why, summary=summary):
            pass
        case Cancel():
            why, summary = "cancelled", ""
        case Escalate(stop=stop, summary=summary):
            why = stop.reason
        case Begin() | WakeUp() | RaiseLimits() | LetGoOn() | TakeAway():
            return []
        case _:
            assert_never(step)
    if summary:
        events.append(Summarised(at=at, text=_bounded(summary)))
    if kept is not None:
        events.append(taken_out(kept, at))
    if agent.worker is not None or isinstance(step, Requeue):  # also one that never began
        why = why[:MOST_ENDED_CHARACTERS]
        events.append(SegmentEnded(at=ended_at, why=why, died=died, lost=lost))
    return events


def _held_back(row: Agent, step: HoldBack) -> Agent:
    if isinstance(step.told, Braked):
        return row
    return replace(
        row,
        waits_for=step.told.waits_for,
        retry_at=step.retry_at,
        missing_provider=step.missing_provider,
    )


def _summed_up(row: Agent, summary: str) -> Agent:
    return replace(row, summary=_bounded(summary)) if summary else row


def _woken(step: WakeUp, at: datetime) -> Woken:
    why = step.why[:MOST_WHY_CHARACTERS]
    return Woken(at=at, why=why, by=step.by, said=step.said, feedback=step.feedback)


def taken_out(kept: KeptWork, at: datetime) -> Kept:
    """The event of work that was taken out of its workspace."""
    return Kept(
        at=at,
        sha=kept.verified,
        pushed=kept.is_pushed,
        problem=kept.problem,
        commits=kept.commits,
        diff=kept.diff,
        away=kept.is_away,
        content=kept.content,
        withheld=kept.withheld,
        deleted_tests=kept.deleted_tests,
        steering=kept.steering,
        made=kept.made,
    )


def _bounded(text: str) -> str:
    return text[:MOST_SUMMARY_CHARACTERS]
