"""One decision for each agent: state and what it waits for, against each fact that is seen."""

from collections.abc import Mapping
from dataclasses import replace
from datetime import timedelta
from itertools import permutations, product
from typing import Any, Final

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.core.agents.agent import Agent
from app.core.agents.counters import fold
from app.core.agents.events import (
    AgentEvent,
    Braked,
    BrakeLifted,
    Created,
    HandedOver,
    SegmentStarted,
    Slept,
    SpokenTo,
    TakenAway,
    Waits,
    Woken,
)
from app.core.agents.lifecycle import FINAL, State
from app.core.agents.steps import (
    Cancel,
    Death,
    Escalate,
    Finish,
    Requeue,
    Sleep,
    Step,
    TakeAway,
    WakeUp,
)
from app.core.agents.stops import Cause, Failure, Layer, Trip
from app.core.agents.transition import transition
from app.core.agents.work import KeptWork
from app.core.breaker.clocks import may_be_late
from app.core.steering.next_step import ACCESS_AGAIN, RULES, Decision, Need, next_step, why_it_stays
from app.core.steering.ownership import Taken
from app.core.steering.seen import (
    AS_IT_WAS,
    UNKNOWN,
    Answer,
    Fact,
    Facts,
    FeedbackSeen,
    LifeSeen,
    PullSeen,
    Seen,
)
from tests.core.strategies import EXAMPLES, START, only
from tests.core.wording import row

HOUR: Final = timedelta(hours=1)
NOW: Final = START + HOUR
TOLD: Final = TakenAway(at=NOW, why="#12 was closed.")
CREATED: Final = Created(at=START, started_by="ada", trigger="label squadron:bug-fix")
RUNS, GONE = LifeSeen(is_pending=True, has_worker=True), LifeSeen(False, has_worker=False)
QUIET: Final = replace(AS_IT_WAS, life=RUNS)
"""Nothing has changed, and whoever should work does."""
TAKEN: Final = Taken("#12 was closed.", NOW)
MERGED: Final = PullSeen(20, is_open=False, is_merged=True, ended_at=NOW)
CLOSED: Final = replace(MERGED, is_merged=False)
NEWS: Final = FeedbackSeen(
    ("ada requested changes:", "A check fails."), ("review 1", "check x"), "ada"
)
ANSWER: Final = Answer("ada commented:\n\nBlue.", "ada", "comment 7", NOW)

ASSIGNMENT: Final = replace(
    row().assignment, limits=only(max_active_duration=7_200, max_sleep_duration=86_400)
)


def who_is(state: State, **about: Any) -> Agent:
    return row(state, **{"assignment": ASSIGNMENT, "worker": None, "updated_at": START, **about})


