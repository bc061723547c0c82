"""What happens to an agent next, decided from what is seen of its world. Pure.

Each rule answers for itself: a step, a fact that it needs before it can tell, why all stays as it
is, or nothing where it is not concerned. The order of the rules is the policy: what people did
comes before what the clock says.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import Final

from app.core.agents.agent import Agent
from app.core.agents.counters import fold
from app.core.agents.deaths import pause_after_worker
from app.core.agents.events import (
    AgentEvent,
    Braked,
    BrakeLifted,
    SegmentEnded,
    SegmentStarted,
    SpokenTo,
    TakenAway,
    Waits,
    Woken,
)
from app.core.agents.lifecycle import State
from app.core.agents.steps import (
    Cancel,
    Death,
    Finish,
    Requeue,
    Sleep,
    Step,
    TakeAway,
    WakeUp,
    escalation,
)
from app.core.agents.stops import Cause, Failure
from app.core.breaker.clocks import overdue, review_is_over
from app.core.steering.blockers import waits_in_circle
from app.core.steering.feedback import conflict_stays_words
from app.core.steering.ownership import Taken
from app.core.steering.seen import AS_IT_WAS, UNKNOWN, Answer, Fact, LifeSeen, PullSeen, Seen

ACCESS_AGAIN: Final = "Squadron has access to the repository again."


@dataclass(frozen=True, slots=True)
class Need:
    """The decision hangs on this fact: whoever looks has to gather it, and ask again."""

    fact: Fact


@dataclass(frozen=True, slots=True)
class Stays:
    """The rule is concerned, and changes nothing."""

    why: str
    """For people, half a sentence."""


@dataclass(frozen=True, slots=True)
class Decision:
    """What a look at an agent leads to."""

    rule: str
    """Who wants it, by its name in `RULES`."""
    step: Step


Answered = Step | Need | Stays | None
"""None: the rule is not concerned."""
Rule = Callable[[Agent, Seen], Answered]


def next_step(agent: Agent, seen: Seen) -> Decision | Need | None:
    """The step that the first rule wants that wants one, or what it needs to know; None: nothing
    happens. For agents that have not ended, sub-agents left out: those end with their parents."""
    for rule in RULES:
        match rule(agent, seen):
            case Stays() | None:
                continue
            case Need() as need:
                return need
            case step:
                return Decision(rule.__name__, step)
    return None


def why_it_stays(agent: Agent, history: Sequence[AgentEvent], now: datetime) -> Mapping[str, str]:
    """Why nothing moves the agent of this log, as far as was seen by the last look: what each rule
    says that is concerned, by its name. Nothing of who has ended, or ends with its parent."""
    if agent.is_final or agent.parent is not None:
        return {}
    life = LifeSeen(is_pending=True, has_worker=True)
    facts = replace(AS_IT_WAS, life=life, is_current=True)
    seen = Seen(now, history, fold(history), facts)
    answers = ((rule.__name__, rule(agent, seen)) for rule in RULES)
    return {name: answer.why for name, answer in answers if isinstance(answer, Stays)}


def stopping(agent: Agent, seen: Seen) -> Answered:
    """Who was taken away ends as soon as nothing of it runs. Nothing else counts then."""
    if agent.state is not State.STOPPING:
        return None
    if agent.worker is not None:
        if seen.facts.life is UNKNOWN:
            return Need(Fact.LIFE)
        if seen.facts.life.is_pending:
            return Stays("its segment ends it as soon as nothing of it runs")
    return Cancel(next(event for event in seen.history if isinstance(event, TakenAway)))


def ended_by_people(agent: Agent, seen: Seen) -> Answered:
    """A merge, a closed pull request, or work that was taken away: the first of these counts."""
    taken, pull = seen.facts.taken, seen.facts.pull
    if agent.state is State.STOPPING:
        return None
    if taken is UNKNOWN:
        return Need(Fact.OWNERSHIP)
    if pull is UNKNOWN:
        if agent.pull_request is not None or agent.waits_for is Waits.REVIEW:
            return Need(Fact.PULL_REQUEST)
        pull = None
    if pull is None or pull.is_open or _came_first(taken, pull):
        if taken is None:
            return Stays("nobody has taken its work away")
        return TakeAway(taken.why, since=taken.at)
    if pull.is_merged:
        return Finish(f"#{pull.number} was merged.", since=pull.ended_at)
    return TakeAway(f"#{pull.number} was closed without merging.", since=pull.ended_at)


def access(agent: Agent, seen: Seen) -> Answered:
    """Who is at work in a repository that lets nobody in waits; who waited for that goes on."""
    lost = seen.facts.lost_access
    if lost and agent.state is State.ACTIVE:
        return Sleep(Waits.ACCESS, lost)
    if agent.waits_for is not Waits.ACCESS:
        return None
    return WakeUp(ACCESS_AGAIN) if lost == "" else Stays("the App is not let in yet")


def unblocked(agent: Agent, seen: Seen) -> Answered:
    """Who waits for other issues goes on when these are closed."""
    if agent.state is not State.SLEEPING or agent.waits_for is not Waits.BLOCKER:
        return None
    if seen.facts.blockers_free is UNKNOWN:
        return Need(Fact.BLOCKERS)
    names = ", ".join(f"#{number}" for number in agent.blocked_by)
    if not seen.facts.blockers_free:
        return Stays(f"not all of these are closed: {names}")
    return WakeUp(f"Closed meanwhile: {names}.")


def in_circle(agent: Agent, seen: Seen) -> Answered:
    """Of agents that wait for each other the one ends that fell asleep last, and people hear of it:
    by themselves none of them would ever go on."""
    if agent.state is not State.SLEEPING or agent.waits_for is not Waits.BLOCKER:
        return None
    if seen.facts.circle is UNKNOWN:
        return Need(Fact.CIRCLE)
    if not seen.facts.circle:
        return Stays("it closes no circle of agents that wait for each other")
    return escalation(seen.history, waits_in_circle(agent.id.issue, seen.facts.circle, seen.now))


def answered(agent: Agent, seen: Seen) -> Answered:
    """Words of people wake who asleep waits for them."""
    if not _listens(agent):
        return None
    answer = seen.facts.answer
    if answer is None or not is_answered(agent, answer, seen.history):
        since = agent.updated_at.astimezone(UTC)
        return Stays(f"nobody whose words count has written since {since:%Y-%m-%d %H:%M:%S}")
    return WakeUp(answer.why, answer.by, answer.said)


def is_answered(agent: Agent, answer: Answer, history: Sequence[AgentEvent]) -> bool:
    """Whether words wake the agent of this log. What was written before it fell asleep is no
    answer to what it asked then, and the same words wake once, or are in a prompt once."""
    if not _listens(agent):
        return False
    if answer.at is not None and answer.at < agent.updated_at.replace(microsecond=0):
        return False
    heard = (event.said for event in history if isinstance(event, Woken | SpokenTo))
    return answer.said not in heard


def feedback(agent: Agent, seen: Seen) -> Answered:
    """What comes to the pull request of who handed over, or asks while it has one."""
    if not agent.is_woken_by_reviews:
        return None
    came = seen.facts.feedback
    if came is UNKNOWN:
        return Need(Fact.FEEDBACK)
    if came is None:
        return Stays(f"nothing has come to #{agent.pull_request} that it was not told of")
    if came.conflict_stays:
        words = conflict_stays_words(agent.default_branch)
        failure = Failure(cause=Cause.CONFLICT, at=seen.now, reason=words)
        return escalation(seen.history, failure)
    return WakeUp("\n\n".join(came.words), came.by, came.conflict or None, came.names)


def lost_work(agent: Agent, seen: Seen) -> Answered:
    """Nobody works on the segment any more, nor will: it goes on with the next one. Who is held
    back in the queue has no work there."""
    is_held_back = agent.waits_for is not None or _is_braked(seen)
    if agent.state not in (State.QUEUED, State.ACTIVE):
        return None
    if agent.state is State.QUEUED and is_held_back:
        return Stays("it is held back in the queue")
    if seen.facts.life is UNKNOWN:
        return Need(Fact.LIFE)
    if seen.facts.life.is_pending:
        return Stays("its work is in the queue, or runs")
    is_gone = agent.state is State.ACTIVE
    why = "its worker is gone" if is_gone else "its work was lost"
    ended = SegmentEnded(at=seen.now, why=why, died=True, lost=True)
    return Requeue(
        why,
        died=Death.WORKER,
        ended_at=seen.counters.clock,
        pause_seconds=pause_after_worker(seen.history, ended, ()),
    )


def late(agent: Agent, seen: Seen) -> Answered:
    """The clock comes last: who waits is late only when nothing that people did is unseen."""
    if agent.state in (State.QUEUED, State.STOPPING):
        return None
    if agent.state is State.ACTIVE:
        if seen.facts.life is UNKNOWN:
            return Need(Fact.LIFE)
        if not seen.facts.life.has_worker:
            return Stays("no time passes for it while its worker is gone, or stands still")
        if not seen.is_steady:
            return Stays("the clock was set just now; its worker notes that first")
    elif not seen.facts.is_current:
        return Stays("the clock waits until all is seen that people did")
    trip = overdue(agent, seen.counters, seen.now, seen.braked_for)
    if trip is not None:
        return escalation(seen.history, trip)
    if review_is_over(agent, seen.history, seen.now, seen.braked_for):
        if agent.pull_request is None:
            return Stays("its work is not handed over as long as it has no pull request")
        return Finish("The review was waited for long enough.")
    return Stays("none of its times is over")


RULES: Final[tuple[Rule, ...]] = (
    stopping,
    ended_by_people,
    access,
    unblocked,
    answered,
    in_circle,
    feedback,
    lost_work,
    late,
)
"""In this order; the first answer counts."""


def _listens(agent: Agent) -> bool:
    """Whether it is asleep until somebody writes, if nothing else wakes it; also with work that
    GitHub does not take: it can be told what to do about that."""
    return agent.state is State.SLEEPING and not agent.is_under_review


def _is_braked(seen: Seen) -> bool:
    """Whether the agent was told of a brake, and has not gone on since."""
    for event in reversed(seen.history):
        if isinstance(event, Braked):
            return True
        if isinstance(event, BrakeLifted | SegmentStarted):
            return False
    return False


def _came_first(taken: Taken | None, pull: PullSeen) -> bool:
    """Whether the work was taken away before the pull request ended. A merge closes the issue,
    too, and GitHub tells both by the second."""
    if taken is None or taken.at is None:
        return False
    return pull.ended_at is None or taken.at < pull.ended_at
