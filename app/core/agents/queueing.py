"""Who is ahead of whom among the agents that wait for a worker.

Repositories take turns. Each agent that is queued has a rank, and the lowest is run first; of one
repository each ranks one behind the last. A repository that comes new begins with the rank of who
was begun last, not with all that others have waited for: so however many agents one repository
queues, another's next one waits for one of them at most. These are the start tags of start-time
fair queueing (P. Goyal, H. Vin, H. Cheng: Start-time Fair Queuing, SIGCOMM 1996), with one segment
as the unit of work.
"""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class QueuePlace:
    """Where an agent stands in the queue."""

    place: int
    """1: it is next."""
    ahead_same_repository: int
    """How many of those ahead of it work on the same repository."""


def next_rank(at_work: int, of_repository: int) -> int:
    """The rank of an agent that is queued. `at_work`: the highest of all that are at work;
    `of_repository`: the highest of its repository, at work or in line. 0: there is none."""
    return max(at_work, of_repository + 1)