WHO: Final[Mapping[str, Agent]] = {
    "QUEUED": who_is(State.QUEUED),
    "QUEUED provider": who_is(State.QUEUED, waits_for=Waits.PROVIDER),
    "ACTIVE": who_is(State.ACTIVE, worker="worker-1"),
    "SLEEPING blocker": who_is(State.SLEEPING, waits_for=Waits.BLOCKER, blocked_by=(3, 4)),
    "SLEEPING answer": who_is(State.SLEEPING, waits_for=Waits.ANSWER, pull_request=20),
    "SLEEPING review": who_is(State.SLEEPING, waits_for=Waits.REVIEW, pull_request=20),
    "SLEEPING unopen": who_is(State.SLEEPING, waits_for=Waits.REVIEW),
    "SLEEPING access": who_is(State.SLEEPING, waits_for=Waits.ACCESS),
    "PAUSED": who_is(State.PAUSED, waits_for=Waits.RAISE),
    "STOPPING at work": who_is(State.STOPPING, worker="worker-1"),
    "STOPPING": who_is(State.STOPPING),
}
FACTS: Final[Mapping[str, Facts]] = {
    "none": QUIET,
    "taken": replace(QUIET, taken=TAKEN),
    "merged": replace(QUIET, pull=MERGED),
    "closed": replace(QUIET, pull=CLOSED),
    "free": replace(QUIET, blockers_free=True),
    "circle": replace(QUIET, circle=(3, 12)),
    "news": replace(QUIET, feedback=NEWS),
    "stays": replace(QUIET, feedback=FeedbackSeen((), (), "squadron", "conflict", True)),
    "answer": replace(QUIET, answer=ANSWER),
    "lost": replace(QUIET, lost_access="Nobody is let in."),
    "let_in": replace(QUIET, lost_access=""),
    "gone": replace(QUIET, life=GONE),
    "late": replace(QUIET, is_current=True),
    "unseen": QUIET,
}
LATE: Final = ("late", "unseen")
"""Facts that are seen a month later."""
TABLE: Final = """
                 none taken merged closed free circle news stays answer lost let_in gone late unseen
QUEUED           -    take  done   take   -    -      -    -     -      -    -      anew -    -
QUEUED provider  -    take  done   take   -    -      -    -     -      -    -      -    -    -
ACTIVE           -    take  done   take   -    -      -    -     -      rest -      anew stop stop
SLEEPING blocker -    take  done   take   wake stop   -    -     wake   -    -      -    stop -
SLEEPING answer  -    take  done   take   -    -      wake stop  wake   -    -      -    stop -
SLEEPING review  -    take  done   take   -    -      wake stop  -      -    -      -    done -
SLEEPING unopen  -    take  done   take   -    -      -    -     wake   -    -      -    -    -
SLEEPING access  -    take  done   take   -    -      -    -     wake   -    wake   -    stop -
PAUSED           -    take  done   take   -    -      -    -     -      -    -      -    stop -
STOPPING at work -    -     -      -      -    -      -    -     -      -    -      end  -    -
STOPPING         end  end   end    end    end  end    end  end   end    end  end    end  end  end
"""
"""What follows from each fact alone. Whatever an agent does, people may take its work away; each
other fact moves those who wait for it."""
SHORT: Final = {
    type(None): "-",
    TakeAway: "take",
    Finish: "done",
    Requeue: "anew",
    Sleep: "rest",
    Escalate: "stop",
    WakeUp: "wake",
    Cancel: "end",
}
MONTH: Final = timedelta(days=31)
WAITING: Final = (State.SLEEPING, State.PAUSED)


def log_of(agent: Agent) -> list[AgentEvent]:
    events: list[AgentEvent] = [CREATED, SegmentStarted(at=START, segment=0, attempt=1)]
    if agent.state is State.SLEEPING and agent.waits_for is not None:
        events.append(Slept(at=START, waits_for=agent.waits_for, blocked_by=(), reason="Waits."))
    return [*events, TOLD] if agent.state is State.STOPPING else events


def seen(agent: Agent, facts: Facts, **about: Any) -> Seen:
    history = about.pop("history", log_of(agent))
    return Seen(
        **{"now": NOW, "history": history, "counters": fold(history), "facts": facts, **about}
    )


def step_of(agent: Agent, seen: Seen) -> Step | Need | None:
    """What is decided, whoever wants it."""
    found = next_step(agent, seen)
    return found.step if isinstance(found, Decision) else found


def rows() -> list[tuple[str, str, str]]:
    head, *lines = TABLE.strip("\n").split("\n")
    found = []
    for line in lines:
        who = next(name for name in sorted(WHO, key=len, reverse=True) if line.startswith(name))
        answers = line[len(who) :].split()
        found += [(who, fact, answer) for fact, answer in zip(head.split(), answers, strict=True)]
    return found


@pytest.mark.parametrize(("who", "fact", "expected"), rows())
def test_what_follows_from_each_fact(who: str, fact: str, expected: str) -> None:
    agent = WHO[who]
    now = START + MONTH if fact in LATE else NOW
    step = step_of(agent, seen(agent, FACTS[fact], now=now))
    assert SHORT[type(step)] == expected
    if isinstance(step, Step):
        after = transition(agent, step, KeptWork(None, False), now).after
        assert (after.state, after.segment) != (agent.state, agent.segment)


def test_the_table_has_every_state_and_every_fact() -> None:
    assert {(who, fact) for who, fact, _ in rows()} == set(product(WHO, FACTS))
    assert {agent.state for agent in WHO.values()} == set(State) - FINAL


