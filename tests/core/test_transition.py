"""What each step does to an agent, from each state: events, row, and the work that follows."""

from dataclasses import replace
from datetime import timedelta
from itertools import product

import pytest

from app.core.agents.agent import Agent
from app.core.agents.counters import fold
from app.core.agents.events import (
    Braked,
    BrakeLifted,
    Failed,
    Finished,
    HeldUp,
    Kept,
    LetOn,
    Raised,
    SegmentEnded,
    SegmentStarted,
    Slept,
    Summarised,
    TakenAway,
    Tripped,
    Waits,
    Woken,
)
from app.core.agents.lifecycle import FINAL, ImpossibleTransition, State, target
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
    escalation,
)
from app.core.agents.stops import Cause, Failure, Hold, Layer, Trip
from app.core.agents.transition import (
    MOST_SUMMARY_CHARACTERS,
    MOST_WHY_CHARACTERS,
    keeps_work,
    signal_of,
    transition,
)
from app.core.agents.work import KeptWork, RunSegment
from app.core.breaker.clocks import waits_since
from app.core.limits import LimitName
from tests.core.strategies import START
from tests.core.wording import row

NOW = START + timedelta(hours=1)
EARLIER = START + timedelta(minutes=50)
HELD = Hold(
    limit=LimitName.MAX_TURNS, observed=5, maximum=5, layer=Layer.HOOK, at=NOW, reason="Five turns."
)
TRIP = Trip(
    limit=LimitName.MAX_TURNS, observed=5, maximum=5, layer=Layer.HOOK, at=NOW, reason="Five turns."
)
FAILURE = Failure(cause=Cause.SETUP_FAILED, at=NOW, reason="It does not build.")
BRAKED = Braked(at=NOW, why="ada paused all.", scope="all", since=NOW)
NO_ROOM = HeldUp(at=NOW, waits_for=Waits.ROOM, why="The disk is full.")
AWAY = HeldUp(at=NOW, waits_for=Waits.PROVIDER, why="It is away.")
RAISED = Raised(at=NOW, limit=LimitName.MAX_TURNS, amount=5, maximum=10, by="ada")
TOLD = TakenAway(at=EARLIER, why="#12 was closed.", said="comment 7", since=EARLIER)
WORK = KeptWork("b" * 40, is_pushed=True, commits=("One",))
STEPS: tuple[Step, ...] = (
    Begin("worker-1", 1_000.0),
    WakeUp("#3 was closed."),
    Sleep(Waits.ANSWER, "Which?"),
    Pause(HELD),
    RaiseLimits((RAISED,), "ada raised it.", "ada"),
    Requeue("It was drained."),
    HoldBack(BRAKED),
    HoldBack(NO_ROOM),
    LetGoOn(BrakeLifted(at=NOW)),
    LetGoOn(LetOn(at=NOW)),
    Finish("Merged."),
    TakeAway("#12 was closed."),
    Cancel(TOLD),
    Escalate(TRIP),
    Abandon("Its process died."),
)


def at_work(state: State = State.ACTIVE) -> Agent:
    """An agent whose row is full of what a change of state has to clear."""
    is_asleep = state is State.SLEEPING
    return row(
        state,
        segment=3,
        segment_attempts=2,
        worker="worker-1" if state is State.ACTIVE else None,
        waits_for=Waits.BLOCKER if is_asleep else None,
        blocked_by=(7,) if is_asleep else (),
        retry_at=NOW if state is State.QUEUED else None,
        missing_provider="openai" if state is State.QUEUED else None,
        sha="a" * 40,
        summary="half done",
    )


