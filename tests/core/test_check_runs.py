"""Which run of a check says how an agent stands, and which agent a run is of."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.core.agents.agent import AgentId
from app.core.effects.check_run import (
    Change,
    CheckRun,
    Conclusion,
    Create,
    Reword,
    RunId,
    runs_of,
    write_of_run,
)

AGENT, OTHER = AgentId("octo/demo", 12, "bug-fix", 1), AgentId("octo/demo", 12, "bug-fix", 11)
SHA = "a" * 40


def run(number: int, conclusion: str | None, n: int | None = 1, agent: AgentId = AGENT) -> CheckRun:
    return CheckRun(number, "https://example.com", str(RunId(agent, SHA, n)), conclusion)


@pytest.mark.parametrize("n", [1, 2, 999_999_999, None])
def test_a_run_names_its_agent_its_commit_and_which_one_it_is(n: int | None) -> None:
    named = RunId(AGENT, SHA, n)
    assert RunId.parse(str(named)) == named
    number = "" if n is None else f":{n}"
    assert str(named) == f"squadron:octo/demo#12/bug-fix/1:{SHA}{number}"


@pytest.mark.parametrize(
    "other",
    [
        "",
        "squadron:",
        "squadron:octo/demo:abc",
        "octo/demo#12/bug-fix/1:abc",
        "squadron:octo/demo#12/bug-fix/1",
        "squadron:octo/demo#12/bug-fix/1:abc:0",
        "squadron:octo/demo#12/bug-fix/1:abc:two",
        "squadron:octo/demo#12/bug-fix/1:abc:1:2",
        "squadron:octo/demo#12/bug-fix/1:abc:" + "9" * 5000,
        "config:abc",
    ],
)
def test_what_is_no_agents_run_names_nobody(other: str) -> None:
    assert RunId.parse(other) is None


def test_the_first_run_on_a_head_is_the_first() -> None:
    assert write_of_run(AGENT, SHA, [], None) == Create(str(RunId(AGENT, SHA, 1)))
    strangers = [run(1, "success", agent=OTHER), CheckRun(2, "", "mine", "success")]
    assert write_of_run(AGENT, SHA, strangers, None) == Create(str(RunId(AGENT, SHA, 1)))
    elsewhere = CheckRun(3, "", str(RunId(AGENT, "b" * 40, 1)), None)
    assert write_of_run(AGENT, SHA, [elsewhere], None) == Create(str(RunId(AGENT, SHA, 1)))


def test_an_open_run_is_changed_and_a_completed_one_is_followed() -> None:
    assert write_of_run(AGENT, SHA, [run(5, None)], "failure") == Change(run(5, None))
    assert write_of_run(AGENT, SHA, [run(5, None)], None) == Change(run(5, None))
    completed = run(5, "success")
    assert write_of_run(AGENT, SHA, [completed], "success") == Reword(completed)
    second = Create(str(RunId(AGENT, SHA, 2)))
    assert write_of_run(AGENT, SHA, [completed], "failure") == second
    assert write_of_run(AGENT, SHA, [completed], None) == second
    assert write_of_run(AGENT, SHA, [run(5, "success", None)], None) == second, "from before"


def test_what_github_concludes_by_itself_is_followed_as_well() -> None:
    stale = run(5, "stale")
    assert write_of_run(AGENT, SHA, [stale], None) == Create(str(RunId(AGENT, SHA, 2)))


def test_a_run_that_cannot_be_changed_is_followed() -> None:
    for conclusion in (None, "success"):
        runs = [run(5, conclusion, 3)]
        step = write_of_run(AGENT, SHA, runs, "success", fixed={5})
        assert step == Create(str(RunId(AGENT, SHA, 4)))


CONCLUSIONS: tuple[Conclusion, ...] = ("success", "failure", "neutral", "action_required")


@given(
    st.lists(
        st.tuples(
            st.sampled_from([None, "stale", *CONCLUSIONS]),
            st.none() | st.integers(1, 4),
            st.sampled_from([AGENT, OTHER]),
        )
    ),
    st.sampled_from([None, *CONCLUSIONS]),
)
def test_whatever_stands_there_the_newest_run_says_what_is_wanted_afterwards(
    there: list[tuple[str | None, int | None, AgentId]], wanted: Conclusion | None
) -> None:
    """And no completed run has changed, no id is given twice."""
    runs = [run(i, *each) for i, each in enumerate(there)]
    step = write_of_run(AGENT, SHA, runs, wanted)
    match step:
        case Create(external_id):
            assert external_id not in {each.external_id for each in runs}
            newest = CheckRun(len(runs), "", external_id, wanted)
        case Change(found):
            assert found.conclusion is None
            newest = run(found.number, wanted)
        case Reword(found):
            newest = found
    assert newest.conclusion == wanted
    assert newest.number >= max((each.number for each in runs_of(AGENT, SHA, runs)), default=0)
