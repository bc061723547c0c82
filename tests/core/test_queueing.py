"""Who is ahead of whom among the agents that wait for a worker."""

from dataclasses import replace

from hypothesis import given
from hypothesis import strategies as st

from app.core.agents.agent import Agent, AgentId
from app.core.agents.events import Waits
from app.core.agents.lifecycle import State
from app.core.agents.queueing import QueuePlace, next_rank, queue_places
from tests.core.strategies import after_seconds, agent


def queued(name: str, at: float, rank: int = 1) -> Agent:
    return replace(
        agent(State.QUEUED, updated_at=after_seconds(at)),
        id=AgentId.parse(name),
        repository=AgentId.parse(name).repository,
        rank=rank,
    )


FIRST, SECOND = queued("octo/demo#9/fixer/1", 1), queued("octo/other#1/fixer/1", 2)
THIRD = queued("octo/demo#1/fixer/1", 3)


def test_of_one_rank_first_come_first_and_who_of_them_is_of_the_same_repository() -> None:
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
        replace(SECOND, waits_for=Waits.PROVIDER, rank=0),
        replace(SECOND, parent="octo/demo#1/fixer/1"),
    ]
    assert queue_places([*ahead, THIRD]) == {THIRD.id: QueuePlace(1, 0)}
    assert queue_places([]) == {}


def test_the_rank_comes_before_the_time() -> None:
    late = queued("octo/other#5/fixer/1", 9, rank=1)
    assert queue_places([replace(FIRST, rank=2), late]) == {
        late.id: QueuePlace(1, 0),
        FIRST.id: QueuePlace(2, 0),
    }


@given(
    waiting=st.lists(st.integers(1, 40), min_size=1, max_size=5),
    workers=st.integers(1, 6),
    comes_at=st.integers(0, 60),
)
def test_whoever_comes_new_waits_for_one_of_each_other_repository(
    waiting: list[int], workers: int, comes_at: int
) -> None:
    """Repositories queue so many agents each; later one more comes. Those ahead of its agent are
    one of each other repository, beside those that began at the same time as who was begun last."""
    queue, at_work = list[tuple[int, int]](), list[tuple[int, int]]()

    def join(repository: int) -> tuple[int, int]:
        everybody = [*queue, *at_work]
        mine = max((rank for rank, other in everybody if other == repository), default=0)
        rank = next_rank(max((rank for rank, _ in at_work), default=0), mine)
        queue.append((rank, repository))
        return rank, repository

    for repository, many in enumerate(waiting):
        for _ in range(many):
            join(repository)
    for _ in range(min(comes_at, len(queue) - 1)):
        at_work = [*at_work, queue.pop(queue.index(min(queue)))][-workers:]
    mine = join(len(waiting))
    ahead = [repository for rank, repository in queue if rank < mine[0]]
    beside = [repository for rank, repository in queue if rank == mine[0]]
    assert not ahead, "who was begun last has the lowest rank there was"
    assert all(beside.count(repository) <= 1 for repository in beside)


def test_who_queues_much_is_behind_who_queues_little() -> None:
    assert [next_rank(0, highest) for highest in range(3)] == [1, 2, 3]
    assert next_rank(at_work=7, of_repository=0) == 7
    assert next_rank(at_work=7, of_repository=7) == 8
    assert next_rank(at_work=7, of_repository=50) == 51
