"""Repositories take turns at the workers, and caps say how many agents work at once."""

from datetime import datetime, timedelta
from typing import Any, Final

import pytest

from app.core.agents.agent import Agent
from app.core.agents.events import SegmentEnded, SegmentStarted, Waits
from app.core.agents.lifecycle import State
from tests.stories.happening import ASKS
from tests.support.people import REPOSITORY, Task, repository
from tests.support.steps import waits_for
from tests.twins.story import PASS_SECONDS, Story, story

OTHER: Final = "octo/other"
ROLES: Final = repository({"fixer": {}, "writer": {}})
PLACES: Final = {REPOSITORY: ROLES, OTHER: ROLES}


def labelled(squad: Story, name: str, repository: str = REPOSITORY, role: str = "fixer") -> Task:
    """An agent that works until `NAME` is there, and then asks something."""
    go = waits_for(squad.directory / name, look_seconds=5)
    task = squad.issue(name, go, *ASKS, repository=repository).by(role)
    squad.label(task, f"squadron:{role}")
    squad.goes_on_for(400)
    return task


def ends(squad: Story, name: str) -> None:
    (squad.directory / name).touch()
    squad.clock.turn(timedelta(seconds=6))
    squad.goes_on_for(800)


def said(squad: Story, task: Task) -> str:
    [comment] = squad.comments(task)
    return comment


def at_work(squad: Story, tasks: list[Task]) -> list[Task]:
    return [task for task in tasks if squad.state(task)[0] is State.ACTIVE]


def most_at_once(squad: Story, agents: list[Agent]) -> int:
    """Of agents that worked, by their logs; who begins when another ends is not beside it."""
    stretches = list[tuple[datetime, datetime]]()
    for agent in agents:
        begun_at: datetime | None = None
        for event in squad.log(agent.id):
            match event:
                case SegmentStarted(at=at):  # once more, if a process has died
                    begun_at = begun_at or at
                case SegmentEnded(at=at) if begun_at is not None:
                    stretches.append((begun_at, at))
                    begun_at = None
                case _:
                    continue
        if begun_at is not None:
            stretches.append((begun_at, squad.clock.now() + timedelta(seconds=1)))
    return max(sum(first <= at < last for first, last in stretches) for at, _ in stretches)


def test_whoever_comes_late_from_another_repository_is_next() -> None:
    with story(PLACES, operator={"workers": {"agents": 1}}) as squad:
        mine = [labelled(squad, f"mine-{n}") for n in range(5)]
        theirs = labelled(squad, "theirs", OTHER)
        squad.clock.turn(timedelta(seconds=PASS_SECONDS))
        squad.goes_on_for(800)
        assert "The agent waits for a worker; it is next." in said(squad, theirs)
        assert "one agent is ahead of it." in said(squad, mine[1])
        assert "2 agents are ahead of it, one of this repository." in said(squad, mine[2])
        assert "4 agents are ahead of it, 3 of this repository." in said(squad, mine[4])
        ends(squad, "mine-0")
        assert at_work(squad, [*mine, theirs]) == [theirs]
        ends(squad, "theirs")
        assert at_work(squad, [*mine, theirs]) == [mine[1]]
        for number in range(1, 5):
            ends(squad, f"mine-{number}")
        assert {squad.state(task) for task in mine} == {(State.SLEEPING, Waits.ANSWER)}


CAPPED: Final = (
    ({"per_repository": 2}, "no more than 2 agents of this repository may be at work at once"),
    ({"per_role": {"fixer": 2}}, "no more than 2 agents of the role `fixer` may be at work"),
)


@pytest.mark.parametrize(("caps", "why"), CAPPED)
def test_so_many_agents_work_at_once_and_the_others_say_why_they_wait(
    caps: dict[str, Any], why: str
) -> None:
    with story(PLACES, operator={"workers": {"agents": 8, **caps}}) as squad:
        mine = [labelled(squad, f"mine-{n}") for n in range(5)]
        other = labelled(
            squad, "other", *((OTHER,) if "per_repository" in caps else (REPOSITORY, "writer"))
        )
        squad.clock.turn(timedelta(seconds=PASS_SECONDS))
        squad.goes_on_for(800)
        assert at_work(squad, [*mine, other]) == [*mine[:2], other]
        assert {squad.state(task) for task in mine[2:]} == {(State.QUEUED, Waits.CAP)}
        assert why in said(squad, mine[4])
        ends(squad, "mine-1")
        assert at_work(squad, mine) == [mine[0], mine[2]], "the oldest that waited"
        for name in ("mine-0", "mine-2", "mine-3", "mine-4", "other"):
            ends(squad, name)
        assert {squad.state(task) for task in [*mine, other]} == {(State.SLEEPING, Waits.ANSWER)}
        assert most_at_once(squad, [squad.agent(task) for task in mine]) == 2


def test_of_many_that_begin_at_one_moment_so_many_do_as_may() -> None:
    with story(PLACES, operator={"workers": {"agents": 8, "per_repository": 2}}) as squad:
        squad.kill()
        go = waits_for(squad.directory / "go", look_seconds=5)
        tasks = [squad.issue(f"No. {n}", go, *ASKS).by("fixer") for n in range(6)]
        for task in tasks:
            squad.label(task, "squadron:fixer")
        squad.start()
        squad.goes_on_for(1200)
        assert len(at_work(squad, tasks)) == 2
        (squad.directory / "go").touch()
        for _ in range(3):
            squad.passes(seconds=6)
        assert {squad.state(task) for task in tasks} == {(State.SLEEPING, Waits.ANSWER)}
        assert most_at_once(squad, [squad.agent(task) for task in tasks]) == 2


@pytest.mark.parametrize("then", [1, 2])
def test_after_a_death_the_cap_holds_and_a_higher_one_lets_others_on(then: int) -> None:
    """`then`: agents that may work at once from the next start on."""
    with story(PLACES, operator={"workers": {"agents": 8, "per_repository": 1}}) as squad:
        go = waits_for(squad.directory / "first", look_seconds=5)
        once_more_after_a_death = go
        first = squad.issue("First", go, once_more_after_a_death, *ASKS).by("fixer")
        squad.label(first, "squadron:fixer")
        squad.goes_on_for(400)
        tasks = [first, labelled(squad, "second"), labelled(squad, "third")]
        squad.restart(operator={"workers": {"agents": 8, "per_repository": then}})
        squad.goes_on_for(800)
        assert at_work(squad, tasks) == tasks[:then]
        for name in ("first", "second", "third"):
            ends(squad, name)
        assert {squad.state(task) for task in tasks} == {(State.SLEEPING, Waits.ANSWER)}
        assert most_at_once(squad, [squad.agent(task) for task in tasks]) == then