@pytest.mark.parametrize(("state", "step"), list(product(State, STEPS)))
def test_every_step_from_every_state(state: State, step: Step) -> None:
    """What the table refuses changes nothing; all else is one row that fits its state."""
    before, signal = at_work(state), signal_of(step)
    try:
        reached = target(state, signal)
    except ImpossibleTransition:
        with pytest.raises(ImpossibleTransition):
            transition(before, step, None, NOW)
        return
    change = transition(before, step, WORK if keeps_work(before, step) else None, NOW)
    after = change.after
    assert (change.before, change.signal, after.state) == (before, signal, reached)
    assert change.events and after.updated_at == NOW
    is_anew = reached is State.QUEUED
    assert after.segment == before.segment + is_anew
    if is_anew:
        assert after.segment_attempts == 0
    assert (after.worker is None) == (reached is not State.ACTIVE) or reached is State.STOPPING
    if reached in FINAL or reached is State.ACTIVE:
        assert (after.waits_for, after.blocked_by) == (None, ())
        assert (after.retry_at, after.missing_provider) == (None, None)
    runs = [work.id for work in change.follow if ":seg:" in work.id]
    assert runs == ([f"agent:{before.id}:seg:4"] if is_anew else [])


@pytest.mark.parametrize("step", [step for step in STEPS if not isinstance(step, Begin)])
@pytest.mark.parametrize("state", [state for state in State if state not in FINAL])
def test_nothing_of_a_sub_agent_is_enqueued_or_kept(state: State, step: Step) -> None:
    child = replace(at_work(state), parent="octo/demo#12/planner/1")
    assert not keeps_work(child, step)
    try:
        assert transition(child, step, None, NOW).follow == ()
    except ImpossibleTransition:
        with pytest.raises(ImpossibleTransition):
            target(state, signal_of(step))


def begins(attempt: int, worker: str) -> SegmentStarted:
    return SegmentStarted(at=NOW, segment=3, attempt=attempt, worker=worker, clock_lead=1_000.0)


def test_a_segment_begins_and_begins_once_more_after_a_death() -> None:
    queued = at_work(State.QUEUED)
    begun = transition(replace(queued, segment_attempts=0), Begin("worker-1", 1_000.0), None, NOW)
    assert begun.events == (begins(1, "worker-1"),)
    assert (begun.after.worker, begun.after.segment_attempts) == ("worker-1", 1)
    assert begun.follow == (), "its first publication is asked for when the workspace is there"
    again = transition(begun.after, Begin("worker-2", 1_000.0), None, NOW)
    assert again.events == (begins(2, "worker-2"),)
    assert (again.after.worker, again.after.segment_attempts) == ("worker-2", 2)


def test_a_sleeper_says_what_it_waits_for_and_its_work_is_kept() -> None:
    step = Sleep(Waits.BLOCKER, "Needs #7.", (7,), "half of it")
    change = transition(at_work(), step, WORK, NOW)
    assert change.events == (
        Summarised(at=NOW, text="half of it"),
        Kept(at=NOW, sha="b" * 40, pushed=True, problem="", commits=("One",)),
        SegmentEnded(at=NOW, why="waits for blocker"),
        Slept(at=NOW, waits_for=Waits.BLOCKER, blocked_by=(7,), reason="Needs #7."),
    )
    after = change.after
    assert (after.waits_for, after.blocked_by) == (Waits.BLOCKER, (7,))
    assert (after.sha, after.summary) == ("b" * 40, "half of it")


@pytest.mark.parametrize("step", [Sleep(wait, "Waits.") for wait in Waits] + [Pause(HELD)])
def test_the_row_says_since_when_an_agent_waits(step: Step) -> None:
    """So nobody has to read the log of one that waits not long enough to be late."""
    began = SegmentStarted(at=NOW - timedelta(hours=1), segment=3, attempt=2)
    change = transition(at_work(), step, WORK, NOW)
    assert waits_since(change.after, fold([began, *change.events])) == change.after.updated_at


def test_work_that_did_not_reach_github_leaves_the_head_as_it_was() -> None:
    lost = KeptWork("b" * 40, is_pushed=False, problem="GitHub did not answer.")
    change = transition(at_work(), Sleep(Waits.ANSWER, "Which?"), lost, NOW)
    assert change.after.sha == "a" * 40
    assert change.events[0] == Kept(
        at=NOW, sha=None, pushed=False, problem="GitHub did not answer."
    )
    assert change.after.summary == "half done"