@pytest.mark.parametrize(
    ("who", "facts", "expected"),
    [
        ("SLEEPING review", FACTS["merged"], Finish("#20 was merged.", since=NOW)),
        (
            "SLEEPING review",
            FACTS["closed"],
            TakeAway("#20 was closed without merging.", since=NOW),
        ),
        ("ACTIVE", FACTS["taken"], TakeAway("#12 was closed.", since=NOW)),
        ("SLEEPING blocker", FACTS["free"], WakeUp("Closed meanwhile: #3, #4.")),
        ("SLEEPING answer", FACTS["answer"], WakeUp(ANSWER.why, "ada", "comment 7")),
        (
            "SLEEPING review",
            FACTS["news"],
            WakeUp(
                "ada requested changes:\n\nA check fails.", "ada", None, ("review 1", "check x")
            ),
        ),
        ("SLEEPING access", FACTS["let_in"], WakeUp(ACCESS_AGAIN)),
        ("ACTIVE", FACTS["lost"], Sleep(Waits.ACCESS, "Nobody is let in.")),
        ("ACTIVE", FACTS["gone"], Requeue("its worker is gone", died=Death.WORKER, ended_at=START)),
        ("QUEUED", FACTS["gone"], Requeue("its work was lost", died=Death.WORKER, ended_at=START)),
        ("STOPPING at work", FACTS["gone"], Cancel(TOLD)),
    ],
)
def test_a_step_says_why(who: str, facts: Facts, expected: Step) -> None:
    agent = WHO[who]
    assert step_of(agent, seen(agent, facts)) == expected


# --- what is asked for --------------------------------------------------------------------------

NEEDS: Final[Mapping[str, str]] = {
    "QUEUED": "ownership life",
    "QUEUED provider": "ownership",
    "ACTIVE": "ownership life",
    "SLEEPING blocker": "ownership blockers circle",
    "SLEEPING answer": "ownership pull-request feedback",
    "SLEEPING review": "ownership pull-request feedback",
    "SLEEPING unopen": "ownership pull-request",
    "SLEEPING access": "ownership",
    "PAUSED": "ownership",
    "STOPPING at work": "life",
    "STOPPING": "",
}
ANSWERS: Final[Mapping[Fact, Mapping[str, Any]]] = {
    Fact.OWNERSHIP: {"taken": None, "lost_access": None},
    Fact.PULL_REQUEST: {"pull": None},
    Fact.BLOCKERS: {"blockers_free": False},
    Fact.CIRCLE: {"circle": ()},
    Fact.FEEDBACK: {"feedback": None},
    Fact.LIFE: {"life": RUNS},
}


@pytest.mark.parametrize("who", WHO)
def test_a_fact_is_asked_for_only_where_it_matters_and_once(who: str) -> None:
    agent = WHO[who]
    facts, asked = Facts(), []
    while isinstance(need := step_of(agent, seen(agent, facts)), Need):
        asked.append(need.fact)
        facts = replace(facts, **ANSWERS[need.fact])
    assert asked == [Fact(name.replace("-", " ")) for name in NEEDS[who].split()]


@EXAMPLES
@given(
    st.sampled_from([agent for agent in WHO.values() if agent.state in WAITING]),
    st.timedeltas(timedelta(), 2 * MONTH),
    st.timedeltas(timedelta(), HOUR),
)
def test_whom_the_row_says_to_be_in_time_nothing_moves_where_nothing_was_done(
    agent: Agent, waited: timedelta, braked_for: timedelta
) -> None:
    now = START + waited
    facts = replace(AS_IT_WAS, is_current=True)
    step = step_of(agent, seen(agent, facts, now=now, braked_for=braked_for))
    if not may_be_late(agent, now):
        assert step is None
    elif not braked_for and agent is not WHO["SLEEPING unopen"]:
        assert step is not None


def test_what_lists_tell_is_not_asked_for_again() -> None:
    for agent in WHO.values():
        answer = step_of(agent, seen(agent, AS_IT_WAS))
        assert not isinstance(answer, Need) or answer.fact is Fact.LIFE


# --- the order is the policy ---------------------------------------------------------------------


def test_what_people_did_comes_before_what_the_clock_says() -> None:
    names = [rule.__name__ for rule in RULES]
    assert names[0] == "stopping" and names[1] == "ended_by_people" and names[-1] == "late"


