"""Agents that would wait for each other in a circle."""

import itertools
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.core.agents.agent import Agent, AgentId
from app.core.agents.events import Waits
from app.core.agents.lifecycle import FINAL, State
from app.core.agents.stops import Cause
from app.core.github.timeline import Happening, Mark
from app.core.steering.blockers import (
    circle,
    closed_circle,
    last_of_circle,
    waits_in_circle,
    was_free,
)
from tests.core.strategies import EXAMPLES, START, after_seconds, agent


def waiting(issue: int, *blocked_by: int, state: State = State.SLEEPING, n: int = 1) -> Agent:
    """An agent on an issue that waits for these."""
    return replace(
        agent(state), id=AgentId("octo/demo", issue, "bug-fix", n), blocked_by=blocked_by
    )


def test_who_waits_for_itself_is_a_circle_of_one() -> None:
    assert circle(7, [7], []) == (7,)


def test_two_that_wait_for_each_other_are_a_circle() -> None:
    assert circle(1, [2], [waiting(2, 1)]) == (2, 1)


def test_a_circle_over_several_is_told_from_the_first_blocker_back_to_the_issue() -> None:
    agents = [waiting(2, 3), waiting(3, 4), waiting(4, 1)]
    assert circle(1, [2], agents) == (2, 3, 4, 1)


def test_a_chain_that_ends_is_none() -> None:
    assert circle(1, [2], [waiting(2, 3), waiting(3, 4)]) == ()
    assert circle(1, [], [waiting(2, 1)]) == ()
    assert circle(1, [2], []) == ()


def test_a_circle_that_is_there_already_is_not_closed_by_another_who_waits_for_it() -> None:
    assert circle(1, [2], [waiting(2, 3), waiting(3, 2)]) == ()


def test_the_blocker_that_closes_the_circle_is_found_among_several() -> None:
    agents = [waiting(2, 9), waiting(3, 8, 1)]
    assert circle(1, [2, 3, 5], agents) == (3, 1)
    assert circle(1, [5, 3, 2], agents) == (3, 1)


def blocked(issue: int, *blocked_by: int, second: int) -> Agent:
    """An agent that fell asleep at that second for these."""
    agent = waiting(issue, *blocked_by)
    return replace(agent, waits_for=Waits.BLOCKER, updated_at=after_seconds(second))


def test_of_a_circle_the_agent_that_fell_asleep_last_has_closed_it() -> None:
    agents = [blocked(1, 2, second=5), blocked(2, 3, second=7), blocked(3, 1, second=6)]
    assert [closed_circle(each, agents) for each in agents] == [(), (3, 1, 2), ()]


def test_of_two_that_fell_asleep_at_one_time_one_has_closed_the_circle() -> None:
    agents = [blocked(1, 2, second=5), blocked(2, 1, second=5)]
    assert [closed_circle(each, agents) for each in agents] == [(), (1, 2)]


def test_each_of_a_circle_finds_who_has_closed_it() -> None:
    """Of those that fall asleep at one time the one that is seen last need not be it."""
    agents = [blocked(1, 2, second=5), blocked(2, 3, second=7), blocked(3, 1, second=7)]
    assert [last_of_circle(each, agents) for each in agents] == [agents[2]] * 3
    assert last_of_circle(blocked(4, 1, second=9), agents) is None


def test_who_waits_for_a_circle_is_not_in_it() -> None:
    circle_of_two = [blocked(1, 2, second=5), blocked(2, 1, second=6)]
    outside = blocked(3, 1, second=7)
    assert closed_circle(outside, [*circle_of_two, outside]) == ()
    assert closed_circle(circle_of_two[1], [*circle_of_two, outside]) == (1, 2)


def test_who_waits_for_people_is_in_no_circle() -> None:
    asks = replace(blocked(2, 1, second=4), waits_for=Waits.ANSWER)
    assert closed_circle(blocked(1, 2, second=5), [blocked(1, 2, second=5), asks]) == ()


def test_the_failure_says_who_waits_for_whom() -> None:
    failure = waits_in_circle(1, (2, 3, 1), START)
    assert failure.cause is Cause.BLOCKED_IN_CIRCLE
    assert failure.reason == (
        "The agents wait for each other in a circle:"
        " #1 waits for #2, #2 waits for #3, #3 waits for #1."
    )


@pytest.mark.parametrize("state", sorted(FINAL))
def test_who_is_done_waits_for_nobody(state: State) -> None:
    assert circle(1, [2], [waiting(2, 1, state=state)]) == ()


def test_two_agents_of_one_issue_wait_for_all_that_either_waits_for() -> None:
    agents = [waiting(2, 5), waiting(2, 1, n=2)]
    assert circle(1, [2], agents) == (2, 1)


def test_what_the_issue_waited_for_before_does_not_matter() -> None:
    """Its new wait replaces the old one."""
    assert circle(1, [2], [waiting(1, 2, 3), waiting(2, 3)]) == ()


@EXAMPLES
@given(
    st.dictionaries(st.integers(2, 6), st.lists(st.integers(1, 6), max_size=3), max_size=5),
    st.lists(st.integers(1, 6), max_size=3),
)
def test_a_circle_is_found_whenever_there_is_one(
    waits: dict[int, list[int]], blocked_by: list[int]
) -> None:
    agents = [waiting(issue, *others) for issue, others in waits.items()]
    reached = set(blocked_by)
    for _ in range(7):
        reached |= {other for issue in reached for other in waits.get(issue, ())}
    found = circle(1, blocked_by, agents)
    assert bool(found) is (1 in reached)
    if found:
        assert found[-1] == 1 and found[0] in blocked_by
        for here, following in itertools.pairwise(found):
            assert following in waits[here]


def marks(**at: int) -> list[Mark]:
    """What happened to a blocker at which second."""
    kinds: dict[str, Happening] = {"closed": "closed", "reopened": "reopened", "other": "labeled"}
    found = [Mark(kinds[what.rstrip("2")], "", "mona", after_seconds(s)) for what, s in at.items()]
    return sorted(found, key=lambda mark: mark.at)


@pytest.mark.parametrize(
    ("blockers", "expected"),
    [
        ([marks(other=12)], False),
        ([marks(closed=12, reopened=13)], True),
        ([marks(closed=10, reopened=10)], True),
        ([marks(closed=8, reopened=9)], False),
        ([marks(closed=8, reopened=9, closed2=12, reopened2=13)], True),
        ([marks(closed=12, reopened=13), marks(closed=14, reopened=15)], False),
        ([marks(closed=12, reopened=14), marks(closed=13, reopened=15)], True),
        ([marks(closed=12, reopened=14), marks(closed=14)], False),
        ([marks(closed=12), marks(closed=12, reopened=13)], True),
        ([marks(closed=8), marks(closed=12, reopened=13, other=14)], True),
        ([marks(closed=8), marks(closed=9, reopened=12)], False),
        ([marks(closed=12), marks()], False),
    ],
)
def test_a_wait_was_over_when_all_blockers_were_closed_at_one_time(
    blockers: list[list[Mark]], expected: bool
) -> None:
    """It fell asleep at 10.5: GitHub tells time in seconds."""
    assert was_free(blockers, after_seconds(10.5)) is expected
