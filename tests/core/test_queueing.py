"""Who is ahead of whom among the agents that wait for a worker."""

from dataclasses import replace

from app.core.agents.agent import Agent, AgentId
from app.core.agents.events import Waits
from app.core.agents.lifecycle import State
from app.core.agents.queueing import QueuePlace, queue_places
from tests.core.strategies import after_seconds, agent


def queued(name: str, at: float) -> Agent:
    return replace(
        agent(State.QUEUED, updated_at=after_seconds(at)),
        id=AgentId.parse(name),
        repository=AgentId.parse(name).repository,
    )


FIRST, SECOND = queued("octo/demo#9/fixer/1", 1), queued("octo/other#1/fixer/1", 2)
THIRD = queued("octo/demo#1/fixer/1", 3)


def test_first_come_first_and_who_of_them_is_of_the_same_repository() -> None:
    assert queue_places([THIRD, FIRST, SECOND]) == {
        FIRST.id: QueuePlace(1, 0),
        SECOND.id: QueuePlace(2, 0),
        THIRD.id: QueuePlace(3, 1),
    }


def test_of_the_same_instant_the_id_decides() -> None:
    other = replace(SECOND, updated_at=FIRST.updated_at)
    assert queue_places([other, FIRST])[FIRST.id].place == 1


def test_who_works_waits_for_something_else_or_is_run_by_a_parent_is_ahead_of_nobody() -> None:
    ahead = [
        replace(FIRST, state=State.ACTIVE),
        replace(SECOND, waits_for=Waits.PROVIDER),
        replace(SECOND, parent="octo/demo#1/fixer/1"),
    ]
    assert queue_places([*ahead, THIRD]) == {THIRD.id: QueuePlace(1, 0)}
    assert queue_places([]) == {}