def test_who_is_woken_learns_why() -> None:
    step = WakeUp("x" * (MOST_WHY_CHARACTERS + 1), "ada", "comment 7", ("review 8",))
    [woken] = transition(at_work(State.SLEEPING), step, None, NOW).events
    why = "x" * MOST_WHY_CHARACTERS
    assert woken == Woken(at=NOW, why=why, by="ada", said="comment 7", feedback=("review 8",))


def test_a_pause_waits_for_a_raise_and_a_raise_tells_of_it() -> None:
    paused = transition(at_work(), Pause(HELD), WORK, NOW)
    assert [type(event) for event in paused.events] == [Kept, SegmentEnded]
    assert paused.after.waits_for is Waits.RAISE
    raised = transition(paused.after, RaiseLimits((RAISED,), "ada raised it.", "ada"), None, NOW)
    assert raised.events == (RAISED, Woken(at=NOW, why="ada raised it.", by="ada"))
    assert raised.after.waits_for is None


def test_a_dead_segment_ended_when_it_was_last_heard_of() -> None:
    step = Requeue("Its worker is gone.", died=Death.WORKER, ended_at=EARLIER, pause_seconds=5)
    change = transition(at_work(), step, None, NOW)
    assert change.events == (
        SegmentEnded(at=EARLIER, why="Its worker is gone.", died=True, lost=True),
    )
    [shown, run] = change.follow
    assert shown.id.endswith(":effects:interrupted:3:2")
    assert run == RunSegment(at_work().id, 4, delay_seconds=5)


def test_an_interrupted_agent_goes_on_with_what_it_is_told() -> None:
    change = transition(at_work(), Requeue("Others pushed.", "So far", tell="Look."), WORK, NOW)
    assert [type(event) for event in change.events] == [Summarised, Kept, SegmentEnded, Woken]
    assert change.events[-1] == Woken(at=NOW, why="Look.", by="squadron")
    assert change.after.summary == "half done", "the summary of an end is not yet there"


def test_who_is_held_back_waits_in_the_queue_until_its_time() -> None:
    retry_at = NOW + timedelta(seconds=90)
    step = HoldBack(AWAY, retry_at=retry_at, missing_provider="openai")
    change = transition(at_work(), step, WORK, NOW)
    assert [type(event) for event in change.events] == [Kept, SegmentEnded, HeldUp]
    after = change.after
    assert (after.waits_for, after.retry_at) == (Waits.PROVIDER, retry_at)
    assert after.missing_provider == "openai"
    assert change.follow[-1].delay_seconds == 90

    braked = transition(replace(at_work(State.QUEUED), worker=None), HoldBack(BRAKED), WORK, NOW)
    assert [type(event) for event in braked.events] == [Kept, Braked]
    assert (braked.after.waits_for, braked.after.retry_at) == (None, None)
    gone = transition(at_work(), HoldBack(NO_ROOM, ended_at=EARLIER), None, NOW)
    assert gone.events == (SegmentEnded(at=EARLIER, why=NO_ROOM.why), NO_ROOM)


def test_who_is_taken_away_stops_first_and_is_cancelled_when_its_work_is_kept() -> None:
    told = transition(at_work(), TakeAway(TOLD.why, TOLD.said, TOLD.since), None, EARLIER)
    assert told.events == (TOLD,)
    assert (told.after.state, told.after.taken_away_at) == (State.STOPPING, EARLIER)
    assert told.after.worker == "worker-1", "what it runs is still there"
    assert [work.id for work in told.follow] == [f"agent:{told.before.id}:effects:taken_away:3:2"]
    ended = transition(told.after, Cancel(TOLD), WORK, NOW)
    assert ended.events[1:] == (
        SegmentEnded(at=NOW, why="cancelled"),
        Finished(at=NOW, why=TOLD.why, said=TOLD.said, since=TOLD.since),
    )
    assert (ended.after.taken_away_at, ended.after.worker) == (EARLIER, None)
    asleep = transition(at_work(State.SLEEPING), TakeAway("#12 was closed."), None, NOW)
    assert asleep.follow == (), "it ends at once, and that is shown"