@pytest.mark.parametrize("fact", ["taken", "merged", "closed", "free", "answer", "news", "let_in"])
@pytest.mark.parametrize("who", [name for name in WHO if name.startswith(("SLEEPING", "PAUSED"))])
def test_nothing_that_people_did_loses_to_the_clock(who: str, fact: str) -> None:
    agent = WHO[who]
    alone = step_of(agent, seen(agent, FACTS[fact]))
    if alone is None:
        return
    facts = replace(FACTS[fact], is_current=True)
    assert step_of(agent, seen(agent, facts, now=START + MONTH)) == alone


SECOND: Final = timedelta(seconds=1)


@pytest.mark.parametrize(
    ("taken_at", "ended_at", "expected"),
    [
        (NOW, NOW + SECOND, TakeAway("#12 was closed.", since=NOW)),
        (NOW, NOW, Finish("#20 was merged.", since=NOW)),
        (NOW + SECOND, NOW, Finish("#20 was merged.", since=NOW)),
        (NOW, None, TakeAway("#12 was closed.", since=NOW)),
        (None, NOW, Finish("#20 was merged.", since=NOW)),
    ],
)
def test_the_first_of_what_people_did_counts_and_a_merge_that_closes_the_issue(
    taken_at: Any, ended_at: Any, expected: Step
) -> None:
    agent = WHO["SLEEPING review"]
    facts = replace(
        QUIET, taken=replace(TAKEN, at=taken_at), pull=replace(MERGED, ended_at=ended_at)
    )
    assert step_of(agent, seen(agent, facts)) == expected


# --- words ---------------------------------------------------------------------------------------


def test_words_before_the_question_are_no_answer_to_it() -> None:
    agent = replace(WHO["SLEEPING answer"], updated_at=NOW + timedelta(milliseconds=700))
    before = replace(ANSWER, at=NOW - SECOND)
    for answer, wakes in ((before, False), (ANSWER, True), (replace(ANSWER, at=None), True)):
        step = step_of(agent, seen(agent, replace(QUIET, answer=answer)))
        assert isinstance(step, WakeUp) is wakes


@pytest.mark.parametrize(
    "event",
    [
        Woken(at=NOW, why="Blue.", by="ada", said="comment 7"),
        SpokenTo(at=NOW, said="comment 7", by="ada", text="Blue.", written_at=NOW, link=""),
    ],
)
def test_the_same_words_wake_once_by_their_id_and_not_by_their_text(event: AgentEvent) -> None:
    agent = WHO["SLEEPING answer"]
    history = [*log_of(agent), event]
    for answer, wakes in ((ANSWER, False), (replace(ANSWER, said="comment 8"), True)):
        step = step_of(agent, seen(agent, replace(QUIET, answer=answer), history=history))
        assert isinstance(step, WakeUp) is wakes


# --- lost work, and lateness ---------------------------------------------------------------------


def test_who_is_held_back_by_a_brake_has_lost_nothing() -> None:
    agent = WHO["QUEUED"]
    braked = Braked(at=NOW, why="ada paused all.", scope="all", since=NOW)
    history = [CREATED, braked]
    assert step_of(agent, seen(agent, FACTS["gone"], history=history)) is None
    history.append(BrakeLifted(at=NOW))
    assert isinstance(step_of(agent, seen(agent, FACTS["gone"], history=history)), Requeue)


def test_who_works_is_late_only_if_its_worker_lives() -> None:
    agent, later = WHO["ACTIVE"], START + MONTH
    step = step_of(agent, seen(agent, QUIET, now=later))
    assert isinstance(step, Escalate) and isinstance(step.stop, Trip)
    assert step.stop.layer is Layer.RECONCILIATION
    dead = replace(QUIET, life=LifeSeen(is_pending=True, has_worker=False))
    assert step_of(agent, seen(agent, dead, now=later)) is None


def test_who_works_is_not_late_by_a_clock_that_was_set_just_now() -> None:
    agent, later = WHO["ACTIVE"], START + MONTH
    assert step_of(agent, seen(agent, QUIET, now=later, is_steady=False)) is None
    asleep = seen(WHO["SLEEPING answer"], FACTS["late"], now=later, is_steady=False)
    assert isinstance(step_of(WHO["SLEEPING answer"], asleep), Escalate), "that is an instant"


