"""Whom commands are meant for, and what of a comment is still to be obeyed."""

from typing import Any

import pytest

from app.core.agents.agent import Agent, AgentId
from app.core.agents.events import Created, Raised, TakenAway
from app.core.agents.lifecycle import State
from app.core.commands.grammar import Command, Explain, Raise, Resume, Retry, Status, Stop
from app.core.limits import LimitName
from app.core.steering.targets import (
    Obeyed,
    Waiting,
    left_over,
    of_thread,
    refused_before,
    targets,
)
from tests.core.strategies import START
from tests.core.wording import row

ISSUE, PULL_REQUEST, ESCALATION = 12, 34, 56


def one(
    role: str, attempt: int = 1, issue: int = ISSUE, state: State = State.ACTIVE, **about: Any
) -> Agent:
    return row(state, id=AgentId("octo/demo", issue, role, attempt), **about)


def test_a_pull_request_is_about_who_made_it_and_who_reviews_it() -> None:
    author = one("docs", state=State.SLEEPING, pull_request=PULL_REQUEST)
    reviewer = one("pr-review", issue=PULL_REQUEST)
    others = [one("docs", issue=13), one("helper", issue=PULL_REQUEST, parent=str(reviewer.id))]
    assert of_thread([author, *others, reviewer], PULL_REQUEST) == [author, reviewer]
    assert of_thread([author, *others, reviewer], ISSUE) == [author]
    assert of_thread([author, *others, reviewer], 99) == []


def test_of_each_role_the_newest_counts() -> None:
    first, second = one("docs", state=State.CANCELLED), one("docs", 2)
    beside = one("tests")
    assert of_thread([first, beside, second], ISSUE) == [beside, second]
    made = one("docs", state=State.CANCELLED, pull_request=PULL_REQUEST)
    assert of_thread([made, second], PULL_REQUEST) == [second], "it goes on with the same work"


def test_an_escalation_issue_is_about_who_took_over() -> None:
    stopped = one("docs", state=State.ESCALATED)
    elsewhere = one("docs", issue=13)
    assert of_thread([stopped, elsewhere], ESCALATION) == []
    assert of_thread([stopped, elsewhere], ESCALATION, [stopped.id]) == [stopped]
    fresh = one("docs", 2)
    assert of_thread([stopped, elsewhere, fresh], ESCALATION, [stopped.id]) == [fresh]


def test_each_command_means_who_is_there_when_its_turn_comes() -> None:
    active, ended = one("docs"), one("tests", state=State.COMPLETED)
    assert targets([active], [Stop(), Retry(), Stop()]) == [active] * 3
    assert targets([ended], [Retry(), Stop()]) == [ended] * 2
    assert targets([active, ended], [Stop(), Status(), Explain("tests")]) == [active, None, ended]
    [stop, retry] = targets([active, ended], [Stop(), Retry()])
    assert stop == active
    assert isinstance(retry, str) and "`/squadron retry docs` or `/squadron retry tests`" in retry
    paused = one("docs", state=State.PAUSED)
    assert targets([paused], [Resume(), Resume(), Stop()]) == [paused] * 3


def test_who_is_being_stopped_is_meant_by_a_retry_and_by_no_other_stop() -> None:
    stopping, other = one("docs", state=State.STOPPING), one("tests")
    assert targets([stopping, other], [Retry()]) == [stopping]
    assert targets([stopping, other], [Stop()]) == [other]


def test_a_start_that_waits_is_stopped_in_the_place_of_an_agent() -> None:
    ended, active = one("docs", state=State.COMPLETED), one("tests")
    assert targets([], [Stop()], ["docs"]) == [Waiting("docs")]
    assert targets([ended], [Stop(), Stop()], ["docs"]) == [Waiting("docs"), ended]
    assert targets([ended, active], [Stop("`DOCS`"), Stop()], ["docs"]) == [
        Waiting("docs"),
        active,
    ]
    assert targets([active], [Stop("tests"), Stop()], ["docs"]) == [active, Waiting("docs")]
    assert targets([active], [Stop()], ["tests"]) == [active]
    for agents, waiting in (([active], ["docs"]), ([], ["tests", "docs"])):
        [which] = targets(agents, [Stop()], waiting)
        assert isinstance(which, str), which
        assert "`/squadron stop docs` or `/squadron stop tests`" in which
    assert targets([ended], [Retry()], ["docs"]) == [ended], "only a stop is for what waits"


FIRST, SECOND = AgentId("octo/demo", ISSUE, "docs", 1), AgentId("octo/demo", ISSUE, "docs", 2)
STOPPED = TakenAway(at=START, why="ada")
BEGUN = Created(at=START, started_by="ada", trigger="retry")
RAISED = Raised(at=START, limit=LimitName.MAX_TURNS, amount=1, maximum=2, by="ada")


@pytest.mark.parametrize(
    ("read", "obeyed", "left"),
    [
        ([Stop(), Retry()], [], [Stop(), Retry()]),
        ([Stop(), Retry()], [(FIRST, STOPPED)], [Retry()]),
        ([Stop(), Retry()], [(FIRST, STOPPED), (SECOND, BEGUN)], []),
        ([Stop(), Retry()], [(SECOND, BEGUN)], []),  # the stop was refused: it had ended
        ([Retry(), Stop()], [(SECOND, BEGUN)], [Stop()]),
        ([Stop(), Retry(), Stop()], [(FIRST, STOPPED), (SECOND, BEGUN)], [Stop()]),
        ([Status(), Stop(), Explain()], [(FIRST, STOPPED)], [Status(), Explain()]),
        ([Retry(str(FIRST)), Stop("Docs")], [(SECOND, BEGUN)], [Stop("Docs")]),
        ([Stop("tests"), Stop("docs")], [(FIRST, STOPPED)], []),
        ([Stop("docs"), Stop("tests")], [(FIRST, STOPPED)], [Stop("tests")]),
        ([Raise(LimitName.MAX_TURNS, 1), Resume()], [(FIRST, RAISED)], []),
        ([Raise(LimitName.MAX_COST_USD, 1)], [(FIRST, RAISED)], [Raise(LimitName.MAX_COST_USD, 1)]),
    ],
)
def test_what_died_in_the_middle_is_obeyed_from_there(
    read: list[Command], obeyed: list[tuple[AgentId, Obeyed]], left: list[Command]
) -> None:
    assert left_over(read, obeyed) == left


@pytest.mark.parametrize(
    ("read", "obeyed", "refused"),
    [
        ([Stop(), Retry()], [], []),
        ([Stop(), Retry()], [(FIRST, STOPPED)], []),
        ([Stop(), Retry()], [(SECOND, BEGUN)], [0]),
        ([Status(), Stop("tests"), Stop("docs"), Stop("x")], [(FIRST, STOPPED)], [1]),
        ([Resume(), Raise(LimitName.MAX_COST_USD, 1), Stop()], [(FIRST, RAISED)], []),
        (
            [Raise(LimitName.MAX_TURNS, 1), Resume(), Stop()],
            [(FIRST, RAISED), (FIRST, STOPPED)],
            [],
        ),
        ([Resume(), Resume(), Stop()], [(FIRST, STOPPED)], [0, 1]),
    ],
)
def test_what_was_refused_before_something_was_obeyed_is_known_after_a_death(
    read: list[Command], obeyed: list[tuple[AgentId, Obeyed]], refused: list[int]
) -> None:
    assert refused_before(read, obeyed) == refused
