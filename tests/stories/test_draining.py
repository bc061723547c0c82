"""A process is told to take no further agents: those that it runs keep their work and wait for one
that takes them, while it does all else."""

from app.core.agents.lifecycle import State
from tests.stories.happening import AT_REVIEW, FIXES, ROLES, at_work
from tests.support.people import REPOSITORY, repository
from tests.twins.story import Story, story

PLACES = {REPOSITORY: repository(ROLES)}


def drains(squad: Story) -> None:
    """The operator tells the one process that there is so."""
    squad.note("operator", "drains the process")
    [worker] = squad.run(squad.service.store.workers(squad.clock.now()))
    assert worker.takes_agents
    assert squad.run(squad.service.store.ask_drain(worker.name, squad.clock.now()))


def test_agents_of_a_drained_process_keep_their_work_and_wait() -> None:
    with story(PLACES) as squad:
        task = at_work(squad)
        agent = squad.agent(task)
        assert agent.worker == squad.engine.worker
        drains(squad)
        squad.passes(seconds=6)
        squad.passes(hours=1)
        now = squad.agent(task)
        assert (now.state, now.segment) == (State.QUEUED, agent.segment + 1)
        assert (now.worker, now.segment_attempts) == (None, 0), "that is no death"
        another = squad.give("fixer", "The question is wrong, too", *FIXES)
        squad.passes(hours=1)
        assert squad.state(another) == (State.QUEUED, None), "it was heard of all the same"
        squad.restart()
        squad.settle()
        assert [squad.state(each) for each in (task, another)] == [AT_REVIEW, AT_REVIEW]