def test_a_review_is_waited_for_from_when_there_is_something_to_review() -> None:
    agent, later = WHO["SLEEPING review"], START + MONTH
    opened = HandedOver(at=later, pull_request=20)
    late = seen(agent, FACTS["late"], now=later, history=[*log_of(agent), opened])
    assert step_of(agent, late) is None


def test_time_under_a_brake_is_no_waiting() -> None:
    agent = WHO["SLEEPING answer"]
    facts, later = FACTS["late"], START + MONTH
    assert isinstance(step_of(agent, seen(agent, facts, now=later)), Escalate)
    assert step_of(agent, seen(agent, facts, now=later, braked_for=MONTH)) is None


def test_a_conflict_that_stays_is_a_failure_of_its_own() -> None:
    agent = WHO["SLEEPING review"]
    step = step_of(agent, seen(agent, FACTS["stays"]))
    assert isinstance(step, Escalate) and isinstance(step.stop, Failure)
    assert step.stop.cause is Cause.CONFLICT


# --- whatever is known, and in whatever order ----------------------------------------------------

MOVES: Final[Mapping[str, Any]] = {
    "taken": {"taken": TAKEN},
    "pull": {"pull": MERGED},
    "free": {"blockers_free": True},
    "circle": {"circle": (3, 12)},
    "news": {"feedback": NEWS},
    "answer": {"answer": ANSWER},
    "let_in": {"lost_access": ""},
    "gone": {"life": GONE},
    "late": {"is_current": True},
}


@EXAMPLES
@given(
    st.sampled_from(sorted(WHO)),
    st.lists(st.sampled_from(sorted(MOVES)), unique=True, max_size=4),
)
def test_what_is_seen_decides_and_not_in_which_order_it_was_told(who: str, told: list[str]) -> None:
    """All that is told together leads to one step, and it is that of the first rule that any of
    it alone would have satisfied."""
    agent = WHO[who]
    steps, now = set(), START + MONTH

    def decided(facts: Facts) -> Decision | None:
        found = next_step(agent, seen(agent, facts, now=now))
        assert not isinstance(found, Need)
        return found

    for order in permutations(told):
        facts = QUIET
        for name in order:
            facts = replace(facts, **MOVES[name])
        steps.add(str(decided(facts)))
    assert len(steps) == 1
    alone = [decided(replace(QUIET, **MOVES[name])) for name in told]
    rules = [rule.__name__ for rule in RULES]
    first = [rules.index(each.rule) for each in [*alone, decided(QUIET)] if each is not None]
    found = decided(facts)
    assert (None if found is None else rules.index(found.rule)) == min(first, default=None)


def test_a_fact_that_is_unknown_is_no_fact() -> None:
    assert Facts().taken is Facts().pull is Facts().blockers_free is Facts().life is UNKNOWN


# --- why nothing happens -------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("who", "rules"),
    [
        ("QUEUED", "ended_by_people lost_work"),
        ("QUEUED provider", "ended_by_people lost_work"),
        ("ACTIVE", "ended_by_people lost_work late"),
        ("SLEEPING blocker", "ended_by_people unblocked answered in_circle late"),
        ("SLEEPING answer", "ended_by_people answered feedback late"),
        ("SLEEPING review", "ended_by_people feedback late"),
        ("SLEEPING access", "ended_by_people access answered late"),
        ("PAUSED", "ended_by_people late"),
        ("STOPPING at work", "stopping"),
    ],
)
def test_each_rule_that_is_concerned_says_why_nothing_happens(who: str, rules: str) -> None:
    agent = WHO[who]
    assert [*why_it_stays(agent, log_of(agent), NOW)] == rules.split()


def test_it_says_whom_and_since_when_it_waits_for() -> None:
    blocked, asking = WHO["SLEEPING blocker"], WHO["SLEEPING answer"]
    assert "#3, #4" in why_it_stays(blocked, log_of(blocked), NOW)["unblocked"]
    words = why_it_stays(asking, log_of(asking), NOW)
    assert f"{START:%H:%M:%S}" in words["answered"] and "#20" in words["feedback"]


def test_who_is_late_by_now_or_has_ended_does_not_stay() -> None:
    asking = WHO["SLEEPING answer"]
    assert "late" not in why_it_stays(asking, log_of(asking), START + MONTH)
    ended = who_is(State.CANCELLED)
    assert why_it_stays(ended, log_of(ended), NOW) == {}
