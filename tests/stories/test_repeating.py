"""Whoever repeats itself is stopped at exactly N, beside itself and in disguise too."""

import pytest

from app.core.agents.agent import AgentId
from app.core.agents.events import Noticed, ToolAsked
from app.core.agents.lifecycle import State
from app.core.agents.signs import Sign
from app.scripted.script import Answer, Call
from tests.support.people import REPOSITORY, repository
from tests.support.steps import completes, runs
from tests.twins.shell import TEST
from tests.twins.story import Story, story


def looks(squad: Story, agent: AgentId) -> int:
    """Calls that were allowed."""
    return sum(isinstance(event, ToolAsked) for event in squad.log(agent))


def beside(*commands: str) -> Answer:
    return Answer("", tuple(Call("bash", {"command": command}) for command in commands))


@pytest.mark.parametrize("at_once", [1, 2, 3, 6])
def test_equal_calls_stop_their_agent_at_exactly_five_however_many_stand_in_an_answer(
    at_once: int,
) -> None:
    with story({REPOSITORY: repository({"fixer": {"tests": "none"}})}) as squad:
        answers = [beside(*["echo x"] * at_once)] * 8
        task = squad.give("fixer", "Look", *answers)
        agent = squad.stopped(task)
        trip = agent.trip
        assert trip is not None
        assert (trip.limit, trip.observed, trip.maximum) == ("max_repeated_calls", 5, 5)
        assert looks(squad, agent.id) == 5


def test_five_equal_calls_in_one_answer_are_none_too_many() -> None:
    with story({REPOSITORY: repository({"fixer": {"tests": "none"}})}) as squad:
        task = squad.give("fixer", "Look", beside(*["echo x"] * 5), completes("Seen."))
        squad.settle()
        assert squad.agent(task).state is State.COMPLETED


@pytest.mark.parametrize(
    "lines",
    [
        [f"echo x # {number}" for number in range(8)],
        [f"echo x{' ' * number}" for number in range(8)],
        [f"# try {number}\necho  x\n" for number in range(8)],
    ],
    ids=["comments", "blanks", "lines"],
)
def test_what_the_shell_does_not_read_makes_no_other_call(lines: list[str]) -> None:
    with story({REPOSITORY: repository({"fixer": {"tests": "none"}})}) as squad:
        task = squad.give("fixer", "Look", *map(runs, lines))
        agent = squad.stopped(task)
        assert agent.trip is not None and agent.trip.limit == "max_repeated_calls"
        assert looks(squad, agent.id) == 5


def test_whoever_pauses_at_a_row_is_shown_with_all_of_it() -> None:
    keys = {"on_limit": "pause", "max_repeated_calls": 3, "tests": "none"}
    with story({REPOSITORY: repository({"fixer": keys})}) as squad:
        task = squad.give("fixer", "Look", *[runs("echo x")] * 4)
        squad.settle()
        assert squad.agent(task).state is State.PAUSED
        said = "\n".join(squad.comments(task))
        assert "max_repeated_calls reached: 3 of 3 rounds" in said
        assert "| `max_repeated_calls` | 3 | 3 | rounds |" in said


def test_where_every_test_run_counts_people_read_of_test_runs() -> None:
    keys = {"iteration_mode": "test_runs", "max_iterations": 2}
    with story({REPOSITORY: repository({"fixer": keys})}) as squad:
        task = squad.give("fixer", "Try", *(runs(TEST) for _ in range(3)))
        agent = squad.stopped(task)
        assert agent.trip is not None
        assert agent.trip.reason == "max_iterations reached: 2 of 2 test runs."
        bodies = [each["body"] for each in squad.needs_human(task)]
        said = "\n".join([*squad.comments(task), *bodies])
        assert "| `max_iterations` | 2 | 2 | test runs |" in said
        assert "fix cycle" not in said


def test_whoever_does_nothing_new_is_told_so_and_works_on() -> None:
    """Each call says something else, so no limit on rows sees them."""
    with story({REPOSITORY: repository({"fixer": {"tests": "none"}})}) as squad:
        again = [runs("date +%N%s%N"), runs("date +%N%N%s")] * 5
        task = squad.give("fixer", "Look", *again, completes("Seen."))
        squad.settle()
        agent = squad.agent(task)
        assert agent.state is State.COMPLETED
        told = [event for event in squad.log(agent.id) if isinstance(event, Noticed)]
        assert [event.sign for event in told] == [Sign.NOTHING_NEW]
        assert squad.was_told(task, "each of your last 8 calls was made before")
    lines = [vars(line) for line in squad.timeline.records if line.msg == "AGENT_WARNING"]
    told_of = [(line["agent"], line["limit"], line["how"]) for line in lines]
    assert told_of == [(str(agent.id), "nothing_new", "sign")]
