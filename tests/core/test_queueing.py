"""The rank of who joins the queue."""

from hypothesis import given
from hypothesis import strategies as st

from app.core.agents.queueing import next_rank


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
