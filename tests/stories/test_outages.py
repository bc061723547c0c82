"""What ends under an agent that is not its own doing ends nobody (docs/design.md, promise 11)."""

from datetime import timedelta
from itertools import pairwise

from app.core.agents.deaths import MOST_OF_WORKERS
from app.core.agents.events import SegmentStarted
from app.core.agents.lifecycle import State
from app.core.agents.stops import Cause
from tests.stories.happening import AT_REVIEW
from tests.support.people import REPOSITORY, Task, repository
from tests.support.steps import commits, completes, runs, waits_for, writes
from tests.twins.shell import TEST
from tests.twins.story import Story, story

GOES_ON_WITHIN = timedelta(minutes=20)
"""The longest rest between two deaths, and twice that."""
A_LOOK = timedelta(seconds=4)
PATIENT = {"max_active_duration": 86_400, "max_idle_duration": 86_400, "max_repeated_calls": 100}
PLACES = {REPOSITORY: repository({"fixer": PATIENT})}


def works_on(squad: Story) -> Task:
    """An agent that is at work until the file `go` is there."""
    waits = waits_for(squad.directory / "go", look_seconds=5)
    steps = (
        *[waits] * 15,
        writes("answer", "42\n"),
        runs(TEST),
        commits("Answer"),
        completes("42."),
    )
    task = squad.issue("The answer is wrong", *steps).by("fixer")
    squad.label(task, "squadron:fixer")
    squad.goes_on_for(400)
    assert squad.agent(task).state is State.ACTIVE
    return task


def starts(squad: Story, task: Task) -> list[SegmentStarted]:
    log = squad.log(squad.agent(task).id)
    return [event for event in log if isinstance(event, SegmentStarted)]


def kills(squad: Story, task: Task, times: int) -> None:
    """`kill -9` while the agent works, and the next process, again and again."""
    for _ in range(times):
        squad.restart()
        until_begun_anew(squad, task)


def until_begun_anew(squad: Story, task: Task) -> None:
    """Until the present process runs it, or nobody ever will."""
    until = squad.clock.now() + GOES_ON_WITHIN
    while (agent := squad.agent(task)).worker != squad.engine.worker and not agent.is_final:
        assert squad.clock.now() < until, f"{agent.id} is still {agent.state}"
        squad.clock.turn(A_LOOK)
        squad.loop.run_until_quiet()


def test_a_service_that_is_killed_three_times_ends_no_agent() -> None:
    with story(PLACES) as squad:
        task = works_on(squad)
        kills(squad, task, 3)
        assert squad.agent(task).state is State.ACTIVE
        (squad.directory / "go").touch()
        squad.passes(minutes=2)
        assert squad.states(task) == [AT_REVIEW]


def test_a_service_that_is_stopped_again_and_again_ends_no_agent() -> None:
    """What a stop cuts off did not fail: the agent tries just that again."""
    with story(PLACES) as squad:
        task = works_on(squad)
        for _ in range(5):
            squad.stop()
            squad.start()
            until_begun_anew(squad, task)
            squad.goes_on_for(200)
        assert squad.agent(task).state is State.ACTIVE
        (squad.directory / "go").touch()
        squad.passes(minutes=2)
        assert squad.states(task) == [AT_REVIEW]


def test_a_process_that_ends_ten_times_under_an_agent_is_told_as_that() -> None:
    with story(PLACES) as squad:
        task = works_on(squad)
        kills(squad, task, MOST_OF_WORKERS)
        squad.settle()
        failure = squad.stopped(task).failure
        assert failure is not None and failure.cause is Cause.WORKER_DIED
        assert "The Squadron process that ran the agent ended 10 times in a row" in failure.reason
        began = [event.at for event in starts(squad, task)]
        assert len(began) == MOST_OF_WORKERS + 1


def test_between_two_deaths_of_its_worker_an_agent_rests_in_the_queue() -> None:
    with story(PLACES) as squad:
        task = works_on(squad)
        kills(squad, task, 4)
        began = [event.at for event in starts(squad, task)]
        rests = [later - earlier for earlier, later in pairwise(began)]
        assert rests[1] >= timedelta(seconds=5)
        assert rests[2] >= timedelta(seconds=10)
        assert rests[3] >= timedelta(seconds=20)


def test_a_database_that_is_away_again_and_again_ends_no_agent() -> None:
    with story(PLACES) as squad:
        squad.tolerates("what Squadron keeps is away")
        squad.tolerates("database is locked")
        task = works_on(squad)
        for seconds in (55, 600, 3, 120):
            with squad.without("database"):
                goes_by(squad, seconds)
            squad.passes(seconds=70)
        assert squad.agent(task).state is State.ACTIVE
        assert all(event.worker == squad.engine.worker for event in starts(squad, task))
        (squad.directory / "go").touch()
        squad.passes(minutes=2)
        assert squad.states(task) == [AT_REVIEW]


def goes_by(squad: Story, seconds: float) -> None:
    """So much time, a second at a time: nothing can be asked of the registry meanwhile."""
    until = squad.clock.now() + timedelta(seconds=seconds)
    while squad.clock.now() < until:
        squad.go_on()
