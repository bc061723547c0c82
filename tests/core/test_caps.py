"""Who may be at work beside whom."""

from dataclasses import replace

from hypothesis import given
from hypothesis import strategies as st

from app.core.agents.agent import Agent, AgentId
from app.core.agents.caps import AT_WORK, may_go_on, reached
from app.core.agents.lifecycle import State
from app.core.rules.caps import Caps, Full
from tests.core.strategies import after_seconds, agent


def one(repository: str, issue: int, role: str, state: State, rank: int = 0) -> Agent:
    return replace(
        agent(state),
        id=AgentId(repository, issue, role, 1),
        repository=repository,
        rank=rank,
        created_at=after_seconds(issue),
    )


def held(repository: str, issue: int, role: str = "docs") -> Agent:
    return one(repository, issue, role, State.QUEUED)


AT_A = [one("o/a", 1, "docs", State.ACTIVE), one("o/a", 2, "code", State.STOPPING)]


def test_each_cap_by_itself() -> None:
    new = held("o/a", 3)
    assert reached(Caps(), new, AT_A) is None
    assert reached(Caps(per_repository=3), new, AT_A) is None
    assert reached(Caps(per_repository=2), new, AT_A) == Full(2, None)
    assert reached(Caps(per_repository=2), held("o/b", 3), AT_A) is None
    assert reached(Caps(per_role={"docs": 1}), new, AT_A) == Full(1, "docs")
    assert reached(Caps(per_role={"docs": 1}), held("o/b", 3), AT_A) == Full(1, "docs")
    assert reached(Caps(per_role={"docs": 2, "code": 1}), new, AT_A) is None


def test_only_agents_at_work_of_their_own_count() -> None:
    asleep = [replace(each, state=State.SLEEPING) for each in AT_A]
    below = [replace(each, parent="o/a#1/docs/1") for each in AT_A]
    itself = AT_A[0]
    assert reached(Caps(per_repository=1), held("o/a", 3), [*asleep, *below]) is None
    assert reached(Caps(per_repository=1), itself, [itself]) is None


def test_who_is_in_line_comes_before_who_is_let_on() -> None:
    in_line = one("o/a", 9, "docs", State.QUEUED, rank=4)
    braked = one("o/a", 8, "docs", State.QUEUED)
    waiting = [held("o/a", 3)]
    assert may_go_on(Caps(per_repository=1), waiting, [in_line]) == []
    assert may_go_on(Caps(per_repository=1), waiting, [braked, *waiting]) == waiting


def test_the_repository_with_fewest_goes_first_and_of_it_the_oldest() -> None:
    waiting = [held("o/a", 5), held("o/a", 3), held("o/b", 9), held("o/b", 8)]
    at_a = [one("o/a", 1, "docs", State.ACTIVE)]
    on = may_go_on(Caps(per_role={"docs": 4}), waiting, at_a)
    assert [(each.repository, each.id.issue) for each in on] == [("o/b", 8), ("o/a", 3), ("o/b", 9)]


agents = st.builds(
    one,
    st.sampled_from(["o/a", "o/b", "o/c"]),
    st.integers(1, 99),
    st.sampled_from(["docs", "code"]),
    st.sampled_from([State.QUEUED, State.ACTIVE, State.STOPPING, State.SLEEPING]),
    st.integers(0, 3),
)
all_caps = st.builds(
    Caps,
    st.none() | st.integers(1, 4),
    st.dictionaries(st.sampled_from(["docs", "code"]), st.integers(1, 4)),
)


@given(caps=all_caps, there=st.lists(agents, max_size=12, unique_by=lambda each: each.id))
def test_nobody_is_let_on_beyond_a_cap_and_nobody_is_left_below_it(
    caps: Caps, there: list[Agent]
) -> None:
    waiting = [each for each in there if each.state is State.QUEUED and each.rank == 0]
    in_line = [each for each in there if each.state is State.QUEUED and each.rank > 0]
    begun = [each for each in there if each.state in AT_WORK]
    on = may_go_on(caps, waiting, there)
    for each in in_line:  # who finds its cap reached waits as the others do
        if reached(caps, each, begun) is None:
            begun.append(replace(each, state=State.ACTIVE))
        else:
            waiting.append(each)
    queued = [replace(each, rank=1) for each in on]
    later = [each for each in waiting if each not in on]
    for each in [*on, *may_go_on(caps, later, [*begun, *queued])]:
        assert reached(caps, each, begun) is None, "whoever is let on finds its place"
        begun.append(replace(each, state=State.ACTIVE))
    left = [each for each in waiting if each.id not in {one.id for one in begun}]
    assert all(reached(caps, each, begun) is not None for each in left)