def test_an_agent_is_stopped_once_by_what_its_log_says_first() -> None:
    seen = escalation((Summarised(at=EARLIER, text="So far"),), TRIP)
    assert seen == Escalate(TRIP, is_told=False, summary="", said_before="So far")
    change = transition(at_work(), seen, WORK, NOW)
    assert [type(event) for event in change.events] == [Tripped, Kept, SegmentEnded]
    assert (change.after.stop, change.after.summary) == (TRIP, "So far")

    first = escalation((Failed(at=EARLIER, failure=FAILURE),), TRIP, "Last words")
    assert (first.stop, first.is_told) == (FAILURE, True)
    change = transition(at_work(), first, WORK, NOW)
    assert [type(event) for event in change.events] == [Summarised, Kept, SegmentEnded]
    assert (change.after.stop, change.after.summary) == (FAILURE, "Last words")


def test_who_ends_asleep_has_no_segment_to_end() -> None:
    merged = transition(at_work(State.SLEEPING), Finish("#9 was merged.", since=EARLIER), None, NOW)
    assert merged.events == (Finished(at=NOW, why="#9 was merged.", since=EARLIER),)
    stopped = transition(at_work(State.SLEEPING), Escalate(TRIP), WORK, NOW)
    assert [type(event) for event in stopped.events] == [Tripped, Kept]
    at_once = transition(
        at_work(), Finish("Nothing.", segment_ended="nothing to change"), None, NOW
    )
    assert at_once.events[0] == SegmentEnded(at=NOW, why="nothing to change")


def test_a_sub_agent_that_nobody_runs_died_when_it_was_last_heard_of() -> None:
    step = Abandon("Its process died.", died=True, ended_at=EARLIER)
    change = transition(replace(at_work(), parent="octo/demo#1/planner/1"), step, None, NOW)
    assert change.events == (
        SegmentEnded(at=EARLIER, why="Its process died.", died=True),
        Finished(at=NOW, why="Its process died."),
    )


def test_words_are_bounded() -> None:
    long = "x" * (MOST_SUMMARY_CHARACTERS + 1)
    change = transition(at_work(), Sleep(Waits.ANSWER, long, summary=long), WORK, NOW)
    said, _, _, slept = change.events
    assert isinstance(said, Summarised) and isinstance(slept, Slept)
    assert len(said.text) == len(slept.reason) == len(change.after.summary) == len(long) - 1
    why = transition(at_work(), Requeue(long), None, NOW).events[0]
    assert isinstance(why, SegmentEnded) and len(why.why) == 500


@pytest.mark.parametrize(
    ("state", "step", "keeps"),
    [
        (State.ACTIVE, Sleep(Waits.ANSWER, "Which?"), True),
        (State.ACTIVE, Pause(HELD), True),
        (State.SLEEPING, Escalate(TRIP), True),
        (State.STOPPING, Cancel(TOLD), True),
        (State.ACTIVE, Requeue("It was drained."), True),
        (State.ACTIVE, Requeue("It died.", died=Death.RUNTIME), False),
        (State.ACTIVE, HoldBack(NO_ROOM), True),
        (State.ACTIVE, HoldBack(NO_ROOM, ended_at=EARLIER), False),
        (State.QUEUED, HoldBack(NO_ROOM), False),
        (State.QUEUED, HoldBack(BRAKED), True),
        (State.SLEEPING, Finish("Merged."), False),
        (State.SLEEPING, WakeUp("Closed."), False),
        (State.ACTIVE, TakeAway("Closed."), False),
    ],
)
def test_what_runs_is_kept_before_the_step(state: State, step: Step, keeps: bool) -> None:
    assert keeps_work(at_work(state), step) is keeps


def test_a_brake_shows_only_work_that_is_there() -> None:
    assert not keeps_work(replace(at_work(State.QUEUED), sha=None), HoldBack(BRAKED))
